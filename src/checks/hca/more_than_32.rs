//! `hca.more-than-32`: ports for which NCCL has no room.

use std::collections::BTreeSet;

use crate::checks::port::shared::{joined, releases, some_of};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::PortKey;
use crate::nccl::device::enumerate;
use crate::nccl::selector::max_devices;
use crate::roles::Role;

declare_check! {
    MORE_THAN_32 = "hca" / "more-than-32",
    title: "there are more ports than NCCL has room for",
    severity: Error,
    since: "0.1.0",
    subject: Port,
    reads: [
        "sys/class/infiniband",
        "sys/class/infiniband/*/ports/*/state",
        "sys/class/infiniband_verbs/*/ibdev",
    ],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    let mut beyond: BTreeSet<PortKey> = BTreeSet::new();
    let mut certain = true;
    let mut room = usize::MAX;
    for release in releases(facts) {
        let Ok(devices) = enumerate(facts.node, facts.settings, release) else {
            continue;
        };
        if !devices.list.is_empty() {
            collector.look();
        }
        if !devices.beyond_limit.is_empty() {
            room = room.min(max_devices(release));
            certain &= devices.order_is_certain;
            beyond.extend(devices.beyond_limit);
        }
    }
    if !beyond.is_empty() {
        collector.find(finding(facts, &beyond, room, certain));
    }
    collector.verdict("no port that NCCL would take")
}

fn finding(facts: &Facts, beyond: &BTreeSet<PortKey>, room: usize, certain: bool) -> Finding {
    let out: Vec<&PortKey> = facts
        .decision
        .ports
        .iter()
        .filter(|p| beyond.contains(&p.key))
        .map(|p| &p.key)
        .collect();
    let is_data = |key: &PortKey| {
        facts
            .decision
            .port(key)
            .is_some_and(|p| p.role == Role::Data)
    };
    let any_data = facts.decision.data().next().is_some();
    let severity = match (out.iter().any(|k| is_data(k)), certain) {
        (true, true) => Severity::Error,
        // Another order than the one sysfs suggests would leave others out.
        (true, false) => Severity::Warning,
        (false, false) if any_data => Severity::Warning,
        (false, _) => Severity::Note,
    };
    let perhaps = if certain {
        ""
    } else {
        ", as far as sysfs tells"
    };
    Finding::new(
        severity,
        joined(&out),
        format!(
            "NCCL takes {room} ports; {} left out{perhaps}: {}",
            if out.len() == 1 {
                "one is".to_owned()
            } else {
                format!("{} are", out.len())
            },
            some_of(&out)
        ),
    )
    .file(
        "sys/class/infiniband",
        joined(facts.node.hcas().iter().map(|h| &h.name)),
    )
    .fix("name the data ports in NCCL_IB_HCA, which `rdmactl env` does: the limit counts what passes the list")
    .command("eval \"$(rdmactl env)\"")
}

#[cfg(test)]
mod tests {
    use super::MORE_THAN_32;
    use crate::checks::port::testing::Scene;

    #[test]
    fn a_list_makes_room() {
        let scene = Scene::of("ib-many-33-ports");
        assert_eq!(scene.found(&MORE_THAN_32).len(), 1);
        let name = scene.node.hcas()[0].name.clone();
        assert!(
            scene
                .setting("NCCL_IB_HCA", &format!("={name}"))
                .passes(&MORE_THAN_32)
        );
        assert!(Scene::of("a100-8gpu-roce").passes(&MORE_THAN_32));
    }
}
