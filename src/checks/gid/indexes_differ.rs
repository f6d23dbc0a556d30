//! `gid.indexes-differ`: no one GID index suits all data ports.

use std::collections::BTreeMap;

use crate::checks::port::shared::{brief, joined, roce_data, with_row};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::{GidRow, PortKey};
use crate::nccl::release::{Feature, Release};

declare_check! {
    INDEXES_DIFFER = "gid" / "indexes-differ",
    title: "the right GID index is not the same on all data ports",
    severity: Error,
    since: "0.1.0",
    subject: Port,
    reads: [
        "sys/class/infiniband/*/ports/*/gids/*",
        "sys/class/infiniband/*/ports/*/gid_attrs/types/*",
        "sys/class/infiniband/*/ports/*/gid_attrs/ndevs/*",
    ],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    let mut by_index: BTreeMap<u32, Vec<(&PortKey, &GidRow)>> = BTreeMap::new();
    for port in roce_data(facts) {
        if let Some(row) = &port.gid {
            collector.look();
            by_index
                .entry(row.index)
                .or_default()
                .push((&port.key, row));
        }
    }
    if by_index.len() > 1 {
        collector.find(finding(facts, &by_index));
    }
    collector.verdict("no RoCE data port")
}

fn finding(facts: &Facts, by_index: &BTreeMap<u32, Vec<(&PortKey, &GidRow)>>) -> Finding {
    // Of two equally common indexes the lower one is the rule.
    let rule = by_index
        .iter()
        .rev()
        .max_by_key(|(_, ports)| ports.len())
        .map(|(index, _)| *index);
    let odd = by_index
        .iter()
        .filter(|(index, _)| Some(**index) != rule)
        .flat_map(|(_, ports)| ports.iter().map(|(key, _)| *key));
    let parts: Vec<String> = by_index
        .iter()
        .map(|(index, ports)| format!("{index} on {}", brief(ports.iter().map(|(key, _)| *key))))
        .collect();
    let old: Vec<&Release> = facts
        .releases
        .iter()
        .filter(|r| !r.has(Feature::DynamicGid))
        .collect();
    let (severity, rest) = if old.is_empty() {
        (Severity::Note, String::new())
    } else {
        (
            Severity::Error,
            format!("; NCCL {} cannot choose by itself", joined(&old)),
        )
    };
    let finding = Finding::new(
        severity,
        joined(odd),
        format!("the GID index is {}{rest}", parts.join(", ")),
    );
    let finding = by_index
        .values()
        .flatten()
        .fold(finding, |f, (key, row)| with_row(f, key, row));
    if old.is_empty() {
        finding
            .fix("leave NCCL_IB_GID_INDEX unset, so that NCCL chooses on each port; `rdmactl env` knows when that works")
            .command("eval \"$(rdmactl env)\"")
    } else {
        finding.fix("use NCCL 2.21.5 or newer, or only ports whose index is the same (rdmactl env --hca LIST)")
    }
}

#[cfg(test)]
mod tests {
    use super::INDEXES_DIFFER;
    use crate::checks::Severity;
    use crate::checks::port::testing::{Scene, only};

    #[test]
    fn an_old_release_makes_it_an_error() {
        let found = Scene::of("indexes-differ").found(&INDEXES_DIFFER);
        assert_eq!(only(&found).0, Severity::Note);
        let found = Scene::of("indexes-differ")
            .release("2.20.5")
            .found(&INDEXES_DIFFER);
        assert_eq!(only(&found).0, Severity::Error);
        assert!(Scene::of("a100-8gpu-roce").passes(&INDEXES_DIFFER));
        assert!(Scene::of("h100-8gpu-infiniband").is_not_applicable(&INDEXES_DIFFER));
    }
}
