//! `gpu.ecc`

use super::answer::rows;
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::health::SmiGpu;

declare_check! {
    ECC = "gpu" / "ecc",
    title: "a GPU's memory has uncorrectable errors",
    severity: Error,
    since: "0.1.0",
    subject: Gpu,
    reads: ["sys/bus/pci/devices/*/class"],
    run: ecc,
}

fn ecc(facts: &Facts) -> Verdict {
    let (smi, path) = match rows(facts) {
        Ok(found) => found,
        Err(verdict) => return verdict,
    };
    let mut seen = Collector::default();
    for gpu in &smi.gpus {
        if gpu.ecc_uncorrected.is_some() || gpu.remap_failed.is_some() {
            seen.look();
        }
        if let Some(finding) = judge(gpu, path) {
            seen.find(finding);
        }
    }
    seen.verdict("no GPU counts memory errors")
}

fn judge(gpu: &SmiGpu, path: &str) -> Option<Finding> {
    let name = gpu
        .address
        .map_or_else(|| format!("GPU {}", gpu.index), |a| a.to_string());
    let reset = format!("nvidia-smi --gpu-reset -i {}", gpu.index);
    if gpu.remap_failed == Some(true) {
        let message = format!(
            "GPU {} has no spare memory rows left: remapping failed",
            gpu.index
        );
        return Some(
            Finding::new(Severity::Error, name, message)
                .evidence(path, "remapped_rows.failure: Yes")
                .fix("take the GPU out of service; a reset does not bring spare rows back"),
        );
    }
    let pending = gpu.remap_pending == Some(true);
    match gpu.ecc_uncorrected {
        Some(count) if count > 0 => {
            let message = format!(
                "GPU {} has had {count} uncorrectable memory errors since its driver was loaded",
                gpu.index
            );
            let mut finding = Finding::new(Severity::Error, name, message).evidence(
                path,
                format!("ecc.errors.uncorrected.volatile.total: {count}"),
            );
            if pending {
                finding = finding.evidence(path, "remapped_rows.pending: Yes");
            }
            Some(
                finding
                    .fix("drain the node and reset the GPU, so that the bad memory is replaced by spare rows")
                    .command(reset),
            )
        }
        _ if pending => {
            let message = format!(
                "GPU {} waits for a reset to replace bad memory rows",
                gpu.index
            );
            Some(
                Finding::new(Severity::Warning, name, message)
                    .evidence(path, "remapped_rows.pending: Yes")
                    .fix("reset the GPU when no job runs on it")
                    .command(reset),
            )
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Given, findings, gpus, row, run, smi};
    use super::ECC;
    use crate::checks::{Severity, Verdict};

    fn verdict(rows: &str) -> Verdict {
        let lines = gpus(1) + &smi(rows);
        run(
            &ECC,
            &Given {
                lines,
                ..Given::default()
            },
        )
    }

    #[test]
    fn counts_and_rows_are_judged() {
        assert_eq!(verdict(&row(1)), Verdict::Passed(1));
        let severity = |rows: &str| findings(verdict(rows)).pop().map(|f| f.severity);
        assert_eq!(
            severity(&row(1).replace(" 0, No, No", " 3, Yes, No")),
            Some(Severity::Error)
        );
        assert_eq!(
            severity(&row(1).replace("No, No", "Yes, No")),
            Some(Severity::Warning)
        );
        assert_eq!(
            severity(&row(1).replace("No, No", "No, Yes")),
            Some(Severity::Error)
        );
        let without = row(1).replace(" 0, No, No", " [N/A], [N/A], [N/A]");
        assert!(matches!(verdict(&without), Verdict::NotApplicable(_)));
        let failed = "Failed to initialize NVML: Unknown Error\n";
        assert!(matches!(verdict(failed), Verdict::Unknown(_)));
    }
}
