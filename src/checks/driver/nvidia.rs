//! `driver.nvidia`

use super::version::{hold, required};
use crate::checks::gpu::answer::{driven_gpus, is_nvidia, listed};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::Gpu;
use crate::model::health::{Answer, NvidiaSmi, SmiFailure};

declare_check! {
    NVIDIA = "driver" / "nvidia",
    title: "the NVIDIA driver is missing, does not answer, or does not fit its library",
    severity: Error,
    since: "0.1.0",
    subject: Node,
    reads: [
        "sys/bus/pci/devices/*/class",
        "proc/driver/nvidia/version",
        "dev/nvidiactl",
    ],
    run: nvidia,
}

fn nvidia(facts: &Facts) -> Verdict {
    let mut seen = Collector::default();
    let Some(all) = seen.value(&facts.node.gpus) else {
        return seen.verdict("");
    };
    let gpus = driven_gpus(facts);
    if gpus.is_empty() && required(facts, "nvidia").next().is_none() {
        return Verdict::NotApplicable(if all.iter().any(is_nvidia) {
            "every NVIDIA GPU is given to virtual machines"
        } else {
            "no NVIDIA GPU on PCI"
        });
    }
    let kernel = &facts.health.kernel;
    match &kernel.nvidia_version {
        Ok(driver) => {
            seen.look();
            hold(
                facts,
                "nvidia",
                &driver.version,
                "/proc/driver/nvidia/version",
                &mut seen,
            );
        }
        Err(unread) if unread.is_absent() => without_driver(facts, &gpus, &mut seen),
        Err(unread) => seen.unread(unread),
    }
    if facts.node.container.is_some() && kernel.nvidia_nodes == Ok(false) && !gpus.is_empty() {
        seen.find(
            Finding::new(
                Severity::Warning,
                "container",
                format!("this container was given none of the host's {} GPUs", gpus.len()),
            )
            .evidence("/dev", "no nvidia0, no nvidiactl")
            .fix("ask for them: `docker run --gpus all`, or `nvidia.com/gpu: 8` in the limits of the pod's container"),
        );
        return seen.verdict("");
    }
    match &facts.health.vendor.smi {
        Answer::Given { value, path } => answered(facts, value, path, &mut seen),
        Answer::Broken { what, path, hung } => {
            let finding = Finding::new(Severity::Error, "nvidia-smi", format!("nvidia-smi {what}"))
                .evidence(path, what);
            seen.find(if *hung {
                finding
                    .fix("see where it waits; a GPU that hangs in the kernel needs a reboot, and without persistence mode the first call is slow")
                    .command("ps -o pid,stat,wchan:32,args -C nvidia-smi")
            } else {
                finding
                    .fix("read what the driver has to say in the kernel log")
                    .command("dmesg | grep -i nvrm")
            });
        }
        Answer::Absent(_) => {}
    }
    seen.verdict("no NVIDIA GPU on PCI")
}

/// The driver's version file does not exist: no driver, or one that does not show here.
fn without_driver(facts: &Facts, gpus: &[&Gpu], seen: &mut Collector) {
    let kernel = &facts.health.kernel;
    let drivers: Vec<Option<&Option<String>>> = gpus
        .iter()
        .map(|g| kernel.gpu_drivers.get(&g.pci.address))
        .collect();
    let is_bound = |d: Option<&Option<String>>| matches!(d, Some(Some(d)) if d == "nvidia");
    if gpus.is_empty() || drivers.iter().any(|d| d.is_none() || is_bound(*d)) {
        // The driver is there, and a masked /proc or an incomplete copy hides its file.
        if let Err(unread) = &kernel.nvidia_version {
            seen.unread(unread);
        }
        return;
    }
    let mut bound: Vec<&str> = drivers
        .iter()
        .flatten()
        .map(|d| d.as_deref().unwrap_or("no driver"))
        .collect();
    bound.dedup();
    let addresses: Vec<String> = gpus.iter().map(|g| g.pci.address.to_string()).collect();
    let first = addresses.first().map_or("", String::as_str);
    let finding = Finding::new(
        Severity::Error,
        "nvidia",
        format!(
            "{} NVIDIA GPUs on PCI and no NVIDIA driver: {}",
            gpus.len(),
            bound.join(", ")
        ),
    )
    .evidence("/sys/bus/pci/devices", listed(&addresses))
    .evidence(
        format!("/sys/bus/pci/devices/{first}/driver"),
        bound.join(", "),
    );
    seen.find(if facts.node.container.is_some() {
        finding.fix("install the driver on the host; a container uses the host's")
    } else {
        finding
            .fix("load the driver; where that fails it is not installed for this kernel")
            .command("modprobe nvidia")
    });
}

