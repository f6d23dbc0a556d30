//! `port.pkey-limited`: the P_Key a job uses is that of a limited member.

use super::shared::port_file;
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::roles::Role;

declare_check! {
    PKEY_LIMITED = "port" / "pkey-limited",
    title: "the P_Key in use is a limited member's",
    severity: Warning,
    since: "0.1.0",
    subject: Port,
    reads: ["sys/class/infiniband/*/ports/*/pkeys/*"],
    run: run,
}

/// The bit of a P_Key that makes its holder a full member of the partition.
const FULL_MEMBER: u16 = 0x8000;

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    let used = facts.settings.integer("NCCL_IB_PKEY", 0);
    for (key, pkeys) in &facts.health.pkeys {
        let Some(pkeys) = collector.value(pkeys) else {
            continue;
        };
        collector.look();
        // With a full member at index 0 the table was not read on.
        let index = u32::try_from(used).unwrap_or_default();
        let Some(pkey) = pkeys.get(&index).copied() else {
            continue;
        };
        if pkey & FULL_MEMBER != 0 {
            continue;
        }
        let full = pkeys.iter().find(|(_, k)| *k & FULL_MEMBER != 0);
        let data = facts
            .decision
            .port(key)
            .is_some_and(|p| p.role == Role::Data);
        let severity = if data {
            Severity::Warning
        } else {
            Severity::Note
        };
        let what = format!("P_Key index {index} is {pkey:#06x}, a limited member");
        let finding = |message: String| {
            Finding::new(severity, key, message).file(
                &port_file(key, &format!("pkeys/{index}")),
                format!("{pkey:#06x}"),
            )
        };
        collector.find(match full {
            Some((other, full)) => finding(format!(
                "{what}; a full member key ({full:#06x}) is at index {other}"
            ))
            .file(&port_file(key, &format!("pkeys/{other}")), format!("{full:#06x}"))
            .fix("use the full member's key on all nodes, or make this port a full member in the subnet manager")
            .setting("NCCL_IB_PKEY", other.to_string()),
            None => finding(format!(
                "{what}; it cannot talk to other limited members, and there is no full member key"
            ))
            .fix("make this port a full member in the subnet manager's partitions (opensm: partitions.conf, =full)"),
        });
    }
    collector.verdict("no ACTIVE InfiniBand port with a P_Key table")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::PKEY_LIMITED;
    use crate::checks::port::testing::{Scene, first_port, only};

    fn scene(pkeys: &[(u32, u16)]) -> Scene {
        Scene::of("h100-8gpu-infiniband").health(|h| {
            h.pkeys = BTreeMap::from([(first_port("mlx5_0"), Ok(pkeys.iter().copied().collect()))]);
        })
    }

    #[test]
    fn only_the_key_in_use_counts() {
        let limited = [(0, 0x7fff), (1, 0xf0dc)];
        let found = scene(&limited).found(&PKEY_LIMITED);
        assert!(only(&found).1.contains("(0xf0dc) is at index 1"));
        assert!(
            scene(&limited)
                .setting("NCCL_IB_PKEY", "1")
                .passes(&PKEY_LIMITED)
        );
        assert!(scene(&[(0, 0xffff)]).passes(&PKEY_LIMITED));
        assert!(
            only(&scene(&[(0, 0x7fff)]).found(&PKEY_LIMITED))
                .1
                .contains("no full member")
        );
    }
}
