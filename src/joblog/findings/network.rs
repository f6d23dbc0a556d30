//! The network in use: sockets instead of RDMA and why, mixtures, and port lists that differ.

use std::collections::{BTreeMap, BTreeSet};

use super::{LogFinding, shortened};
use crate::checks::Severity;
use crate::joblog::event::Kind;
use crate::joblog::state::Job;
use crate::joblog::tally::{HostId, Place, Tally};

pub(super) fn find(job: &Job, found: &mut Vec<LogFinding>) {
    sockets(job, found);
    link_layers(job, found);
    port_lists(job, found);
    pinned_index(job, found);
    settings_differ(job, found);
    releases(job, found);
    plugins(job, found);
}

fn hosts_with(job: &Job, is: impl Fn(&str) -> bool) -> Vec<HostId> {
    job.hosts
        .iter()
        .enumerate()
        .filter(|(_, h)| h.networks.iter().any(|n| is(job.names.get(*n))))
        .map(|(id, _)| id)
        .collect()
}

/// Sockets carry the job, or a part of it.
fn sockets(job: &Job, found: &mut Vec<LogFinding>) {
    let on_sockets = hosts_with(job, |n| n == "Socket");
    let on_rdma = hosts_with(job, |n| n != "Socket");
    let (why, fix, check, tally, meant) = reason(job);
    if on_sockets.is_empty() {
        // The transport has failed, and how it ended is not in the log.
        if let Some(tally) = tally {
            let message = match tally.kind {
                Kind::OpenDevice => "an RDMA device could not be opened",
                Kind::NoIpInterface => {
                    "the InfiniBand transport found no IP interface, so it is off"
                }
                Kind::NetFailed => "no network transport could be started",
                _ => "NCCL found no RDMA device",
            };
            found.push(
                LogFinding::new("log.no-device", Severity::Error, message)
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

/// Why the InfiniBand transport is not used: reason, fix, check, the messages that say so, and whether it was asked for.
fn reason(job: &Job) -> (String, &'static str, &'static str, Option<&Tally>, bool) {
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
    let selector = job.values_of("NCCL_IB_HCA");
    if let Some(tally) = first(Kind::NoDevice) {
        return if selector.is_empty() {
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
        };
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

/// InfiniBand and RoCE in one list, or at the two ends of a connection.
fn link_layers(job: &Job, found: &mut Vec<LogFinding>) {
    for tally in job.tallies(|k| k == Kind::Incompatible) {
        found.push(
            LogFinding::new(
                "log.link-layers-mixed",
                Severity::Error,
                "an InfiniBand device was to be connected with a RoCE device",
            )
            .of(job, tally)
            .why("the two do not talk to each other; NCCL takes all ACTIVE ports unless NCCL_IB_HCA says otherwise, and notices only here")
            .check("port.link-layers-mixed")
            .fix("select ports of one link layer on every node: `rdmactl env --link-layer ib` (or roce) prints NCCL_IB_HCA")
            .command("eval \"$(rdmactl env --link-layer ib)\""),
        );
    }
    let mut mixed: Vec<HostId> = Vec::new();
    let mut fewer: BTreeSet<String> = BTreeSet::new();
    for id in 0..job.hosts.len() {
        let ports = job.ports_of(id);
        let (ib, roce): (Vec<&str>, Vec<&str>) = ports
            .iter()
            .filter(|p| p.contains('/'))
            .partition(|p| p.ends_with("/IB"));
        if !ib.is_empty() && !roce.is_empty() {
            mixed.push(id);
            let few = if roce.len() <= ib.len() { roce } else { ib };
            fewer.extend(few.into_iter().map(str::to_owned));
        }
    }
    if !mixed.is_empty() {
        let fewer: Vec<String> = fewer.into_iter().collect();
        found.push(
            LogFinding::new(
                "log.link-layers-selected",
                Severity::Warning,
                format!(
                    "InfiniBand and RoCE ports are selected together; the fewer are {}",
                    shortened(&fewer, 6)
                ),
            )
            .on(job, &mixed)
            .why("NCCL pairs ports by their place, so sooner or later an InfiniBand port meets a RoCE port and the job fails")
            .check("port.link-layers-mixed")
            .fix("leave the others out: `rdmactl env` keeps the link layer with the greater rate")
            .command("eval \"$(rdmactl env)\""),
        );
    }
}

/// Nodes, or ranks of a node, with different port lists.
fn port_lists(job: &Job, found: &mut Vec<LogFinding>) {
    let several: Vec<HostId> = (0..job.hosts.len())
        .filter(|id| job.hosts.get(*id).is_some_and(|h| h.ports.len() > 1))
        .collect();
    if !several.is_empty() {
        found.push(
            LogFinding::new(
                "log.ports-differ-by-rank",
                Severity::Warning,
                "ranks of one host use different lists of ports",
            )
            .on(job, &several)
            .why("NCCL makes one topology for a node, and a list per rank gives it several that contradict each other")
            .check("hca.no-data-port")
            .fix("give all ranks of a node the same NCCL_IB_HCA; NCCL picks the nearest port for each GPU by itself"),
        );
    }
    let mut lists: BTreeMap<&str, Vec<HostId>> = BTreeMap::new();
    for (id, host) in job.hosts.iter().enumerate() {
        if let [only] = host.ports.as_slice() {
            lists.entry(job.names.get(*only)).or_default().push(id);
        }
    }
    if lists.len() < 2 {
        return;
    }
    let mut by_size: Vec<(&str, Vec<HostId>)> = lists.into_iter().collect();
    by_size.sort_by_key(|(_, hosts)| std::cmp::Reverse(hosts.len()));
    let count = |list: &str| list.split(' ').count();
    let counts: BTreeSet<usize> = by_size.iter().map(|(l, _)| count(l)).collect();
    let layer = |list: &str| list.contains("/IB");
    let layers: BTreeSet<bool> = by_size.iter().map(|(l, _)| layer(l)).collect();
    let words: Vec<String> = by_size
        .iter()
        .take(4)
        .map(|(list, hosts)| {
            let names: Vec<String> = hosts.iter().map(|h| job.host_name(*h).to_owned()).collect();
            format!(
                "{} on {}",
                super::counted(count(list), "port"),
                shortened(&names, 3)
            )
        })
        .collect();
    // Names may differ between equal nodes; another number or link layer may not.
    let severity = if layers.len() > 1 {
        Severity::Error
    } else if counts.len() > 1 {
        Severity::Warning
    } else {
        Severity::Note
    };
    let odd: Vec<HostId> = by_size
        .iter()
        .skip(1)
        .flat_map(|(_, h)| h.clone())
        .collect();
    found.push(
        LogFinding::new(
            "log.ports-differ",
            severity,
            format!("nodes use different lists of ports: {}", words.join("; ")),
        )
        .on(job, &odd)
        .why("ports are paired by their place: a node with fewer or with others makes the pairs cross rails or share a port")
        .check("hca.count")
        .fix("compare the nodes' ports, and let each name its own with `rdmactl env`")
        .command("rdmactl devices"),
    );
}

/// A link-local or empty row that connections use though nothing has failed yet.
fn pinned_index(job: &Job, found: &mut Vec<LogFinding>) {
    let bad = |c: &crate::joblog::state::Connection| {
        use crate::model::GidClass::{Empty, Ipv4LinkLocal, LinkLocal};
        matches!(c.gid.class(), Empty | LinkLocal | Ipv4LinkLocal)
    };
    let hosts: Vec<HostId> = (0..job.hosts.len())
        .filter(|id| {
            job.hosts
                .get(*id)
                .is_some_and(|h| h.connections.iter().any(bad))
        })
        .collect();
    let Some(first) = hosts
        .first()
        .and_then(|h| job.hosts.get(*h))
        .and_then(|h| h.connections.iter().find(|c| bad(c)))
    else {
        return;
    };
    let failed = job
        .tallies(|k| matches!(k, Kind::ModifyQp { .. } | Kind::Completion { .. }))
        .next()
        .is_some();
    found.push(
        LogFinding::new(
            "log.connection-link-local",
            if failed {
                Severity::Error
            } else {
                Severity::Warning
            },
            format!(
                "RoCE connections use a link-local or empty GID: index {}, {}; {}",
                first.index,
                first.gid,
                super::index_words(job, None)
            ),
        )
        .on(job, &hosts)
        .why("a link-local address reaches only its own Ethernet segment; in a pod the row may belong to the host")
        .check("gid.link-local-only")
        .fix_gid("use a routable RoCE v2 row"),
    );
}

/// One variable, several values.
fn settings_differ(job: &Job, found: &mut Vec<LogFinding>) {
    const WATCHED: [&str; 4] = [
        "NCCL_IB_HCA",
        "NCCL_IB_GID_INDEX",
        "NCCL_SOCKET_IFNAME",
        "NCCL_IB_DISABLE",
    ];
    for name in WATCHED {
        let values = job.values_of(name);
        if values.len() < 2 {
            continue;
        }
        let place = job
            .settings
            .iter()
            .filter(|s| job.names.get(s.name) == name)
            .nth(1)
            .map_or(Place { file: 0, line: 0 }, |s| s.first);
        let shown: Vec<String> = values.iter().map(|v| (*v).to_owned()).collect();
        // `rdmactl env` names each node's own devices, so values that differ by node are as meant.
        let severity = if name == "NCCL_IB_DISABLE" {
            Severity::Warning
        } else {
            Severity::Note
        };
        found.push(
            LogFinding::new(
                "log.settings-differ",
                severity,
                format!(
                    "{name} is not the same everywhere: {}",
                    shortened(&shown, 4)
                ),
            )
            .at(
                job,
                place,
                &format!("{name}={}", values.get(1).copied().unwrap_or("")),
            )
            .why("nodes may need different values, the ranks of one node may not have them"),
        );
    }
}

/// Several releases in one job.
fn releases(job: &Job, found: &mut Vec<LogFinding>) {
    let names: Vec<String> = job
        .releases
        .iter()
        .map(|r| job.names.get(*r).to_owned())
        .collect();
    let numbers: BTreeSet<&str> = names
        .iter()
        .map(|n| n.split(['+', '-']).next().unwrap_or(n))
        .collect();
    if numbers.len() > 1 {
        found.push(
            LogFinding::new(
                "log.releases-differ",
                Severity::Warning,
                format!(
                    "the log has several releases of NCCL: {}",
                    shortened(&names, 6)
                ),
            )
            .why("ranks of one job must run one release; in a log of several jobs this is no fault")
            .check("lib.nccl")
            .fix("run the same image on all nodes"),
        );
    }
}

/// What network plugins change.
fn plugins(job: &Job, found: &mut Vec<LogFinding>) {
    let known = |n: &str| matches!(n, "IB" | "Socket");
    let external = hosts_with(job, |n| !known(n));
    if let Some(name) = external
        .first()
        .and_then(|h| job.hosts.get(*h))
        .and_then(|h| {
            h.networks
                .iter()
                .map(|n| job.names.get(*n))
                .find(|n| !known(n))
        })
    {
        found.push(
            LogFinding::new(
                "log.plugin",
                Severity::Note,
                format!("the network is a plugin's ({name}), not NCCL's own transport"),
            )
            .on(job, &external)
            .why("a plugin has its own rules and release: NCCL_IB_DISABLE does not stop IBext, and NCCL_IB_* do nothing for Libfabric")
            .check("lib.net-plugin"),
        );
    }
    let missing = job
        .hosts
        .iter()
        .any(|h| h.plugin_missing && h.plugins.is_empty());
    if missing && external.is_empty() {
        found.push(
            LogFinding::new(
                "log.plugin-missing",
                Severity::Note,
                "no network plugin was found, which is harmless",
            )
            .why("libnccl-net.so is optional; NCCL then uses its own InfiniBand, RoCE and socket transports"),
        );
    }
}
