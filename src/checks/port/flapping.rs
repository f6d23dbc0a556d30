//! `port.flapping`: a link that went down again and again.

use super::errors::{file, gained, look_at, nothing, seconds};
use super::shared::with_mlxlink;
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::PortKey;
use crate::model::health::{LINK_DOWNED, PortCounters};
use crate::roles::Role;

declare_check! {
    FLAPPING = "port" / "flapping",
    title: "a link goes down again and again",
    severity: Warning,
    since: "0.1.0",
    subject: Port,
    reads: ["sys/class/infiniband/*/ports/*/counters/link_downed"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    let limit = facts.thresholds.get("flaps");
    for (key, counters) in &facts.health.counters {
        look_at(&mut collector, counters, &[LINK_DOWNED]);
        let value = |p: &PortCounters| Some(*p.value(&LINK_DOWNED)?.as_ref().ok()?);
        let Some(total) = value(counters) else {
            continue;
        };
        let gain = counters
            .later
            .as_ref()
            .and_then(|(ms, later)| Some((*ms, gained(&LINK_DOWNED, total, value(later)?))))
            .filter(|(_, gain)| *gain > 0);
        let message = if let Some((ms, gain)) = gain {
            format!("link went down {gain} times within {}", seconds(ms))
        } else if Some(total) == LINK_DOWNED.saturates_at {
            format!(
                "link went down {total} times or more since the counters were reset (saturated)"
            )
        } else if total > limit {
            format!("link went down {total} times since the counters were reset")
        } else {
            continue;
        };
        let now = counters
            .later
            .as_ref()
            .and_then(|(_, later)| value(later))
            .unwrap_or(total);
        let finding = Finding::new(severity(facts, key), key, message)
            .file(&file(key, &LINK_DOWNED), now)
            .fix("replace cable or transceiver, or use another switch port; the kernel log has the times");
        collector.find(with_mlxlink(finding, facts, key, "-m -c"));
    }
    collector.verdict(nothing(facts))
}

/// A link of a port that carries no data, and would not, is only worth knowing of.
fn severity(facts: &Facts, key: &PortKey) -> Severity {
    match facts.decision.port(key).map(|p| p.role) {
        Some(Role::Main | Role::Other) => Severity::Note,
        _ => Severity::Warning,
    }
}

#[cfg(test)]
mod tests {
    use super::FLAPPING;
    use crate::checks::port::errors::tests::{counters, scene};
    use crate::checks::port::testing::only;

    #[test]
    fn the_threshold_decides_and_saturation_is_said() {
        let downed = |n: u64| counters(&[("link_downed", n)]);
        assert!(scene(downed(3), None).passes(&FLAPPING));
        let found = scene(downed(6), None).found(&FLAPPING);
        assert!(only(&found).1.starts_with("link went down 6 times since"));
        let found = scene(downed(255), None).found(&FLAPPING);
        assert!(only(&found).1.contains("saturated"));
        let found = scene(downed(1), Some(downed(2))).found(&FLAPPING);
        assert!(only(&found).1.contains("1 times within 10.0 s"));
    }
}
