//! Settings and releases that differ, and plugins.

use std::collections::BTreeSet;

use super::network::hosts_with;
use super::{LogFinding, shortened};
use crate::checks::Severity;
use crate::joblog::state::Job;
use crate::joblog::tally::Place;

pub(super) fn find(job: &Job, found: &mut Vec<LogFinding>) {
    settings_differ(job, found);
    releases(job, found);
    plugins(job, found);
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
