//! Work requests that ended badly, by status and by what carries them.

use super::modify_qp::class_word;
use super::{Link, LogFinding, index_words, link_of};
use crate::checks::Severity;
use crate::joblog::errno;
use crate::joblog::event::Kind;
use crate::joblog::state::Job;
use crate::joblog::tally::Tally;
use crate::model::GidClass;

const LOC_LEN: u32 = 1;
const LOC_PROT: u32 = 4;
const WR_FLUSH: u32 = 5;
const REM_INV_REQ: u32 = 9;
const REM_ACCESS: u32 = 10;
const REM_OP: u32 = 11;
const RETRY_EXC: u32 = 12;
const RNR_RETRY: u32 = 13;

pub(super) fn find(job: &Job, found: &mut Vec<LogFinding>) {
    for tally in &job.tallies {
        let Kind::Completion {
            status,
            vendor,
            local,
            old,
        } = tally.kind
        else {
            continue;
        };
        let what = format!(
            "{} (status {status}, vendor error {vendor})",
            errno::status(status)
        );
        found.push(match status {
            RETRY_EXC => retries(job, tally, &what, local, old),
            WR_FLUSH => flushed(job, tally, &what),
            LOC_PROT => protection(job, tally, &what),
            RNR_RETRY => LogFinding::new(
                "log.completion-receiver",
                Severity::Error,
                format!("the peer had nothing ready to receive into: {what}"),
            )
            .of(job, tally)
            .why("the peer's process has failed or hangs, so that it posts no more receives")
            .fix("look at the peer's own messages first; this one follows from them"),
            REM_INV_REQ | REM_ACCESS | REM_OP | LOC_LEN => LogFinding::new(
                "log.completion-remote",
                Severity::Error,
                format!("the peer's side refused a request: {what}"),
            )
            .of(job, tally)
            .why(
                "memory that was registered there is gone or smaller, or its GPU cannot be reached over PCI: a peer that \
                 has failed, different releases of NCCL or of its plugin on the two ends, ACS or IOMMU with GPUDirect",
            )
            .check("pci.acs")
            .fix("compare NCCL's release and plugin on both nodes, then try once with GPUDirect off to tell memory from network")
            .setting("NCCL_NET_GDR_LEVEL", "LOC"),
            _ => LogFinding::new(
                "log.completion",
                Severity::Error,
                format!("a transfer failed: {what}"),
            )
            .of(job, tally)
            .why("the device ended a work request with this status")
            .fix("look at the kernel's messages about the device and at its port's counters")
            .command("rdmactl check --only port"),
        });
    }
}

/// Status 12: the peer did not answer.
fn retries(job: &Job, tally: &Tally, what: &str, local: Option<GidClass>, old: bool) -> LogFinding {
    let shown = match tally.gids.0 {
        Some(gid) => format!(
            "; local GID {} ({})",
            gid.address(),
            class_word(gid.class())
        ),
        None => String::new(),
    };
    let link = link_of(job, tally);
    let index = index_words(job, Some(tally));
    let peers = if tally.peers.len() == 1 && tally.hosts.len() > 1 {
        "; all against one peer, so look at that one first"
    } else {
        ""
    };
    if link == Link::InfiniBand {
        return LogFinding::new(
            "log.retries-infiniband",
            Severity::Error,
            format!("the peer did not answer over InfiniBand: {what}{peers}"),
        )
        .of(job, tally)
        .why(
            "on InfiniBand no GID has a part in this: the P_Key does not let the two ports talk (a limited member \
             against a limited member), the service level or path is not what the subnet manager set up, a cable or a \
             switch loses packets, or the peer has died",
        )
        .check("port.no-subnet-manager")
        .fix("compare P_Keys and service level of both ports, ask the subnet manager about the path, and look at the ports' error counters")
        .command("rdmactl check --only port");
    }
    let is_local = matches!(
        local,
        Some(GidClass::LinkLocal | GidClass::Ipv4LinkLocal | GidClass::Empty)
    ) || (local.is_none() && job.has_link_local_connection());
    if is_local {
        return LogFinding::new(
            "log.retries-link-local",
            Severity::Error,
            format!("the peer is not reachable with a link-local GID: {what}{shown}; {index}{peers}"),
        )
        .of(job, tally)
        .why(
            "a link-local address reaches only its own Ethernet segment, so packets to a peer behind a router or on \
             another rail are lost; NCCL keeps such a row when it finds none of the family it looks for",
        )
        .check("gid.link-local-only")
        .fix_gid("use a routable RoCE v2 row (on an IPv6-only fabric with NCCL_IB_ADDR_FAMILY=AF_INET6)");
    }
    let default_index = old && job.values_of("NCCL_IB_GID_INDEX").is_empty();
    let why = if default_index {
        "this release uses GID index 0 unless NCCL_IB_GID_INDEX is set, and row 0 is the link-local RoCE v1 row of most \
         cards: it does not pass a router; where the index is right, packets are lost on the way (PFC and ECN, MTU, a \
         firewall against UDP port 4791) or the peer has died"
    } else {
        "packets or their answers are lost: a GID of another rail or of RoCE v1, no route between the two subnets, MTU, \
         PFC and ECN of the switches, a firewall against UDP port 4791, or the peer has died"
    };
    let finding = LogFinding::new(
        "log.retries",
        Severity::Error,
        format!("the peer did not answer: {what}{shown}; {index}{peers}"),
    )
    .of(job, tally)
    .why(why)
    .check(if default_index {
        "gid.link-local-only"
    } else {
        "port.errors"
    });
    finding.fix_gid("rule out the GIDs first, then look at the port's error counters (`rdmactl check --only port`)")
}

/// Status 5 follows from another error, unless it is all there is.
fn flushed(job: &Job, tally: &Tally, what: &str) -> LogFinding {
    let has_cause = job
        .tallies(|k| matches!(k, Kind::Completion { status, .. } if status != WR_FLUSH))
        .next()
        .is_some();
    let severity = if has_cause {
        Severity::Note
    } else {
        Severity::Error
    };
    LogFinding::new(
        "log.completion-flushed",
        severity,
        format!("requests were flushed after an earlier error: {what}"),
    )
    .of(job, tally)
    .why("a queue pair that has failed ends everything still in it with this status; it is never the cause")
    .fix("look at the first error of this connection, on this node or its peer")
}

/// Status 4: the device could not get at memory, which with GPUDirect is the GPU's.
fn protection(job: &Job, tally: &Tally, what: &str) -> LogFinding {
    LogFinding::new(
        "log.completion-protection",
        Severity::Error,
        format!("the device could not reach the memory it was to read or write: {what}"),
    )
    .of(job, tally)
    .why(
        "with GPUDirect this memory is the GPU's: ACS of a PCI switch or a translating IOMMU turns the NIC's requests \
         away, or the peer memory module does not fit the driver",
    )
    .check("pci.acs")
    .fix(
        "switch ACS off on the bridges between GPU and NIC and the IOMMU to pass-through, and load nvidia_peermem of the \
         driver in use; GPUDirect off (below) shows whether it is this",
    )
    .setting("NCCL_NET_GDR_LEVEL", "LOC")
}
