//! `gpu.missing`

use super::answer::{driven_gpus, listed, rows};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::health::{Answer, NvidiaSmi, SmiFailure};
use crate::model::{Bdf, Gpu};

declare_check! {
    MISSING = "gpu" / "missing",
    title: "a GPU on PCI is missing in the driver's list",
    severity: Error,
    since: "0.1.0",
    subject: Gpu,
    reads: [
        "sys/bus/pci/devices/*/class",
        "proc/driver/nvidia/gpus/*/information",
    ],
    run: missing,
}

fn missing(facts: &Facts) -> Verdict {
    let mut seen = Collector::default();
    if seen.value(&facts.node.gpus).is_none() {
        return seen.verdict("PCI could not be listed");
    }
    // In a container the driver's files show the GPUs the container was given; the others are none of its business.
    let in_container = facts.node.container.is_some();
    let gpus: Vec<&Gpu> = driven_gpus(facts)
        .into_iter()
        .filter(|g| !in_container || g.information.is_ok())
        .collect();
    match &facts.health.vendor.smi {
        Answer::Given { value, path } => by_smi(facts, &gpus, value, path, &mut seen),
        Answer::Broken { .. } | Answer::Absent(_) => by_driver(&gpus, &mut seen),
    }
    // The driver keeps its entry of a GPU that is lost, so its files alone are no answer where `nvidia-smi` has failed.
    if let Err(Verdict::Unknown(unread)) = rows(facts) {
        for unread in &unread {
            seen.unread(unread);
        }
    }
    seen.verdict("no NVIDIA GPU that its driver lists")
}

/// Compares PCI with `nvidia-smi`.
fn by_smi(facts: &Facts, gpus: &[&Gpu], smi: &NvidiaSmi, path: &str, seen: &mut Collector) {
    for lost in &smi.no_handle {
        seen.look();
        let (subject, message) = match lost.address {
            Some(address) if facts.node.gpus().iter().any(|g| g.pci.address == address) => (
                address.to_string(),
                format!("GPU {address} is on PCI, and the driver has no handle for it"),
            ),
            Some(address) => (
                address.to_string(),
                format!("GPU {address} has left PCI, and the driver has no handle for it"),
            ),
            None => (
                "nvidia-smi".to_owned(),
                "the driver has no handle for a GPU".to_owned(),
            ),
        };
        let finding = Finding::new(Severity::Error, subject, message).evidence(path, &lost.line);
        seen.find(with_fix(finding, lost.address));
    }
    let named = |address: Bdf| smi.no_handle.iter().any(|n| n.address == Some(address));
    for row in &smi.gpus {
        let Some(trouble) = &row.trouble else {
            continue;
        };
        // A lost GPU often does not even tell its address; its index is its place on PCI.
        let on_pci = gpus.get(usize::try_from(row.index).unwrap_or(usize::MAX));
        let address = row.address.or_else(|| on_pci.map(|g| g.pci.address));
        if address.is_some_and(named) {
            continue;
        }
        let name = address.map_or_else(|| format!("GPU {}", row.index), |a| a.to_string());
        let message = format!("GPU {} at {name} does not answer: {trouble}", row.index);
        let finding = Finding::new(Severity::Error, name, message)
            .evidence(path, format!("{}, ... {trouble}", row.index));
        seen.find(with_fix(finding, address));
    }
    if let Some((SmiFailure::NoDevices, line)) = &smi.failure
        && !gpus.is_empty()
    {
        let addresses: Vec<String> = gpus.iter().map(|g| g.pci.address.to_string()).collect();
        let message = format!("the driver finds no GPU, and PCI lists {}", gpus.len());
        let finding = Finding::new(Severity::Error, "nvidia-smi", message)
            .evidence(path, line)
            .evidence("/sys/bus/pci/devices", listed(&addresses));
        seen.find(with_fix(finding, None));
        return;
    }
    if smi.gpus.is_empty() {
        // It stopped at what it names, or said nothing of any GPU; the driver's files say the rest.
        let rest: Vec<&Gpu> = gpus
            .iter()
            .copied()
            .filter(|g| !named(g.pci.address))
            .collect();
        by_driver(&rest, seen);
        return;
    }
    for gpu in gpus {
        seen.look();
        let address = gpu.pci.address;
        let has_row = smi.gpus.iter().any(|row| {
            row.address == Some(address) || (row.address.is_none() && row.index == gpu.index)
        });
        if !has_row && !named(address) {
            let message = format!(
                "GPU {address} is on PCI and not among the {} that the driver lists",
                smi.gpus.len()
            );
            let finding = Finding::new(Severity::Error, address, message)
                .file(&format!("{}/class", gpu.pci.dir), class(gpu))
                .evidence(path, format!("{} rows, none of {address}", smi.gpus.len()));
            seen.find(with_fix(finding, Some(address)));
        }
    }
}

