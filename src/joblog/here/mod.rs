//! Whether this node agrees with the log: rows behind the indexes, ports, limits. Says nothing that was not read.

mod rows;

use std::collections::BTreeSet;

use super::event::Kind;
use super::state::Job;
use crate::checks::{Finding, Severity};
use crate::model::{Node, Port, Reading};

/// A node, and what is read beside it.
pub(crate) struct NodeFacts<'a> {
    /// The node.
    pub(crate) node: &'a Node,
    /// /proc/self/limits.
    pub(crate) limits: Reading<String>,
    /// /proc/meminfo.
    pub(crate) meminfo: Reading<String>,
    /// Whether the CPU is an Arm; none where /proc/cpuinfo does not tell.
    pub(crate) is_arm: Option<bool>,
    /// Paths by which NCCL tells that a peer memory module is loaded, and whether they exist.
    pub(crate) peer_memory: Vec<(&'static str, bool)>,
}

/// What this node says about the log's devices, indexes and failures.
pub(crate) fn here(job: &Job, facts: &NodeFacts) -> Vec<Finding> {
    let mut found = Vec::new();
    let used = used_ports(job);
    devices(facts.node, &used, &mut found);
    rows::rows(job, facts.node, &used, &mut found);
    memory(job, facts, &mut found);
    peer_memory(job, facts, &mut found);
    found
}

/// Devices with port numbers that the log names.
fn used_ports(job: &Job) -> BTreeSet<(String, u32)> {
    let lists = (0..job.hosts.len()).flat_map(|h| job.ports_of(h));
    let named = job
        .tallies
        .iter()
        .flat_map(|t| t.hosts.values())
        .flat_map(|h| &h.devices)
        .map(|n| job.names.get(*n));
    lists
        .chain(named)
        .filter_map(|text| {
            let text = text.split('/').next()?;
            let (device, port) = text.split_once(':').unwrap_or((text, "1"));
            // Some releases print port 0 for the only one.
            let port = port.parse().unwrap_or(1).max(1);
            (!device.is_empty()).then(|| (device.to_owned(), port))
        })
        .collect()
}

fn port<'a>(node: &'a Node, device: &str, number: u32) -> Option<&'a Port> {
    node.hca(device)?
        .ports()
        .iter()
        .find(|p| p.number == number)
}

/// Ports of the log that are not there, or not ACTIVE.
fn devices(node: &Node, used: &BTreeSet<(String, u32)>, found: &mut Vec<Finding>) {
    for (device, number) in used {
        let Some(hca) = node.hca(device) else {
            continue;
        };
        if let Some(port) = port(node, device, *number)
            && let Ok(state) = &port.state
            && !port.is_active()
        {
            found.push(
                Finding::new(
                    Severity::Warning,
                    format!("{device}/{number}"),
                    format!("{device}/{number} is {state} on this node now"),
                )
                .file(&format!("{}/ports/{number}/state", hca.dir), state)
                .fix("see why the port is down")
                .command("rdmactl check --only port"),
            );
        }
        if hca.uverbs.node_exists == Some(false) {
            found.push(
                Finding::new(
                    Severity::Warning,
                    device,
                    format!("{device} has no device node in /dev/infiniband here, so NCCL cannot open it"),
                )
                .file("dev/infiniband", "no uverbs node of it"),
            );
        }
    }
    let gone: Vec<&str> = used
        .iter()
        .map(|(d, _)| d.as_str())
        .filter(|d| node.hca(d).is_none())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    if !gone.is_empty() && !node.hcas().is_empty() {
        found.push(
            Finding::new(
                Severity::Note,
                gone.join(", "),
                format!("this node has no device {}", gone.join(", ")),
            )
            .file(
                "sys/class/infiniband",
                node.hcas()
                    .iter()
                    .map(|h| h.name.as_str())
                    .collect::<Vec<_>>()
                    .join(" "),
            ),
        );
    }
}

/// memlock and CmaTotal where memory could not be had.
fn memory(job: &Job, facts: &NodeFacts, found: &mut Vec<Finding>) {
    const ENOMEM: i32 = 12;
    let failed = job
        .tallies(|k| {
            matches!(
                k,
                Kind::Verbs { errno: ENOMEM, .. } | Kind::ModifyQp { errno: ENOMEM, .. }
            )
        })
        .next()
        .is_some();
    if !failed {
        return;
    }
    let limits = facts.limits.as_deref().unwrap_or_default();
    let memlock = limits
        .lines()
        .find_map(|l| l.strip_prefix("Max locked memory"))
        .and_then(|rest| rest.split_whitespace().next());
    if let Some(soft) = memlock {
        let finding = if soft == "unlimited" {
            Finding::new(
                Severity::Note,
                "memlock",
                "memlock is unlimited here, so it is not the limit of this shell (the job's may differ)",
            )
        } else {
            Finding::new(
                Severity::Warning,
                "memlock",
                format!("memlock is {soft} bytes here, which is what registrations fail on"),
            )
            .fix("raise it where the job starts")
            .command("ulimit -l unlimited")
        };
        found.push(finding.file("proc/self/limits", format!("Max locked memory {soft}")));
    }
    let cma = facts
        .meminfo
        .as_deref()
        .unwrap_or_default()
        .lines()
        .find_map(|l| l.strip_prefix("CmaTotal:"))
        .map(str::trim);
    // An x86 kernel has no CMA memory unless it is asked for, and needs none.
    if cma == Some("0 kB") && memlock == Some("unlimited") && facts.is_arm != Some(false) {
        found.push(
            Finding::new(
                if facts.is_arm == Some(true) {
                    Severity::Warning
                } else {
                    Severity::Note
                },
                "CmaTotal",
                "CmaTotal is 0 kB: on an Arm kernel registrations then fail with ENOMEM in spite of an unlimited memlock",
            )
            .file("proc/meminfo", "CmaTotal: 0 kB")
            .fix("on Arm, boot with cma=SIZE (for example cma=512M)"),
        );
    }
}

/// The peer memory module where GPUDirect is off.
fn peer_memory(job: &Job, facts: &NodeFacts, found: &mut Vec<Finding>) {
    if facts.peer_memory.is_empty() || job.hosts.iter().all(|h| h.gdr_off.is_empty()) {
        return;
    }
    let there: Vec<&str> = facts
        .peer_memory
        .iter()
        .filter(|(_, exists)| *exists)
        .map(|(path, _)| *path)
        .collect();
    let finding = match there.as_slice() {
        [] => Finding::new(
            Severity::Warning,
            "nvidia_peermem",
            "no peer memory module is loaded on this node",
        )
        .file("sys/module/nvidia_peermem/version", "does not exist")
        .fix("load it, or have DMA-BUF")
        .command("modprobe nvidia_peermem"),
        [first, ..] if there.iter().all(|p| p.starts_with("sys/module")) => Finding::new(
            Severity::Warning,
            "nvidia_peermem",
            "nvidia_peermem is loaded here, but only NCCL 2.23.4 and newer look for it there",
        )
        .file(first, "exists")
        .fix("use NCCL 2.23.4 or newer, or an RDMA stack with which the module registers"),
        [first, ..] => Finding::new(
            Severity::Note,
            "nvidia_peermem",
            "a peer memory module is loaded on this node now",
        )
        .file(first, "exists"),
    };
    found.push(finding);
}
