//! `gpu.persistence`

use super::answer::rows;
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};

declare_check! {
    PERSISTENCE = "gpu" / "persistence",
    title: "the driver lets go of a GPU when no program uses it",
    severity: Note,
    since: "0.1.0",
    subject: Gpu,
    reads: ["sys/bus/pci/devices/*/class"],
    run: persistence,
}

fn persistence(facts: &Facts) -> Verdict {
    let (smi, path) = match rows(facts) {
        Ok(found) => found,
        Err(verdict) => return verdict,
    };
    let mut seen = Collector::default();
    let mut off = Vec::new();
    for gpu in &smi.gpus {
        if let Some(on) = gpu.persistence {
            seen.look();
            if !on {
                off.push(
                    gpu.address
                        .map_or_else(|| format!("GPU {}", gpu.index), |a| a.to_string()),
                );
            }
        }
    }
    if !off.is_empty() {
        let message = format!(
            "persistence mode is off on {} of {} GPUs: every job's start initialises them anew",
            off.len(),
            smi.gpus.len()
        );
        let finding = Finding::new(Severity::Note, off.join(", "), message)
            .evidence(path, "persistence_mode: Disabled");
        seen.find(if facts.node.container.is_some() {
            finding.fix("run nvidia-persistenced on the host; a container cannot")
        } else {
            finding
                .fix("run the driver's daemon, which keeps them initialised")
                .command("systemctl enable --now nvidia-persistenced")
        });
    }
    seen.verdict("no GPU says whether it has persistence mode")
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Given, findings, gpus, row, run, smi};
    use super::PERSISTENCE;
    use crate::checks::{Severity, Verdict};

    fn verdict(lines: String) -> Verdict {
        run(
            &PERSISTENCE,
            &Given {
                lines,
                ..Given::default()
            },
        )
    }

    #[test]
    fn off_is_a_note() {
        assert_eq!(verdict(gpus(1) + &smi(&row(1))), Verdict::Passed(1));
        let off = gpus(1) + &smi(&row(1).replace("Enabled, ", "Disabled, "));
        let found = findings(verdict(off));
        assert_eq!(found[0].severity, Severity::Note);
        assert_eq!(found[0].subject, "0000:1b:00.0");
        assert!(matches!(verdict(gpus(1)), Verdict::NotApplicable(_)));
        let hung = gpus(1) + "commands/nvidia-smi-query.exit = hung 5\n";
        assert!(matches!(verdict(hung), Verdict::Unknown(_)));
    }
}
