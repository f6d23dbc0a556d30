//! `port.errors`: counters of errors, as totals or over an interval.

use super::shared::{port_file, some_of, with_mlxlink};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::PortKey;
use crate::model::health::{Counter, CounterKind, ERROR_COUNTERS, PortCounters};

declare_check! {
    ERRORS = "port" / "errors",
    title: "a port counts errors",
    severity: Warning,
    since: "0.1.0",
    subject: Port,
    reads: [
        "sys/class/infiniband/*/ports/*/counters/*",
        "sys/class/infiniband/*/ports/*/hw_counters/*",
    ],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    for (key, counters) in &facts.health.counters {
        look_at(&mut collector, counters, ERROR_COUNTERS);
        let finding = match &counters.later {
            Some((elapsed, later)) => growth(facts, key, counters, later, *elapsed),
            None => totals(key, counters),
        };
        if let Some(finding) = finding {
            collector.find(finding);
        }
    }
    collector.verdict(nothing(facts))
}

/// Why there is nothing to look at. Absent counters are never zero.
pub(super) fn nothing(facts: &Facts) -> &'static str {
    if facts.node.container.is_some() {
        "the counters of RDMA ports are not visible in this container; look at them on the host"
    } else if facts.node.hcas().is_empty() {
        "no RDMA device"
    } else {
        "no port of this node shows its counters"
    }
}

/// Counts what could be read of a port's counters, and keeps what could not.
pub(super) fn look_at(collector: &mut Collector, counters: &PortCounters, wanted: &[Counter]) {
    let mut seen = false;
    for kind in [CounterKind::Port, CounterKind::Hardware] {
        match counters.group(kind) {
            Err(unread) if unread.is_absent() => {}
            Err(unread) if wanted.iter().any(|c| c.group == kind) => collector.unread(unread),
            Err(_) | Ok(_) => {}
        }
    }
    for counter in wanted {
        match counters.value(counter) {
            Some(Ok(_)) => seen = true,
            Some(Err(unread)) => collector.unread(unread),
            None => {}
        }
    }
    if seen {
        collector.look();
    }
}

/// The file of a counter.
pub(super) fn file(key: &PortKey, counter: &Counter) -> String {
    port_file(key, &format!("{}/{}", counter.group.dir(), counter.name))
}

fn totals(key: &PortKey, counters: &PortCounters) -> Option<Finding> {
    let raised: Vec<(&Counter, u64)> = ERROR_COUNTERS
        .iter()
        .filter(|c| c.total_tells)
        .filter_map(|c| Some((c, *counters.value(c)?.as_ref().ok()?)))
        .filter(|(_, value)| *value > 0)
        .collect();
    let text: Vec<String> = raised
        .iter()
        .map(|(c, value)| {
            let end = if c.saturates_at == Some(*value) {
                " (saturated: or more)"
            } else {
                ""
            };
            format!("{} {value}{end}", c.name)
        })
        .collect();
    let finding = Finding::new(
        Severity::Note,
        key,
        format!("since they were reset: {}", some_of(text)),
    );
    (!raised.is_empty()).then(|| {
        raised
            .iter()
            .fold(finding, |f, (c, value)| f.file(&file(key, c), value))
            .fix("see whether they grow")
            .command("rdmactl check --only port --interval 10")
    })
}

fn growth(
    facts: &Facts,
    key: &PortKey,
    before: &PortCounters,
    after: &PortCounters,
    elapsed_ms: u64,
) -> Option<Finding> {
    let grown: Vec<(&Counter, u64, u64)> = ERROR_COUNTERS
        .iter()
        .filter_map(|c| {
            let value = |p: &PortCounters| Some(*p.value(c)?.as_ref().ok()?);
            let now = value(after)?;
            Some((c, now, gained(c, value(before)?, now)))
        })
        .filter(|(_, _, gain)| *gain > 0)
        .collect();
    let text: Vec<String> = grown
        .iter()
        .map(|(c, _, gain)| format!("{} +{gain} ({})", c.name, c.meaning))
        .collect();
    let finding = Finding::new(
        Severity::Warning,
        key,
        format!("in {}: {}", seconds(elapsed_ms), some_of(text)),
    );
    (!grown.is_empty()).then(|| {
        let finding = grown
            .iter()
            .fold(finding, |f, (c, now, _)| f.file(&file(key, c), now))
            .fix("damaged packets: another cable, transceiver or switch port; lost ones: the fabric's flow control");
        with_mlxlink(finding, facts, key, "-c")
    })
}