/// What `nvidia-smi` says about the driver.
fn answered(facts: &Facts, smi: &NvidiaSmi, path: &str, seen: &mut Collector) {
    seen.look();
    let error = |message: String| Finding::new(Severity::Error, "nvidia-smi", message);
    if let Some((failure, line)) = &smi.failure {
        let in_container = facts.node.container.is_some();
        let module = facts.health.kernel.nvidia_version.as_ref().ok();
        match failure {
            SmiFailure::Mismatch(library) => {
                let mut finding = error(mismatch(
                    module.map(|m| m.version.as_str()),
                    library.as_deref(),
                ))
                .evidence(path, line);
                if let Some(module) = module {
                    finding = finding.evidence("/proc/driver/nvidia/version", &module.line);
                }
                seen.find(if in_container {
                    finding.fix("start the container anew: its libraries are from before the host's driver changed")
                } else {
                    finding
                        .fix("the driver was updated under a running module: reboot, or stop what uses the GPUs and load the new modules")
                        .command("reboot")
                });
            }
            SmiFailure::NoDriver => seen.find(
                error("nvidia-smi cannot reach the driver".to_owned())
                    .evidence(path, line)
                    .fix("load the driver; the kernel log says why it does not run")
                    .command("modprobe nvidia; dmesg | grep -i nvrm"),
            ),
            // gpu.missing says how many PCI lists.
            SmiFailure::NoDevices => {}
            SmiFailure::NoLibrary => seen.find(
                Finding::new(
                    Severity::Warning,
                    "nvidia-smi",
                    "nvidia-smi does not find libnvidia-ml.so where the loader looks",
                )
                .evidence(path, line)
                .fix("put the driver's library directory into the loader's cache; a variable of one shell helps that shell only")
                .command("ldconfig -p | grep libnvidia-ml"),
            ),
            SmiFailure::Other => seen.find(
                error(format!("nvidia-smi failed: {}", shortened(line)))
                    .evidence(path, line)
                    .fix("read what the driver has to say in the kernel log")
                    .command("dmesg | grep -i nvrm"),
            ),
        }
        return;
    }
    for message in smi.messages.iter().filter(|m| is_warning(m)) {
        seen.find(
            Finding::new(
                Severity::Note,
                "nvidia-smi",
                format!("nvidia-smi says: {}", shortened(message)),
            )
            .evidence(path, message),
        );
    }
}

fn mismatch(module: Option<&str>, library: Option<&str>) -> String {
    match (module, library) {
        (Some(module), Some(library)) => {
            format!("the kernel module is {module}, and the library is {library}")
        }
        (Some(module), None) => {
            format!("the kernel module is {module}, and the library is of another version")
        }
        (None, Some(library)) => {
            format!("the library is {library}, and the kernel module is of another version")
        }
        (None, None) => "the kernel module and the library are of different versions".to_owned(),
    }
}

fn is_warning(message: &str) -> bool {
    message.to_ascii_lowercase().contains("warning")
}

