//! `pci.link-degraded`

use std::collections::BTreeMap;

use super::data_nics;
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::health::PciLink;
use crate::model::{Bdf, Reading};

declare_check! {
    LINK_DEGRADED = "pci" / "link-degraded",
    title: "a data NIC's or GPU's PCIe link is slower or narrower than it could be",
    severity: Warning,
    since: "0.1.0",
    subject: Device,
    reads: ["sys/bus/pci/devices/*/current_link_speed", "sys/bus/pci/devices/*/max_link_speed",
            "sys/bus/pci/devices/*/current_link_width", "sys/bus/pci/devices/*/max_link_width"],
    run: link_degraded,
}

fn link_degraded(facts: &Facts) -> Verdict {
    let mut seen = Collector::default();
    // GPUs that merely save power, by the speeds that show it.
    let mut idle: BTreeMap<(u32, u32), Vec<(Bdf, &PciLink)>> = BTreeMap::new();
    let nics = data_nics(facts).into_iter().map(|f| (f.address, false));
    let gpus = facts.node.gpus().iter().map(|g| (g.pci.address, true));
    for (address, is_gpu) in nics.chain(gpus) {
        let Some(link) = facts.health.links.get(&address) else {
            continue;
        };
        let slot = link.slot.as_ref();
        let (width, speed) = (
            gap(
                &mut seen,
                &link.current_width,
                &link.max_width,
                slot.map(|s| &s.max_width),
            ),
            gap(
                &mut seen,
                &link.current_mts,
                &link.max_mts,
                slot.map(|s| &s.max_mts),
            ),
        );
        if width.is_some() || speed.is_some() {
            seen.look();
        }
        let speed_only = width.is_none_or(|w| w.kind == Kind::Full);
        match speed {
            Some(Gap {
                kind: Kind::Degraded,
                current,
                max,
                ..
            }) if is_gpu && speed_only => {
                idle.entry((current, max))
                    .or_default()
                    .push((address, link));
            }
            _ => {
                if let Some(finding) = judge(address, link, width, speed) {
                    seen.find(finding);
                }
            }
        }
    }
    for ((current, max), gpus) in &idle {
        if let Some(finding) = idle_gpus(*current, *max, gpus) {
            seen.find(finding);
        }
    }
    seen.verdict("no data NIC or GPU whose PCIe link can be seen")
}

/// One of a link's two figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Gap {
    kind: Kind,
    current: u32,
    max: u32,
    slot: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// As much as the function can do.
    Full,
    /// Less, and the slot can do no more.
    SlotLimit,
    /// Less than function and slot can do.
    Degraded,
}

/// Compares a figure with what the function and its slot can do. `None` where there is nothing to compare.
fn gap(
    seen: &mut Collector,
    current: &Reading<Option<u32>>,
    max: &Reading<Option<u32>>,
    slot: Option<&Reading<Option<u32>>>,
) -> Option<Gap> {
    let (current, max) = (number(seen, current)?, number(seen, max)?);
    let slot = slot.and_then(|slot| number(seen, slot));
    let kind = if current >= max {
        Kind::Full
    } else if slot.is_some_and(|slot| current >= slot) {
        Kind::SlotLimit
    } else {
        Kind::Degraded
    };
    Some(Gap {
        kind,
        current,
        max,
        slot,
    })
}

/// A number that is known. Virtual functions and old kernels have no such file, which is no failure.
fn number(seen: &mut Collector, reading: &Reading<Option<u32>>) -> Option<u32> {
    match reading {
        Ok(number) => *number,
        Err(unread) if unread.is_absent() => None,
        Err(unread) => {
            seen.unread(unread);
            None
        }
    }
}

fn judge(address: Bdf, link: &PciLink, width: Option<Gap>, speed: Option<Gap>) -> Option<Finding> {
    let lacking = |gap: Option<Gap>| gap.filter(|g| g.kind != Kind::Full);
    let (narrow, slow) = (lacking(width), lacking(speed));
    let worst = [narrow, slow].into_iter().flatten();
    let severity = if worst.clone().any(|g| g.kind == Kind::Degraded) {
        Severity::Warning
    } else {
        Severity::Note
    };
    let shown = |gap: &Gap| match gap.kind {
        Kind::SlotLimit => "the slot has no more",
        _ => "it can do more",
    };
    let mut parts = Vec::new();
    parts.extend(narrow.map(|g| format!("x{} of x{} ({})", g.current, g.max, shown(&g))));
    parts.extend(slow.map(|g| {
        format!(
            "{} of {} GT/s ({})",
            gigatransfers(g.current),
            gigatransfers(g.max),
            shown(&g)
        )
    }));
    if parts.is_empty() {
        return None;
    }
    let mut finding = Finding::new(
        severity,
        address,
        format!("link runs at {}", parts.join(" and ")),
    );
    if let Some(gap) = narrow {
        finding = evidence(finding, link, "link_width", gap, |n| n.to_string());
    }
    if let Some(gap) = slow {
        finding = evidence(finding, link, "link_speed", gap, |n| {
            format!("{} GT/s", gigatransfers(n))
        });
    }
    Some(if severity == Severity::Warning {
        finding
            .fix("reseat the card or its riser, and look for errors of the link; then power-cycle the node")
            .command(format!("lspci -vv -s {address}"))
    } else {
        finding
    })
}

