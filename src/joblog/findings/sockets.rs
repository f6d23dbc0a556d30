//! The bootstrap: interfaces it chose or did not find, and connections that failed.

use super::{LogFinding, shortened};
use crate::checks::Severity;
use crate::joblog::errno;
use crate::joblog::event::Kind;
use crate::joblog::state::Job;
use crate::joblog::tally::HostId;

const ECONNREFUSED: i32 = 111;
const ETIMEDOUT: i32 = 110;
const EMFILE: i32 = 24;
const ENETUNREACH: i32 = 101;
const EHOSTUNREACH: i32 = 113;

pub(super) fn find(job: &Job, found: &mut Vec<LogFinding>) {
    for tally in &job.tallies {
        let finding = match tally.kind {
            Kind::NoSocketInterface => Some(no_interface(job)),
            Kind::BadCommId => Some(
                LogFinding::new(
                    "log.comm-id",
                    Severity::Error,
                    "NCCL_COMM_ID names no address of this node's networks",
                )
                .why("with NCCL_COMM_ID the bootstrap takes the interface whose subnet holds that address, and no other")
                .check("net.no-socket-interface")
                .fix("unset NCCL_COMM_ID, or give it an address of a subnet that all nodes have, as ip:port"),
            ),
            Kind::Socket { errno, link_local } => Some(connection(errno, link_local, tally)),
            Kind::PeerGone => Some(
                LogFinding::new(
                    "log.peer-gone",
                    // Where another error shows, this follows from it.
                    if job.tallies.len() > 1 {
                        Severity::Note
                    } else {
                        Severity::Error
                    },
                    "a peer closed its connection or sent nonsense: its process has failed",
                )
                .why("this follows from the peer's own failure")
                .fix("look at the peer's messages first"),
            ),
            _ => None,
        };
        found.extend(finding.map(|f| f.of(job, tally)));
    }
    interfaces(job, found);
}

fn no_interface(job: &Job) -> LogFinding {
    let values = job.values_of("NCCL_SOCKET_IFNAME");
    let message = if values.is_empty() {
        "the bootstrap found no socket interface (the log shows no NCCL_SOCKET_IFNAME)".to_owned()
    } else {
        format!(
            "no socket interface matches NCCL_SOCKET_IFNAME={}",
            values.join(" and ")
        )
    };
    LogFinding::new("log.no-socket-interface", Severity::Error, message)
        .why(
            "NCCL takes only interfaces with an address (since 2.28.3 also with a link) that the variable lets through; \
             a name that does not exist on a node leaves none, and the InfiniBand transport goes with it",
        )
        .check("net.no-socket-interface")
        .fix("set NCCL_SOCKET_IFNAME to what the node has, or leave it out; `rdmactl env` prints it for each node")
        .command("eval \"$(rdmactl env)\"")
}

fn connection(errno: i32, link_local: bool, tally: &crate::joblog::tally::Tally) -> LogFinding {
    let peers: Vec<String> = tally.peers.iter().cloned().collect();
    let to = if peers.is_empty() {
        String::new()
    } else {
        format!(" to {}", shortened(&peers, 4))
    };
    let name = if errno == 0 {
        "a timeout".to_owned()
    } else {
        errno::shown(errno)
    };
    let new = |id, message: String| LogFinding::new(id, Severity::Error, message);
    if link_local {
        return new(
            "log.socket-link-local",
            format!("the bootstrap connects{to}, a link-local address: {name}"),
        )
        .why(
            "the peer's bootstrap has chosen an interface with nothing but a link-local address (a veth, a BMC's USB \
             network, IPoIB without an address), which no other node reaches",
        )
        .check("net.no-socket-interface")
        .fix("set NCCL_SOCKET_IFNAME on the peer to the interface of its ordinary traffic; `rdmactl env` prints it")
        .command("eval \"$(rdmactl env)\"");
    }
    match errno {
        EMFILE => new("log.open-files", "the process has no file descriptors left".to_owned())
            .why("large jobs need tens of thousands of sockets in a process")
            .check("limits.open-files")
            .fix("raise the hard limit of open files where the job starts")
            .command("ulimit -Hn"),
        ECONNREFUSED => new(
            "log.socket-refused",
            format!("a connection{to} was refused: {name}"),
        )
        .why(
            "the peer's process is not there any more or not yet, or its bootstrap listens on another interface; a \
             firewall that rejects looks the same",
        )
        .check("net.no-socket-interface")
        .fix("look at the peer's own messages, then at NCCL_SOCKET_IFNAME on both nodes and at firewalls between them"),
        ETIMEDOUT | ENETUNREACH | EHOSTUNREACH | 0 => new(
            "log.socket-unreachable",
            format!("the bootstrap does not reach its peer{to}: {name}"),
        )
        .why("the interface that the peer chose is not reachable from this node: another network, or a firewall against the ephemeral ports")
        .check("net.no-socket-interface")
        .fix("set NCCL_SOCKET_IFNAME on all nodes to an interface of one common network, and let its ephemeral ports pass")
        .command("eval \"$(rdmactl env)\""),
        _ => LogFinding::new(
            "log.socket",
            Severity::Error,
            format!("a connection{to} of the bootstrap or proxy failed: {name}"),
        )
        .why("mostly the peer's process has ended and its sockets with it")
        .fix("look at the peer's own messages first"),
    }
}

