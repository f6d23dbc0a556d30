//! `gdr.peermem-unseen`

use super::paths::{dma_buf, loaded_modules, peer_memory, verbs_devices};
use crate::checks::gpu::answer::driven_gpus;
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::nccl::gdr::peer_memory_paths;
use crate::nccl::release::{KNOWN, Release};

declare_check! {
    PEERMEM_UNSEEN = "gdr" / "peermem-unseen",
    title: "a peer memory module is loaded that this NCCL release does not look for",
    severity: Warning,
    since: "0.1.0",
    subject: Node,
    reads: [
        "sys/module/nvidia_peermem/version",
        "sys/kernel/mm/memory_peers/*/version",
        "proc/modules",
    ],
    run: peermem_unseen,
}

fn peermem_unseen(facts: &Facts) -> Verdict {
    if driven_gpus(facts).is_empty() || verbs_devices(facts).is_empty() {
        return Verdict::NotApplicable("GPUDirect RDMA needs an NVIDIA GPU and an RDMA device");
    }
    let modules = loaded_modules(facts);
    let Some(module) = modules.first() else {
        let mut seen = Collector::default();
        if let Err(unread) = &facts.health.kernel.modules
            && !unread.is_absent()
        {
            seen.unread(unread);
        }
        return seen.verdict("no peer memory module is loaded");
    };
    if facts.releases.is_empty() && peer_memory(facts, Release::NEWEST) == Ok(true) {
        return Verdict::NotApplicable(
            "NCCL's release is not known, and newer ones see the module",
        );
    }
    let newest = [Release::NEWEST];
    let releases = if facts.releases.is_empty() {
        &newest
    } else {
        facts.releases
    };
    let mut seen = Collector::default();
    let mut blind = Vec::new();
    for release in releases {
        match peer_memory(facts, *release) {
            Ok(true) => seen.look(),
            Ok(false) => blind.push(*release),
            Err(unread) => seen.unread(&unread),
        }
    }
    if !blind.is_empty() {
        seen.find(finding(facts, module, &blind));
    }
    seen.verdict("")
}

fn finding(facts: &Facts, module: &str, blind: &[Release]) -> Finding {
    // With DMA-BUF these releases lose nothing.
    let severity = if dma_buf(facts) == Some(true) {
        Severity::Note
    } else {
        Severity::Warning
    };
    let names: Vec<String> = blind.iter().map(ToString::to_string).collect();
    let mut places: Vec<&str> = blind.iter().flat_map(|r| peer_memory_paths(*r)).collect();
    places.sort_unstable();
    places.dedup();
    let under = if places.iter().all(|p| p.starts_with("sys/kernel/mm/")) {
        "looks only below /sys/kernel/mm/memory_peers".to_owned()
    } else {
        "does not find it".to_owned()
    };
    let mut finding = Finding::new(
        severity,
        module,
        format!("{module} is loaded, and NCCL {} {under}", names.join(", ")),
    );
    let kernel = &facts.health.kernel;
    for (path, exists) in &kernel.peer_memory {
        if *exists == Ok(true) {
            finding = finding.file(path, "exists");
        }
    }
    if kernel.modules.as_ref().is_ok_and(|m| m.contains(module)) {
        finding = finding.evidence("/proc/modules", module);
    }
    for place in places {
        finding = finding.file(place, "does not exist");
    }
    let sees = KNOWN.iter().find(|r| {
        **r > blind.iter().copied().max().unwrap_or(Release::OLDEST)
            && peer_memory(facts, **r) == Ok(true)
    });
    match sees {
        Some(release) => finding.fix(format!(
            "use NCCL {release} or newer, which sees the module"
        )),
        None => finding
            .fix("load it again after the RDMA stack, so that it can register")
            .command(format!("modprobe -r {module} && modprobe {module}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::gpu::fixture::{Given, findings, gpus, hca, run};
    use super::PEERMEM_UNSEEN;
    use crate::checks::{Severity, Verdict};
    use crate::nccl::release::Release;

    const LOADED: &str = "sys/module/nvidia_peermem/version = 535.161.08\n";

    fn verdict(base: String, releases: &[Release]) -> Verdict {
        run(
            &PEERMEM_UNSEEN,
            &Given {
                lines: base + &hca(1),
                releases,
                ..Given::default()
            },
        )
    }

    #[test]
    fn the_release_decides() {
        let old = [Release::new(2, 22, 3)];
        let new = [Release::new(2, 23, 4)];
        let found = findings(verdict(gpus(1) + LOADED, &old));
        assert_eq!(found[0].severity, Severity::Warning);
        assert_eq!(found[0].subject, "nvidia_peermem");
        let fix = found[0].remedy.as_ref().map(|r| r.text.as_str());
        assert_eq!(fix, Some("use NCCL 2.23.4 or newer, which sees the module"));
        assert_eq!(verdict(gpus(1) + LOADED, &new), Verdict::Passed(1));
        let registered = gpus(1) + LOADED + "sys/kernel/mm/memory_peers/nv_mem/version = 1.0\n";
        assert_eq!(verdict(registered, &old), Verdict::Passed(1));
        assert!(matches!(
            verdict(gpus(1) + LOADED, &[]),
            Verdict::NotApplicable(_)
        ));
        assert!(matches!(verdict(gpus(1), &old), Verdict::NotApplicable(_)));
    }

    #[test]
    fn with_dma_buf_it_is_a_note() {
        let open = gpus(1).replace("x86_64 Kernel Module", "Open Kernel Module for x86_64");
        let found = findings(verdict(open + LOADED, &[Release::new(2, 22, 3)]));
        assert_eq!(found[0].severity, Severity::Note);
    }

    #[test]
    fn a_module_that_no_release_sees_has_to_register() {
        let lines = gpus(1) + "dir sys/module\nproc/modules = nv_peer_mem 1 0 - Live 0x0\n";
        let found = findings(verdict(lines, &[Release::new(2, 27, 7)]));
        assert_eq!(found[0].subject, "nv_peer_mem");
        assert!(found[0].remedy.as_ref().unwrap().command.is_some());
    }
}