/// What a counter gained. Those of `hw_counters` are 32 bits wide and wrap; one of `counters` that is lower than before
/// was reset meanwhile, and counts from zero.
pub(super) fn gained(counter: &Counter, before: u64, now: u64) -> u64 {
    const WRAP: u64 = 1 << 32;
    match now.checked_sub(before) {
        Some(gain) => gain,
        None if counter.group == CounterKind::Hardware && before < WRAP => WRAP - before + now,
        None => now,
    }
}

/// Milliseconds as people say them: `10.0 s`.
pub(super) fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1000, ms % 1000 / 100)
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;

    use super::{ERRORS, gained};
    use crate::checks::port::testing::{Scene, first_port, only};
    use crate::checks::{Severity, Verdict};
    use crate::model::health::{Counter, CounterGroup, ERROR_COUNTERS, PortCounters};
    use crate::model::{Unread, Why};

    /// Counters of `counters`, none of `hw_counters`.
    pub(in crate::checks::port) fn counters(values: &[(&str, u64)]) -> PortCounters {
        PortCounters {
            counters: Ok(CounterGroup {
                values: values
                    .iter()
                    .map(|(n, v)| ((*n).to_owned(), Ok(*v)))
                    .collect(),
            }),
            hw_counters: Err(Unread::new("hw_counters", Why::Absent)),
            later: None,
        }
    }

    pub(in crate::checks::port) fn scene(
        first: PortCounters,
        later: Option<PortCounters>,
    ) -> Scene {
        Scene::of("h100-8gpu-infiniband").health(|h| {
            let later = later.map(|l| (10_000, Box::new(l)));
            h.counters = BTreeMap::from([(first_port("mlx5_0"), PortCounters { later, ..first })]);
        })
    }

    #[test]
    fn totals_are_notes_and_growth_is_a_warning() {
        let first = counters(&[("symbol_error", 65535), ("port_rcv_errors", 3)]);
        let found = scene(first.clone(), None).found(&ERRORS);
        let (severity, message) = only(&found);
        assert_eq!(severity, Severity::Note);
        assert!(
            message.contains("symbol_error 65535 (saturated"),
            "{message}"
        );
        assert!(message.contains("port_rcv_errors 3"), "{message}");
        let later = counters(&[("symbol_error", 65535), ("port_rcv_errors", 5)]);
        let found = scene(first.clone(), Some(later)).found(&ERRORS);
        let (severity, message) = only(&found);
        assert_eq!(severity, Severity::Warning);
        assert!(
            message.starts_with("in 10.0 s: port_rcv_errors +2"),
            "{message}"
        );
        assert!(scene(first.clone(), Some(first)).passes(&ERRORS));
    }

    #[test]
    fn absent_counters_are_not_zero() {
        let absent = PortCounters {
            counters: Err(Unread::new("counters", Why::Absent)),
            ..counters(&[])
        };
        let scene = scene(absent, None).node(|n| n.container = Some("/.dockerenv".into()));
        let Verdict::NotApplicable(why) = scene.verdict(&ERRORS) else {
            panic!("{:?}", scene.verdict(&ERRORS));
        };
        assert!(why.contains("container"));
    }

    #[test]
    fn unreadable_counters_are_unknown() {
        let mut broken = counters(&[]);
        broken.counters.as_mut().unwrap().values.insert(
            "symbol_error".into(),
            Err(Unread::malformed("symbol_error", "N/A (no PMA)")),
        );
        assert!(scene(broken, None).is_unknown(&ERRORS));
    }

    #[test]
    fn gains_respect_wraps_and_resets() {
        let of =
            |name: &str| -> &Counter { ERROR_COUNTERS.iter().find(|c| c.name == name).unwrap() };
        assert_eq!(gained(of("symbol_error"), 5, 7), 2);
        assert_eq!(gained(of("symbol_error"), 5, 2), 2);
        assert_eq!(gained(of("packet_seq_err"), u64::from(u32::MAX), 1), 2);
    }
}