/// A line without its final stop, short enough for a message.
fn shortened(line: &str) -> String {
    const MOST: usize = 70;
    let short: String = line.chars().take(MOST).collect();
    short.trim_end_matches(['.', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::super::gpu::fixture::{Given, findings, gpus, row, run, smi};
    use super::NVIDIA;
    use crate::checks::{Finding, Severity, Verdict};

    fn verdict(lines: String) -> Verdict {
        run(
            &NVIDIA,
            &Given {
                lines,
                ..Given::default()
            },
        )
    }

    fn only(lines: String) -> Finding {
        let mut found = findings(verdict(lines));
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    fn without_version(driver: &str) -> String {
        gpus(2)
            .lines()
            .filter(|l| !l.starts_with("proc/driver/nvidia/version"))
            .fold(String::new(), |all, line| all + line + "\n")
            .replace("drivers/nvidia", &format!("drivers/{driver}"))
    }

    #[test]
    fn a_driver_that_answers_is_fine() {
        assert_eq!(verdict(gpus(2)), Verdict::Passed(1));
        assert_eq!(verdict(gpus(1) + &smi(&row(1))), Verdict::Passed(2));
        let none = "dir sys/bus/pci/devices\n".to_owned();
        assert!(matches!(verdict(none), Verdict::NotApplicable(_)));
    }

    #[test]
    fn no_driver_is_told_from_a_hidden_one_and_from_passthrough() {
        let nouveau = only(without_version("nouveau"));
        assert_eq!(
            nouveau.message,
            "2 NVIDIA GPUs on PCI and no NVIDIA driver: nouveau"
        );
        assert!(matches!(
            verdict(without_version("nvidia")),
            Verdict::Unknown(_)
        ));
        assert!(matches!(
            verdict(without_version("vfio-pci")),
            Verdict::NotApplicable(_)
        ));
    }

    #[test]
    fn failures_of_nvidia_smi_are_errors() {
        for (answer, part) in [
            (
                smi("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.124\n"),
                "the kernel module is 535.161.08, and the library is 570.124",
            ),
            (
                smi("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"),
                "cannot reach the driver",
            ),
            (smi("Segmentation fault.\n"), "nvidia-smi failed: Segmentation fault"),
            ("commands/nvidia-smi-query.exit = hung 5\n".to_owned(), "did not end within 5 s"),
            (
                "commands/nvidia-smi-query.stdout = x\ncommands/nvidia-smi-query.exit = signal 11\n".to_owned(),
                "was ended by signal 11",
            ),
            ("commands/nvidia-smi-query.exit = too-much 4194304\n".to_owned(), "more than 4 MiB"),
            (
                "commands/nvidia-smi-query.exit = not-started /usr/bin/nvidia-smi: Permission denied\n".to_owned(),
                "Permission denied",
            ),
        ] {
            let found = only(gpus(2) + &answer);
            assert_eq!(found.severity, Severity::Error);
            assert!(found.message.contains(part), "{}", found.message);
        }
    }

    #[test]
    fn one_lost_gpu_is_not_the_drivers_fault() {
        let line = "Unable to determine the device handle for GPU1: 0000:2B:00.0: Unknown Error\n";
        assert_eq!(verdict(gpus(2) + &smi(line)), Verdict::Passed(2));
        assert_eq!(
            verdict(gpus(2) + &smi("No devices were found\n")),
            Verdict::Passed(2)
        );
        let warned =
            only(gpus(1) + &smi(&(row(1) + "WARNING: infoROM is corrupted at gpu 0000:1b:00.0\n")));
        assert_eq!(warned.severity, Severity::Note);
    }

    #[test]
    fn a_container_without_gpus_says_how_to_ask() {
        let lines = gpus(2).replace("exists dev/nvidia0\n", "") + "exists .dockerenv\n";
        assert_eq!(only(lines).subject, "container");
    }

    #[test]
    fn a_required_version_is_held() {
        let with = |expect: &[&str]| {
            run(
                &NVIDIA,
                &Given {
                    lines: gpus(1),
                    expect,
                    ..Given::default()
                },
            )
        };
        assert_eq!(with(&["nvidia>=535"]), Verdict::Passed(2));
        assert_eq!(findings(with(&["nvidia>=550"])).len(), 1);
    }
}
