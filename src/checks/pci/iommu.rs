//! `pci.iommu`

use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::{PciFunction, Reading, Why};

use super::data_nics;

declare_check! {
    IOMMU = "pci" / "iommu",
    title: "the IOMMU translates addresses of GPUs and data NICs",
    severity: Warning,
    since: "0.1.0",
    subject: Node,
    reads: ["sys/kernel/iommu_groups/*/type", "sys/bus/pci/devices/*/iommu_group", "proc/cmdline"],
    run: iommu,
}

/// Functions of one kind.
#[derive(Default)]
struct Group<'a> {
    functions: Vec<(&'a PciFunction, String)>,
    gpus: usize,
    nics: usize,
}

impl<'a> Group<'a> {
    fn add(&mut self, function: &'a PciFunction, is_gpu: bool, kind: String) {
        self.functions.push((function, kind));
        if is_gpu {
            self.gpus += 1;
        } else {
            self.nics += 1;
        }
    }

    fn who(&self) -> String {
        let count = |n: usize, what: &str| match n {
            1 => format!("1 {what}"),
            n => format!("{n} {what}s"),
        };
        match (self.gpus, self.nics) {
            (gpus, 0) => count(gpus, "GPU"),
            (0, nics) => count(nics, "data NIC"),
            (gpus, nics) => format!("{} and {}", count(gpus, "GPU"), count(nics, "data NIC")),
        }
    }
}

fn iommu(facts: &Facts) -> Verdict {
    let mut seen = Collector::default();
    let (mut translated, mut unsaid) = (Group::default(), Group::default());
    let nics = data_nics(facts).into_iter().map(|f| (f, false));
    let gpus = facts.node.gpus().iter().map(|g| (&g.pci, true));
    for (function, is_gpu) in gpus.chain(nics) {
        let groups = &facts.health.kernel.iommu_groups;
        let Some(kind) = groups.get(&function.address.to_string()) else {
            continue;
        };
        seen.look();
        match kind {
            Ok(kind) if kind.starts_with("DMA") => {
                translated.add(function, is_gpu, kind.clone());
            }
            Ok(_) => {}
            // Kernels before the file had the kind: the command line has to do.
            Err(unread) if unread.why == Why::NotCaptured => {
                unsaid.add(function, is_gpu, "(kind not said)".into());
            }
            Err(unread) => seen.unread(unread),
        }
    }
    if let Some((_, kind)) = translated.functions.first() {
        let message = format!(
            "the IOMMU translates every access of {} (group type {kind})",
            translated.who()
        );
        let severity = if facts.health.kernel.is_guest == Some(true) {
            Severity::Note
        } else {
            Severity::Warning
        };
        seen.find(finding(facts, severity, message, &translated));
    }
    if !unsaid.functions.is_empty() {
        match passes_through(&facts.health.kernel.cmdline) {
            Ok(true) => {}
            Ok(false) => {
                let message = format!(
                    "{} {} in IOMMU groups, and the kernel was not started with iommu=pt",
                    unsaid.who(),
                    if unsaid.functions.len() == 1 {
                        "is"
                    } else {
                        "are"
                    }
                );
                seen.find(finding(facts, Severity::Note, message, &unsaid));
            }
            Err(unread) => seen.unread(&unread),
        }
    }
    seen.verdict("no GPU or data NIC is behind an IOMMU")
}

/// Whether the command line asks for a pass-through or no IOMMU at all.
fn passes_through(cmdline: &Reading<String>) -> Reading<bool> {
    const WORDS: [&str; 6] = [
        "iommu=pt",
        "iommu=off",
        "iommu.passthrough=1",
        "iommu.passthrough=on",
        "intel_iommu=off",
        "amd_iommu=off",
    ];
    let cmdline = cmdline.as_ref().map_err(Clone::clone)?;
    Ok(cmdline.split_whitespace().any(|w| WORDS.contains(&w)))
}

fn finding(facts: &Facts, severity: Severity, message: String, group: &Group) -> Finding {
    let mut finding = Finding::new(severity, "iommu", message);
    for (function, kind) in &group.functions {
        finding = finding.file(&format!("{}/iommu_group", function.dir), kind);
    }
    if let Ok(cmdline) = &facts.health.kernel.cmdline {
        let words: Vec<&str> = cmdline
            .split_whitespace()
            .filter(|w| w.contains("iommu"))
            .collect();
        let said = if words.is_empty() {
            "(nothing about an IOMMU)".to_owned()
        } else {
            words.join(" ")
        };
        finding = finding.file("proc/cmdline", said);
    }
    finding.fix(if facts.health.kernel.is_arm == Ok(true) {
        "start the kernel with iommu.passthrough=1, or switch the SMMU off in the firmware"
    } else {
        "start the kernel with iommu=pt, or switch the IOMMU off in the firmware"
    })
}

#[cfg(test)]
mod tests {
    use super::IOMMU;
    use crate::checks::net::fixture::{Bench, denied};
    use crate::checks::{Severity, Verdict};
    use crate::model::{Unread, Why};

    fn bench(kind: &str) -> Bench {
        let mut bench = Bench::new();
        bench.hca("mlx5_0", "pci0000:17/0000:18:00.0", None, None);
        bench.gpu("pci0000:17/0000:19:00.0", 0);
        let kernel = &mut bench.health.kernel;
        kernel.cmdline = Ok("BOOT_IMAGE=/vmlinuz intel_iommu=on quiet".into());
        for address in ["0000:18:00.0", "0000:19:00.0"] {
            kernel.iommu_groups.insert(address.into(), Ok(kind.into()));
        }
        bench
    }

    #[test]
    fn translation_is_a_warning_on_metal_and_a_note_in_a_guest() {
        let mut bench = bench("DMA-FQ");
        let findings = bench.findings(&IOMMU);
        assert_eq!(findings[0].severity, Severity::Warning);
        assert_eq!(
            findings[0].message,
            "the IOMMU translates every access of 1 GPU and 1 data NIC (group type DMA-FQ)"
        );
        assert_eq!(findings[0].evidence[2].value, "intel_iommu=on");
        bench.health.kernel.is_guest = Some(true);
        assert_eq!(bench.findings(&IOMMU)[0].severity, Severity::Note);
    }

    #[test]
    fn a_pass_through_is_fine() {
        assert_eq!(bench("identity").run(&IOMMU), Verdict::Passed(2));
        assert!(matches!(
            Bench::new().run(&IOMMU),
            Verdict::NotApplicable(_)
        ));
    }

    #[test]
    fn old_kernels_are_judged_by_their_command_line() {
        let mut bench = bench("identity");
        let kernel = &mut bench.health.kernel;
        let unsaid = Err(Unread::new("type", Why::NotCaptured));
        kernel.iommu_groups.insert("0000:18:00.0".into(), unsaid);
        assert_eq!(bench.findings(&IOMMU)[0].severity, Severity::Note);
        bench.health.kernel.cmdline = Ok("iommu=pt".into());
        assert_eq!(bench.run(&IOMMU), Verdict::Passed(2));
        bench.health.kernel.cmdline = denied("proc/cmdline");
        assert!(matches!(bench.run(&IOMMU), Verdict::Unknown(_)));
    }

    #[test]
    fn a_refused_kind_is_unknown() {
        let mut bench = bench("identity");
        let groups = &mut bench.health.kernel.iommu_groups;
        groups.insert("0000:18:00.0".into(), denied("type"));
        assert!(matches!(bench.run(&IOMMU), Verdict::Unknown(_)));
    }
}
