//! `sys.cma`

use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};

declare_check! {
    CMA = "sys" / "cma",
    title: "an Arm kernel on which registrations fail with ENOMEM whatever memlock says",
    severity: Warning,
    since: "0.1.0",
    subject: Node,
    reads: ["proc/meminfo", "proc/sys/kernel/arch", "proc/cpuinfo", "proc/cmdline"],
    run: cma,
}

fn cma(facts: &Facts) -> Verdict {
    let mut seen = Collector::default();
    let kernel = &facts.health.kernel;
    if facts.node.hcas().is_empty() {
        return seen.verdict("no RDMA device to register memory with");
    }
    match &kernel.is_arm {
        Ok(true) => {}
        Ok(false) => return seen.verdict("not an Arm machine"),
        Err(unread) if unread.is_absent() => {
            return seen.verdict("nothing says that this is an Arm machine");
        }
        Err(unread) => {
            seen.unread(unread);
            return seen.verdict("");
        }
    }
    match &kernel.cma_total_kb {
        Ok(total) => {
            seen.look();
            if let Some(finding) = judge(facts, *total) {
                seen.find(finding);
            }
        }
        Err(unread) if unread.is_absent() => {
            return seen.verdict("this kernel has no contiguous memory allocator");
        }
        Err(unread) => seen.unread(unread),
    }
    seen.verdict("")
}

/// Kexec handover sets memory aside as contiguous memory that `CmaTotal` does not count; pinning under pressure cannot
/// move pages out of it.
fn judge(facts: &Facts, total: u64) -> Option<Finding> {
    let kernel = &facts.health.kernel;
    let free = kernel.cma_free_kb.as_ref().ok().copied();
    let without_handover = kernel
        .cmdline
        .as_ref()
        .is_ok_and(|line| line.split_whitespace().any(|word| word == "kho=off"));
    let (severity, message) = match free {
        Some(free) if free > total => (
            Severity::Warning,
            format!("{free} kB of CmaFree are more than CmaTotal ({total} kB): pinning memory fails with ENOMEM"),
        ),
        _ if total == 0 && !without_handover => (
            Severity::Note,
            "0 kB on this Arm kernel: on some, registrations fail with ENOMEM whatever memlock says"
                .to_owned(),
        ),
        _ => return None,
    };
    let mut finding = Finding::new(severity, "CmaTotal", message)
        .file("proc/meminfo", format!("CmaTotal: {total} kB"));
    if let Some(free) = free {
        finding = finding.file("proc/meminfo", format!("CmaFree: {free} kB"));
    }
    if let Ok(release) = &kernel.release {
        finding = finding.file("proc/sys/kernel/osrelease", release);
    }
    Some(finding.fix(if severity == Severity::Warning {
        "start the kernel with kho=off: kexec handover takes this memory"
    } else {
        "if registrations fail, start the kernel with kho=off, or start another kernel"
    }))
}

#[cfg(test)]
mod tests {
    use super::CMA;
    use crate::checks::net::fixture::{Bench, absent, denied};
    use crate::checks::{Severity, Verdict};

    fn bench(total: u64, is_arm: bool) -> Bench {
        let mut bench = Bench::new();
        bench.hca("rocep1s0f0", "pci0000:00/0000:01:00.0", None, None);
        bench.health.kernel.cma_total_kb = Ok(total);
        bench.health.kernel.is_arm = Ok(is_arm);
        bench
    }

    #[test]
    fn memory_that_the_total_does_not_count_is_a_warning() {
        let mut bench = bench(0, true);
        bench.health.kernel.cma_free_kb = Ok(940_604);
        let findings = bench.findings(&CMA);
        assert_eq!(findings[0].subject, "CmaTotal");
        assert_eq!(findings[0].severity, Severity::Warning);
        assert!(
            findings[0]
                .remedy
                .as_ref()
                .unwrap()
                .text
                .contains("kho=off")
        );
    }

    #[test]
    fn none_at_all_is_noted_unless_it_was_asked_for() {
        let mut bench = bench(0, true);
        bench.health.kernel.cma_free_kb = Ok(0);
        assert_eq!(bench.findings(&CMA)[0].severity, Severity::Note);
        bench.health.kernel.cmdline = Ok("root=/dev/sda1 kho=off".into());
        assert_eq!(bench.run(&CMA), Verdict::Passed(1));
    }

    #[test]
    fn other_kernels_pass() {
        assert_eq!(bench(131_072, true).run(&CMA), Verdict::Passed(1));
        assert!(matches!(
            bench(0, false).run(&CMA),
            Verdict::NotApplicable(_)
        ));
    }

    #[test]
    fn absence_and_refusal_differ() {
        let mut bench = bench(0, true);
        bench.health.kernel.cma_total_kb = absent("proc/meminfo");
        assert!(matches!(bench.run(&CMA), Verdict::NotApplicable(_)));
        bench.health.kernel.cma_total_kb = denied("proc/meminfo");
        assert!(matches!(bench.run(&CMA), Verdict::Unknown(_)));
        bench.health.kernel.is_arm = denied("proc/cpuinfo");
        assert!(matches!(bench.run(&CMA), Verdict::Unknown(_)));
    }
}
