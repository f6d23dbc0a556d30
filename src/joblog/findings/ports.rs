//! The ports in use: link layers mixed, lists that differ, link-local rows.

use std::collections::{BTreeMap, BTreeSet};

use super::{LogFinding, shortened};
use crate::checks::Severity;
use crate::joblog::event::Kind;
use crate::joblog::state::Job;
use crate::joblog::tally::HostId;

pub(super) fn find(job: &Job, found: &mut Vec<LogFinding>) {
    link_layers(job, found);
    port_lists(job, found);
    pinned_index(job, found);
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
    let bad = |c: &crate::joblog::known::Connection| {
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