/// Interfaces that no other node can reach, and nodes that chose differently.
fn interfaces(job: &Job, found: &mut Vec<LogFinding>) {
    const INNER: [&str; 9] = [
        "docker", "lo", "virbr", "veth", "cni", "cali", "flannel", "kube", "podman",
    ];
    let mut by_name: Vec<(&str, Vec<HostId>)> = Vec::new();
    let mut inner: Vec<(String, HostId)> = Vec::new();
    for (id, host) in job.hosts.iter().enumerate() {
        for (name, address) in &host.bootstraps {
            let name = job.names.get(*name);
            match by_name.iter_mut().find(|(n, _)| *n == name) {
                Some((_, hosts)) => hosts.push(id),
                None => by_name.push((name, vec![id])),
            }
            let local = crate::joblog::read::is_link_local(address);
            let loopback = address.starts_with("127.") || address == "::1";
            if local || loopback || INNER.iter().any(|i| name.starts_with(i)) {
                inner.push((format!("{name} ({address})"), id));
            }
        }
    }
    let several_hosts = job.hosts.len() > 1;
    if !inner.is_empty() {
        let mut names: Vec<String> = inner.iter().map(|(n, _)| n.clone()).collect();
        names.sort();
        names.dedup();
        let hosts: Vec<HostId> = inner.iter().map(|(_, h)| *h).collect();
        found.push(
            LogFinding::new(
                "log.bootstrap-inner",
                if several_hosts {
                    Severity::Error
                } else {
                    Severity::Warning
                },
                format!(
                    "the bootstrap uses an interface that other nodes do not reach: {}",
                    shortened(&names, 4)
                ),
            )
            .on(job, &hosts)
            .why(
                "without NCCL_SOCKET_IFNAME, NCCL takes names that begin with `ib` first, even with a link-local address \
                 only, then the first interface with an address; containers' and virtual machines' inner networks count",
            )
            .check("net.no-socket-interface")
            .fix("set NCCL_SOCKET_IFNAME to the interface of the node's ordinary traffic; `rdmactl env` prints it")
            .command("eval \"$(rdmactl env)\""),
        );
    }
    if by_name.len() > 1 && several_hosts {
        let bad = !inner.is_empty();
        let list: Vec<String> = by_name
            .iter()
            .map(|(name, hosts)| {
                let names: Vec<String> =
                    hosts.iter().map(|h| job.host_name(*h).to_owned()).collect();
                format!("{name} on {}", shortened(&names, 3))
            })
            .collect();
        let hosts: Vec<HostId> = by_name.iter().flat_map(|(_, h)| h.clone()).collect();
        found.push(
            LogFinding::new(
                "log.bootstrap-differs",
                if bad {
                    Severity::Error
                } else {
                    Severity::Warning
                },
                format!("nodes bootstrap on different interfaces: {}", list.join("; ")),
            )
            .on(job, &hosts)
            .why("interfaces of different networks do not reach each other; equal networks under different names are fine")
            .check("net.no-socket-interface")
            .fix("let each node name its own: `rdmactl env` prints NCCL_SOCKET_IFNAME for it")
            .command("eval \"$(rdmactl env)\""),
        );
    }
}
