//! `gdr.unavailable`

use super::paths::{dma_buf, gpu_exports, loaded_modules, peer_memory, verbs_devices};
use crate::checks::gpu::answer::driven_gpus;
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::health::Answer;
use crate::nccl::release::Release;

declare_check! {
    UNAVAILABLE = "gdr" / "unavailable",
    title: "NCCL has no way to GPUDirect RDMA: neither peer memory nor DMA-BUF",
    severity: Warning,
    since: "0.1.0",
    subject: Node,
    reads: [
        "sys/module/nvidia_peermem/version",
        "sys/kernel/mm/memory_peers/*/version",
        "proc/modules",
        "proc/driver/nvidia/version",
        "proc/sys/kernel/osrelease",
    ],
    run: unavailable,
}

fn unavailable(facts: &Facts) -> Verdict {
    let mut seen = Collector::default();
    if seen.value(&facts.node.gpus).is_none() {
        return seen.verdict("");
    }
    if driven_gpus(facts).is_empty() || verbs_devices(facts).is_empty() {
        return Verdict::NotApplicable("GPUDirect RDMA needs an NVIDIA GPU and an RDMA device");
    }
    let newest = [Release::NEWEST];
    let releases = if facts.releases.is_empty() {
        &newest
    } else {
        facts.releases
    };
    let answers: Vec<_> = releases.iter().map(|r| peer_memory(facts, *r)).collect();
    if answers.contains(&Ok(true)) {
        return Verdict::Passed(releases.len());
    }
    match dma_buf(facts) {
        Some(true) => return Verdict::Passed(releases.len()),
        // Whether a module that is loaded is of use to these releases is the other check's matter.
        _ if !loaded_modules(facts).is_empty() => {
            return Verdict::NotApplicable(
                "a peer memory module is loaded: see gdr.peermem-unseen",
            );
        }
        None if facts.health.kernel.nvidia_version.is_ok()
            && facts.health.kernel.release.is_ok() =>
        {
            return Verdict::NotApplicable("no file says whether this NIC's driver takes DMA-BUF");
        }
        Some(false) | None => {}
    }
    for unread in answers.iter().filter_map(|a| a.as_ref().err()) {
        seen.unread(unread);
    }
    if dma_buf(facts).is_none() {
        seen.value(&facts.health.kernel.nvidia_version);
        seen.value(&facts.health.kernel.release);
    }
    if answers.contains(&Ok(false)) && dma_buf(facts) == Some(false) {
        return Verdict::Found(vec![finding(facts)], Vec::new());
    }
    seen.verdict("")
}

fn finding(facts: &Facts) -> Finding {
    let kernel = &facts.health.kernel;
    let release = kernel.release.as_deref().unwrap_or("unknown");
    let no_dma_buf = match (&kernel.nvidia_version, gpu_exports(facts)) {
        (Ok(driver), Some(false)) if !driver.open => {
            format!("the driver's modules are proprietary ({})", driver.version)
        }
        (Ok(driver), Some(false)) => format!("the driver is {}", driver.version),
        _ if kernel.nvidia_version.is_ok() && gpu_exports(facts) == Some(true) => {
            if facts.settings.get("NCCL_DMABUF_ENABLE").is_some() {
                "NCCL_DMABUF_ENABLE switches it off".to_owned()
            } else {
                format!("the kernel is {release}")
            }
        }
        _ => "it is switched off".to_owned(),
    };
    let mut finding = Finding::new(
        Severity::Warning,
        "nvidia_peermem",
        format!("no peer memory module, and no DMA-BUF: {no_dma_buf}"),
    );
    if kernel.modules.is_ok() {
        finding = finding.evidence("/proc/modules", "no nvidia_peermem");
    }
    if let Ok(driver) = &kernel.nvidia_version {
        finding = finding.evidence("/proc/driver/nvidia/version", &driver.line);
    }
    finding = finding.evidence("/proc/sys/kernel/osrelease", release);
    let own_stack = matches!(facts.health.vendor.ofed, Answer::Given { .. });
    if own_stack || facts.node.container.is_some() {
        finding
            .fix("load the module on the host, after the RDMA stack and the GPU driver")
            .command("modprobe nvidia_peermem")
    } else {
        finding.fix("use the driver's open kernel modules with Linux 5.12 or newer; nvidia_peermem needs MLNX_OFED or DOCA-OFED")
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::gpu::fixture::{Given, findings, gpus, hca, run};
    use super::UNAVAILABLE;
    use crate::checks::Verdict;
    use crate::nccl::release::Release;

    fn verdict(lines: &str, env: &[(&str, &str)]) -> Verdict {
        run(
            &UNAVAILABLE,
            &Given {
                lines: gpus(1) + &hca(1) + lines,
                releases: &[Release::new(2, 27, 7)],
                env,
                ..Given::default()
            },
        )
    }

    const BARE: &str = "dir sys/module\nproc/modules = mlx5_ib 1 0 - Live 0x0\n";

    #[test]
    fn peer_memory_is_enough() {
        let loaded = "sys/module/nvidia_peermem/version = 535.161.08\n";
        assert_eq!(verdict(loaded, &[]), Verdict::Passed(1));
        let registered = "sys/kernel/mm/memory_peers/nv_mem/version = 1.0\n";
        assert_eq!(verdict(registered, &[]), Verdict::Passed(1));
    }

    #[test]
    fn neither_is_a_finding_that_says_why() {
        let found = findings(verdict(BARE, &[]));
        assert!(
            found[0].message.contains("proprietary"),
            "{}",
            found[0].message
        );
        // A copy that was not asked about modules says nothing.
        assert!(matches!(verdict("", &[]), Verdict::Unknown(_)));
    }

    #[test]
    fn open_modules_on_a_new_kernel_have_dma_buf() {
        let open =
            |text: &str| text.replace("x86_64 Kernel Module", "Open Kernel Module for x86_64");
        let run = |kernel: &str, env: &[(&str, &str)]| {
            let lines = open(&gpus(1)).replace("5.15.0-105", kernel) + &hca(1) + BARE;
            run(
                &UNAVAILABLE,
                &Given {
                    lines,
                    env,
                    ..Given::default()
                },
            )
        };
        assert_eq!(run("5.15.0-105", &[]), Verdict::Passed(1));
        assert_eq!(findings(run("5.4.0-150", &[])).len(), 1);
        assert_eq!(
            findings(run("5.15.0-105", &[("NCCL_DMABUF_ENABLE", "0")])).len(),
            1
        );
    }

    #[test]
    fn without_gpu_or_rdma_device_there_is_nothing_to_ask() {
        let alone = run(
            &UNAVAILABLE,
            &Given {
                lines: gpus(1),
                ..Given::default()
            },
        );
        assert!(matches!(alone, Verdict::NotApplicable(_)));
    }
}
