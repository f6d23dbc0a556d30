//! `gpu.mig`

use super::answer::rows;
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};

declare_check! {
    MIG = "gpu" / "mig",
    title: "a GPU is divided into instances (MIG)",
    severity: Warning,
    since: "0.1.0",
    subject: Gpu,
    reads: ["sys/bus/pci/devices/*/class"],
    run: mig,
}

fn mig(facts: &Facts) -> Verdict {
    let (smi, path) = match rows(facts) {
        Ok(found) => found,
        Err(verdict) => return verdict,
    };
    let mut seen = Collector::default();
    let mut divided = Vec::new();
    let mut indexes = Vec::new();
    for gpu in &smi.gpus {
        if let Some(on) = gpu.mig {
            seen.look();
            if on {
                indexes.push(gpu.index.to_string());
                divided.push(
                    gpu.address
                        .map_or_else(|| format!("GPU {}", gpu.index), |a| a.to_string()),
                );
            }
        }
    }
    if !divided.is_empty() {
        let what = if divided.len() == smi.gpus.len() {
            "every GPU".to_owned()
        } else {
            format!("{} of {} GPUs", divided.len(), smi.gpus.len())
        };
        seen.find(
            Finding::new(
                Severity::Warning,
                divided.join(", "),
                format!("{what} in MIG mode: instances reach each other only through host memory"),
            )
            .evidence(path, "mig.mode.current: Enabled")
            .fix("switch MIG mode off where jobs span GPUs, when no job runs")
            .command(format!("nvidia-smi -i {} -mig 0", indexes.join(","))),
        );
    }
    seen.verdict("no GPU knows MIG")
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Given, findings, gpus, row, run, smi};
    use super::MIG;
    use crate::checks::Verdict;

    fn verdict(rows: &str) -> Verdict {
        let lines = gpus(2) + &smi(rows);
        run(
            &MIG,
            &Given {
                lines,
                ..Given::default()
            },
        )
    }

    #[test]
    fn one_finding_names_all_divided_gpus() {
        let both = row(1) + &row(2);
        assert_eq!(verdict(&both), Verdict::Passed(2));
        let divided = findings(verdict(
            &both.replace("Enabled, Disabled", "Enabled, Enabled"),
        ));
        assert_eq!(divided.len(), 1);
        assert_eq!(divided[0].subject, "0000:1b:00.0, 0000:2b:00.0");
        let old = both.replace("Enabled, Disabled", "Enabled, [N/A]");
        assert!(matches!(verdict(&old), Verdict::NotApplicable(_)));
    }
}
