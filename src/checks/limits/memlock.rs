//! `limits.memlock`

use super::{amount, has_rdma, written};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::errno_text;
use crate::model::health::Limit;

declare_check! {
    MEMLOCK = "limits" / "memlock",
    title: "too little memory may be locked for registration with RDMA devices",
    severity: Error,
    since: "0.1.0",
    subject: Node,
    reads: ["proc/self/limits", "proc/self/status", "proc/self/uid_map"],
    run: memlock,
}

fn memlock(facts: &Facts) -> Verdict {
    let mut seen = Collector::default();
    let limits = &facts.health.limits;
    if !has_rdma(facts) {
        return seen.verdict("no RDMA device to register memory with");
    }
    let capable = limits.has_ipc_lock();
    if capable == Ok(true) {
        seen.look();
        return refused(facts, seen, "although CAP_IPC_LOCK is effective");
    }
    let Some(&soft) = seen.value(&limits.memlock_soft) else {
        return seen.verdict("");
    };
    seen.look();
    let Limit::Value(bytes) = soft else {
        return refused(facts, seen, "although the limit is unlimited");
    };
    let severity = if bytes < facts.thresholds.get("memlock-error") {
        Severity::Error
    } else if bytes < facts.thresholds.get("memlock-warning") {
        Severity::Warning
    } else {
        return refused(facts, seen, "although the limit is above that");
    };
    // The capability would lift the limit, so a low one says nothing without it.
    if let Err(unread) = capable {
        seen.unread(unread);
        return seen.verdict("");
    }
    seen.find(too_low(facts, severity, bytes));
    seen.verdict("")
}

fn too_low(facts: &Facts, severity: Severity, bytes: u64) -> Finding {
    let limits = &facts.health.limits;
    let consequence = if severity == Severity::Error {
        "registrations fail with ENOMEM"
    } else {
        "large jobs outgrow it"
    };
    let mut finding = Finding::new(
        severity,
        "memlock",
        format!(
            "soft limit {bytes} bytes ({}) without CAP_IPC_LOCK: {consequence}",
            amount(bytes)
        ),
    )
    .file("proc/self/limits", format!("Max locked memory {bytes}"));
    if let Ok(mask) = limits.capabilities {
        finding = finding.file("proc/self/status", format!("CapEff {mask:016x}"));
    }
    if limits.user_namespace == Ok(true) {
        finding = finding.file(
            "proc/self/uid_map",
            "a user namespace: its capabilities do not count",
        );
    }
    match (&facts.node.container, &limits.memlock_hard) {
        (Some(_), _) => finding
            .fix("docker run --ulimit memlock=-1; in a pod securityContext.capabilities.add: [IPC_LOCK]")
            .command("docker run --ulimit memlock=-1 --cap-add IPC_LOCK IMAGE"),
        (None, Ok(hard)) if raises(*hard, facts) => finding
            .fix(format!(
                "raise the soft limit in the job (the hard one is {}), or for every job in its daemon's unit",
                written(*hard)
            ))
            .command("ulimit -l $(ulimit -H -l)"),
        (None, _) => finding
            .fix("set LimitMEMLOCK=infinity in the unit that starts jobs (slurmd, kubelet, containerd) and restart it")
            .command("systemctl edit slurmd"),
    }
}

/// Whether the hard limit alone would be enough.
fn raises(hard: Limit, facts: &Facts) -> bool {
    match hard {
        Limit::Unlimited => true,
        Limit::Value(bytes) => bytes >= facts.thresholds.get("memlock-warning"),
    }
}

/// The limits say that it works; the attempt on the live machine has the last word.
fn refused(facts: &Facts, mut seen: Collector, although: &str) -> Verdict {
    if let Some(Err(errno)) = facts.health.limits.lock_probe {
        seen.find(
            Finding::new(
                Severity::Error,
                "memlock",
                format!(
                    "locking 64 MiB fails with {}, {although}",
                    errno_text(errno)
                ),
            )
            .evidence("mlockall(MCL_CURRENT)", errno_text(errno))
            .fix("look for a security profile (seccomp, AppArmor, SELinux) that forbids mlock"),
        );
    }
    seen.verdict("")
}