fn evidence(
    finding: Finding,
    link: &PciLink,
    file: &str,
    gap: Gap,
    show: impl Fn(u32) -> String,
) -> Finding {
    let finding = finding
        .file(&format!("{}/current_{file}", link.dir), show(gap.current))
        .file(&format!("{}/max_{file}", link.dir), show(gap.max));
    match (&link.slot, gap.slot) {
        (Some(slot), Some(max)) => finding.file(&format!("{}/max_{file}", slot.dir), show(max)),
        _ => finding,
    }
}

/// GPUs lower the link's speed while they have nothing to do, so this alone is no fault.
fn idle_gpus(current: u32, max: u32, gpus: &[(Bdf, &PciLink)]) -> Option<Finding> {
    let (first, _) = gpus.first()?;
    let (current, max) = (gigatransfers(current), gigatransfers(max));
    let who = match gpus.len() {
        1 => "link of this GPU runs".to_owned(),
        more => format!("links of {more} GPUs run"),
    };
    let finding = Finding::new(
        Severity::Note,
        first,
        format!("{who} at {current} of {max} GT/s, which is normal for an idle GPU"),
    );
    let finding = gpus.iter().fold(finding, |f, (_, link)| {
        f.file(
            &format!("{}/current_link_speed", link.dir),
            format!("{current} GT/s"),
        )
    });
    Some(finding.fix("look again while the GPUs are busy; only then a low speed is a fault"))
}

/// `32`, `2.5`.
fn gigatransfers(mts: u32) -> String {
    match (mts / 1000, mts % 1000 / 100) {
        (whole, 0) => whole.to_string(),
        (whole, tenths) => format!("{whole}.{tenths}"),
    }
}

#[cfg(test)]
mod tests {
    use super::LINK_DEGRADED;
    use crate::checks::net::fixture::{Bench, absent, bdf, denied};
    use crate::checks::{Severity, Verdict};
    use crate::model::health::{PciLink, Slot};

    const NIC: &str = "0000:18:00.0";
    const GPU: &str = "0000:1a:00.0";

    fn bench() -> Bench {
        let mut bench = Bench::new();
        bench.hca(
            "mlx5_0",
            &format!("pci0000:17/0000:17:01.0/{NIC}"),
            None,
            None,
        );
        bench.gpu(&format!("pci0000:17/0000:17:02.0/{GPU}"), 0);
        bench.link(NIC, (32_000, 16), (32_000, 16), (32_000, 16));
        bench.link(GPU, (32_000, 16), (32_000, 16), (32_000, 16));
        bench
    }

    impl Bench {
        fn link(&mut self, pci: &str, current: (u32, u32), max: (u32, u32), slot: (u32, u32)) {
            let link = PciLink {
                current_mts: Ok(Some(current.0)),
                max_mts: Ok(Some(max.0)),
                current_width: Ok(Some(current.1)),
                max_width: Ok(Some(max.1)),
                dir: format!("sys/{pci}"),
                slot: Some(Slot {
                    max_mts: Ok(Some(slot.0)),
                    max_width: Ok(Some(slot.1)),
                    dir: "sys/slot".into(),
                }),
            };
            self.health.links.insert(bdf(pci), link);
        }
    }

    #[test]
    fn full_links_pass() {
        assert_eq!(bench().run(&LINK_DEGRADED), Verdict::Passed(2));
    }

    #[test]
    fn a_narrow_nic_is_a_warning() {
        let mut bench = bench();
        bench.link(NIC, (16_000, 8), (32_000, 16), (32_000, 16));
        let findings = bench.findings(&LINK_DEGRADED);
        assert_eq!(findings[0].subject, NIC);
        assert_eq!(findings[0].severity, Severity::Warning);
        assert_eq!(
            findings[0].message,
            "link runs at x8 of x16 (it can do more) and 16 of 32 GT/s (it can do more)"
        );
        assert_eq!(findings[0].evidence.len(), 6);
    }

    #[test]
    fn a_lesser_slot_is_noted() {
        let mut bench = bench();
        bench.link(NIC, (16_000, 16), (32_000, 16), (16_000, 16));
        let findings = bench.findings(&LINK_DEGRADED);
        assert_eq!(findings[0].severity, Severity::Note);
        assert!(findings[0].message.contains("the slot has no more"));
    }

    #[test]
    fn a_slow_gpu_may_be_idle_but_a_narrow_one_is_not() {
        let mut bench = bench();
        bench.link(GPU, (2_500, 16), (32_000, 16), (32_000, 16));
        let findings = bench.findings(&LINK_DEGRADED);
        assert_eq!(findings[0].severity, Severity::Note);
        assert!(findings[0].message.contains("2.5 of 32 GT/s"));
        bench.link(GPU, (2_500, 4), (32_000, 16), (32_000, 16));
        let findings = bench.findings(&LINK_DEGRADED);
        assert_eq!(findings[0].severity, Severity::Warning);
    }

    #[test]
    fn unknown_figures_are_not_judged() {
        let mut bench = bench();
        let link = bench.health.links.get_mut(&bdf(NIC)).unwrap();
        link.current_mts = Ok(None);
        link.current_width = absent("width");
        assert_eq!(bench.run(&LINK_DEGRADED), Verdict::Passed(1));
        let link = bench.health.links.get_mut(&bdf(NIC)).unwrap();
        link.current_width = denied("width");
        assert!(matches!(bench.run(&LINK_DEGRADED), Verdict::Unknown(_)));
        bench.health.links.clear();
        assert!(matches!(
            bench.run(&LINK_DEGRADED),
            Verdict::NotApplicable(_)
        ));
    }
}
