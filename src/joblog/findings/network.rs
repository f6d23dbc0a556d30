//! The network in use: sockets instead of RDMA, and why.

use std::collections::BTreeSet;

use super::{LogFinding, shortened};
use crate::checks::Severity;
use crate::joblog::event::Kind;
use crate::joblog::state::Job;
use crate::joblog::tally::{HostId, Tally};

/// Hosts with a network that is so.
pub(super) fn hosts_with(job: &Job, is: impl Fn(&str) -> bool) -> Vec<HostId> {
    job.hosts
        .iter()
        .enumerate()
        .filter(|(_, h)| h.networks.iter().any(|n| is(job.names.get(*n))))
        .map(|(id, _)| id)
        .collect()
}

/// Sockets carry the job, or a part of it.
pub(super) fn find(job: &Job, found: &mut Vec<LogFinding>) {
    let on_sockets = hosts_with(job, |n| n == "Socket");
    let on_rdma = hosts_with(job, |n| n != "Socket");
    let (why, fix, check, tally, meant) = reason(job);
    if on_sockets.is_empty() {
        // The transport has failed, and how it ended is not in the log.
        if let Some(tally) = tally {
            let (id, message) = match tally.kind {
                Kind::OpenDevice => ("log.open-device", "an RDMA device could not be opened"),
                Kind::NoIpInterface => (
                    "log.no-ip-interface",
                    "the InfiniBand transport found no IP interface, so it is off",
                ),
                Kind::NetFailed => ("log.no-network", "no network transport could be started"),
                _ => ("log.no-device", "NCCL found no RDMA device"),
            };
            // Others carry the job where one device is missing.
            let severity = if on_rdma.is_empty() || tally.kind != Kind::OpenDevice {
                Severity::Error
            } else {
                Severity::Warning
            };
            found.push(
                LogFinding::new(id, severity, message)
                    .of(job, tally)
                    .why(why)
                    .check(check)
                    .fix(fix),
            );
        }
        return;
    }
    let one_node = job.hosts.len() == 1
        && job.processes.iter().all(|p| {
            p.ranks > 0 && usize::try_from(p.ranks).is_ok_and(|n| n <= job.processes.len())
        });
    let severity = if one_node {
        Severity::Note
    } else if meant {
        Severity::Warning
    } else {
        Severity::Error
    };
    let (id, message) = if on_rdma.is_empty() {
        (
            "log.socket-fallback",
            "the job runs over TCP sockets, not RDMA".to_owned(),
        )
    } else {
        let names: Vec<String> = on_sockets
            .iter()
            .map(|h| job.host_name(*h).to_owned())
            .collect();
        (
            "log.mixed-networks",
            format!(
                "some ranks use TCP sockets and others RDMA; sockets on {}",
                shortened(&names, 6)
            ),
        )
    };
    let mut finding = LogFinding::new(id, severity, message)
        .why(why)
        .check(check)
        .fix(fix);
    finding = match tally {
        Some(tally) => finding.of(job, tally),
        None => finding,
    };
    finding.ranks = job
        .processes
        .iter()
        .filter(|p| p.network.is_some_and(|n| job.names.get(n) == "Socket"))
        .filter_map(|p| p.rank)
        .take(256)
        .collect::<BTreeSet<u32>>()
        .into_iter()
        .collect();
    found.push(finding.on(job, &on_sockets));
}

/// Reason, fix, check, messages, and whether sockets were asked for.
type Reason<'a> = (String, &'static str, &'static str, Option<&'a Tally>, bool);

/// Why the InfiniBand transport is not used: reason, fix, check, the messages that say so, and whether it was asked for.
fn reason(job: &Job) -> Reason<'_> {
    let first = |kind: Kind| job.tallies(move |k| k == kind).next();
    // As NCCL reads numbers, anything but 0 and words disables.
    let disabled = job
        .values_of("NCCL_IB_DISABLE")
        .iter()
        .any(|v| v.parse::<i64>().is_ok_and(|n| n != 0));
    let net = job.values_of("NCCL_NET");
    if disabled {
        return (
            "NCCL_IB_DISABLE is set, which turns the InfiniBand and RoCE transport off".to_owned(),
            "unset NCCL_IB_DISABLE (or set it to 0) where the job gets its environment",
            "hca.no-data-port",
            None,
            true,
        );
    }
    if net.iter().any(|n| n.eq_ignore_ascii_case("socket")) {
        return (
            "NCCL_NET=Socket asks for sockets".to_owned(),
            "unset NCCL_NET",
            "hca.no-data-port",
            None,
            true,
        );
    }
    if let Some(tally) = first(Kind::OpenDevice) {
        return (
            "the device was found but could not be opened: the container has no /dev/infiniband/uverbsN of it, or may \
             not open it"
                .to_owned(),
            "give the container the RDMA devices: `--device /dev/infiniband` and `--cap-add IPC_LOCK` for Docker, the RDMA \
             resource and IPC_LOCK in a pod",
            "hca.uverbs-missing",
            Some(tally),
            false,
        );
    }
    if let Some(tally) = first(Kind::NoIpInterface) {
        return (
            "the InfiniBand transport arranges its connections over IP, and no interface passes NCCL_SOCKET_IFNAME or \
             has an address"
                .to_owned(),
            "set NCCL_SOCKET_IFNAME to an interface that exists on every node; `rdmactl env` prints it",
            "net.no-socket-interface",
            Some(tally),
            false,
        );
    }
    if let Some(tally) = first(Kind::NoDevice) {
        return no_device(job, tally);
    }
    if let (Some(tally), Some(name)) = (first(Kind::NetFailed), net.first()) {
        return (
            format!(
                "NCCL_NET={name} names no transport or plugin that could be started; the name has to match exactly"
            ),
            "unset NCCL_NET, or set it to IB",
            "hca.no-data-port",
            Some(tally),
            false,
        );
    }
    (
        "the log does not say why; NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=INIT,ENV,NET shows it"
            .to_owned(),
        "run `rdmactl check` on the nodes; NCCL_NET=IB makes the job stop instead of leaving RDMA silently",
        "hca.no-data-port",
        first(Kind::NetFailed),
        false,
    )
}

/// No device is left: none was selected, or none is there.
fn no_device<'a>(job: &Job, tally: &'a Tally) -> Reason<'a> {
    let selector = job.values_of("NCCL_IB_HCA");
    if selector.is_empty() {
        (
                "no RDMA device was left: none is visible in the container, libibverbs or its provider is missing in \
                 the image, or no port is ACTIVE"
                    .to_owned(),
                "see what the node and the container have with `rdmactl check`; a pod needs the RDMA resource, an image \
                 needs libibverbs and its providers",
                "hca.uverbs-missing",
                Some(tally),
                false,
            )
    } else {
        (
            format!(
                "NCCL_IB_HCA={} matches no device that has an ACTIVE port and can be opened",
                selector.join(" and ")
            ),
            "let each node name its own devices: `rdmactl env` prints NCCL_IB_HCA for it",
            "hca.no-data-port",
            Some(tally),
            false,
        )
    }
}