#[cfg(test)]
mod tests {
    use super::MEMLOCK;
    use crate::checks::net::fixture::{Bench, denied};
    use crate::checks::{Severity, Verdict};
    use crate::model::health::Limit;

    fn bench(soft: Limit, capabilities: u64) -> Bench {
        let mut bench = Bench::new();
        bench.hca("mlx5_0", "pci0000:17/0000:18:00.0", None, None);
        let limits = &mut bench.health.limits;
        limits.memlock_soft = Ok(soft);
        limits.memlock_hard = Ok(soft);
        limits.capabilities = Ok(capabilities);
        bench
    }

    #[test]
    fn a_service_limit_is_an_error() {
        let findings = bench(Limit::Value(8 << 20), 0).findings(&MEMLOCK);
        assert_eq!(findings[0].severity, Severity::Error);
        assert_eq!(findings[0].subject, "memlock");
        assert!(findings[0].message.contains("8388608 bytes (8 MiB)"));
        let remedy = findings[0].remedy.as_ref().unwrap();
        assert!(remedy.text.contains("LimitMEMLOCK=infinity"));
        let findings = bench(Limit::Value(8 << 30), 0).findings(&MEMLOCK);
        assert_eq!(findings[0].severity, Severity::Warning);
    }

    #[test]
    fn the_capability_lifts_the_limit_outside_user_namespaces() {
        let mut bench = bench(Limit::Value(65_536), 1 << 14);
        assert_eq!(bench.run(&MEMLOCK), Verdict::Passed(1));
        bench.health.limits.user_namespace = Ok(true);
        let findings = bench.findings(&MEMLOCK);
        assert!(
            findings[0]
                .evidence
                .iter()
                .any(|e| e.source == "/proc/self/uid_map")
        );
    }

    #[test]
    fn containers_are_told_what_to_ask_for() {
        let mut bench = bench(Limit::Value(65_536), 0);
        bench.node.container = Some("/.dockerenv".into());
        let findings = bench.findings(&MEMLOCK);
        let remedy = findings[0].remedy.as_ref().unwrap();
        assert!(remedy.text.contains("--ulimit memlock=-1") && remedy.text.contains("IPC_LOCK"));
    }

    #[test]
    fn a_hard_limit_that_is_high_can_be_used() {
        let mut bench = bench(Limit::Value(65_536), 0);
        bench.health.limits.memlock_hard = Ok(Limit::Unlimited);
        let findings = bench.findings(&MEMLOCK);
        let remedy = findings[0].remedy.as_ref().unwrap();
        assert!(remedy.text.contains("unlimited"), "{remedy:?}");
    }

    #[test]
    fn the_attempt_has_the_last_word() {
        let mut bench = bench(Limit::Unlimited, 0);
        bench.health.limits.lock_probe = Some(Ok(()));
        assert_eq!(bench.run(&MEMLOCK), Verdict::Passed(1));
        bench.health.limits.lock_probe = Some(Err(1));
        assert!(bench.findings(&MEMLOCK)[0].message.contains("EPERM"));
    }

    #[test]
    fn what_was_not_read_is_unknown() {
        let mut bench = bench(Limit::Value(65_536), 0);
        bench.health.limits.capabilities = denied("proc/self/status");
        assert!(matches!(bench.run(&MEMLOCK), Verdict::Unknown(_)));
        bench.health.limits.memlock_soft = Ok(Limit::Unlimited);
        assert_eq!(bench.run(&MEMLOCK), Verdict::Passed(1));
        bench.health.limits.memlock_soft = denied("proc/self/limits");
        assert!(matches!(bench.run(&MEMLOCK), Verdict::Unknown(_)));
        assert!(matches!(
            Bench::new().run(&MEMLOCK),
            Verdict::NotApplicable(_)
        ));
    }
}