/// Compares PCI with the driver's own files: a GPU without an entry beside others that have one was not taken.
fn by_driver(gpus: &[&Gpu], seen: &mut Collector) {
    if !gpus.iter().any(|g| g.information.is_ok()) {
        return;
    }
    for gpu in gpus {
        let address = gpu.pci.address;
        match &gpu.information {
            Ok(_) => seen.look(),
            Err(unread) if unread.is_absent() => {
                let message = format!("GPU {address} is on PCI, and the driver has not taken it");
                let finding = Finding::new(Severity::Error, address, message)
                    .file(&format!("{}/class", gpu.pci.dir), class(gpu))
                    .file(&unread.path, "does not exist");
                seen.find(with_fix(finding, Some(address)));
            }
            Err(unread) => seen.unread(unread),
        }
    }
}

fn class(gpu: &Gpu) -> String {
    gpu.pci
        .class
        .as_ref()
        .map_or_else(|_| "unknown".to_owned(), |c| format!("{c:#08x}"))
}

fn with_fix(finding: Finding, address: Option<Bdf>) -> Finding {
    let pattern = address.map_or_else(
        || "NVRM".to_owned(),
        |a| format!("{:04x}:{:02x}:{:02x}", a.domain, a.bus, a.device),
    );
    finding
        .fix("read why in the kernel log, then drain and reboot the node; if it comes back, the GPU or its slot needs service")
        .command(format!("dmesg | grep -i '{pattern}'"))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Given, findings, gpus, row, run, smi};
    use super::MISSING;
    use crate::checks::Verdict;

    fn verdict(lines: String) -> Verdict {
        run(
            &MISSING,
            &Given {
                lines,
                ..Given::default()
            },
        )
    }

    fn subjects(lines: String) -> Vec<String> {
        findings(verdict(lines))
            .into_iter()
            .map(|f| f.subject)
            .collect()
    }

    #[test]
    fn all_there_is_fine_with_and_without_nvidia_smi() {
        let all = gpus(2) + &smi(&(row(1) + &row(2)));
        assert_eq!(verdict(all), Verdict::Passed(2));
        assert_eq!(verdict(gpus(2)), Verdict::Passed(2));
        assert!(matches!(verdict(String::new()), Verdict::Unknown(_)));
        assert!(matches!(
            verdict("dir sys/bus/pci/devices\n".to_owned()),
            Verdict::NotApplicable(_)
        ));
    }

    #[test]
    fn a_gpu_without_row_or_handle_is_missing() {
        assert_eq!(subjects(gpus(2) + &smi(&row(1))), ["0000:2b:00.0"]);
        let line = "Unable to determine the device handle for GPU1: 0000:2B:00.0: Unknown Error\n";
        assert_eq!(subjects(gpus(2) + &smi(line)), ["0000:2b:00.0"]);
        assert_eq!(subjects(gpus(2) + &smi(&(row(1) + line))), ["0000:2b:00.0"]);
        let lost = "1, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]\n";
        assert_eq!(subjects(gpus(2) + &smi(&(row(1) + lost))), ["0000:2b:00.0"]);
        let gone = "Unable to determine the device handle for GPU 0000:FB:00.0: Not Found\n";
        assert_eq!(
            subjects(gpus(2) + &smi(&(row(1) + &row(2) + gone))),
            ["0000:fb:00.0"]
        );
    }

    #[test]
    fn no_devices_at_all_is_one_finding() {
        assert_eq!(
            subjects(gpus(8) + &smi("No devices were found\n")),
            ["nvidia-smi"]
        );
    }

    #[test]
    fn the_drivers_files_tell_without_nvidia_smi() {
        let lines: String = gpus(2).replace("gpus/0000:2b:00.0/", "gpus/0000:ff:00.0/");
        assert_eq!(subjects(lines.clone()), ["0000:2b:00.0"]);
        let mismatch = "Failed to initialize NVML: Driver/library version mismatch\n";
        assert_eq!(subjects(lines.clone() + &smi(mismatch)), ["0000:2b:00.0"]);
        let hung = gpus(2) + "commands/nvidia-smi-query.exit = hung 5\n";
        assert!(matches!(verdict(hung), Verdict::Unknown(_)));
        // In a container that entry is hidden on purpose.
        assert_eq!(verdict(lines + "exists .dockerenv\n"), Verdict::Passed(1));
    }

    #[test]
    fn a_gpu_given_to_a_virtual_machine_is_not_missing() {
        let lines = gpus(2).replace(
            "0000:2b:00.0/driver ../../../bus/pci/drivers/nvidia",
            "0000:2b:00.0/driver ../../../bus/pci/drivers/vfio-pci",
        );
        assert_eq!(verdict(lines + &smi(&row(1))), Verdict::Passed(1));
    }
}
