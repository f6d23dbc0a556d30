//! `limits.ipc-lock`

use super::{has_rdma, written};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::health::Limit;

declare_check! {
    IPC_LOCK = "limits" / "ipc-lock",
    title: "a container without CAP_IPC_LOCK depends on its limit of locked memory",
    severity: Warning,
    since: "0.1.0",
    subject: Node,
    reads: ["proc/self/status", "proc/self/limits", "proc/self/uid_map"],
    run: ipc_lock,
}

fn ipc_lock(facts: &Facts) -> Verdict {
    let mut seen = Collector::default();
    let limits = &facts.health.limits;
    let Some(sign) = &facts.node.container else {
        return seen.verdict("not in a container");
    };
    if !has_rdma(facts) {
        return seen.verdict("no RDMA device to register memory with");
    }
    match limits.has_ipc_lock() {
        Ok(true) => {
            seen.look();
            return seen.verdict("");
        }
        Ok(false) => {}
        Err(unread) => {
            seen.unread(unread);
            return seen.verdict("");
        }
    }
    let Some(&soft) = seen.value(&limits.memlock_soft) else {
        return seen.verdict("");
    };
    seen.look();
    if soft == Limit::Unlimited {
        return seen.verdict("");
    }
    // Granted to the container, and lost because the process is no root.
    let granted = limits.could_have_ipc_lock() == Ok(true)
        && limits.user_namespace != Ok(true)
        && limits.euid.as_ref().is_ok_and(|id| *id != 0);
    let mut finding = Finding::new(
        Severity::Warning,
        "CAP_IPC_LOCK",
        if granted {
            "granted to the container, but not effective for a process that is not root".to_owned()
        } else if limits.user_namespace == Ok(true) {
            format!(
                "counts for nothing in a user namespace, and memlock is {}",
                written(soft)
            )
        } else {
            format!(
                "not effective in this container, and memlock is {}",
                written(soft)
            )
        },
    );
    if let Ok(mask) = limits.capabilities {
        finding = finding.file("proc/self/status", format!("CapEff {mask:016x}"));
    }
    if let (true, Ok(mask), Ok(id)) = (granted, &limits.bounding, &limits.euid) {
        finding = finding.file(
            "proc/self/status",
            format!("CapBnd {mask:016x}, effective user {id}"),
        );
    }
    finding = finding
        .file(
            "proc/self/limits",
            format!("Max locked memory {}", written(soft)),
        )
        .evidence(sign, "a container");
    seen.find(if granted {
        finding
            .fix("run the job as root in the container, or raise the runtime's default limit of locked memory")
            .command("docker run --ulimit memlock=-1 IMAGE")
    } else {
        finding
            .fix("docker run --cap-add IPC_LOCK; in a pod securityContext.capabilities.add: [IPC_LOCK]")
            .command("docker run --cap-add IPC_LOCK --ulimit memlock=-1 IMAGE")
    });
    seen.verdict("")
}

#[cfg(test)]
mod tests {
    use super::IPC_LOCK;
    use crate::checks::Verdict;
    use crate::checks::net::fixture::{Bench, denied};
    use crate::model::health::Limit;

    fn bench() -> Bench {
        let mut bench = Bench::new();
        bench.hca("mlx5_0", "pci0000:17/0000:18:00.0", None, None);
        bench.node.container = Some("/.dockerenv".into());
        let limits = &mut bench.health.limits;
        limits.memlock_soft = Ok(Limit::Value(8 << 20));
        limits.capabilities = Ok(0xa804_25fb);
        limits.bounding = Ok(0xa804_25fb);
        limits.euid = Ok(0);
        bench
    }

    #[test]
    fn dockers_default_set_lacks_it() {
        let findings = bench().findings(&IPC_LOCK);
        assert_eq!(findings[0].subject, "CAP_IPC_LOCK");
        assert!(findings[0].message.contains("8388608"));
    }

    #[test]
    fn it_is_not_needed_where_there_is_no_limit() {
        let mut bench = bench();
        bench.health.limits.memlock_soft = Ok(Limit::Unlimited);
        assert_eq!(bench.run(&IPC_LOCK), Verdict::Passed(1));
    }

    #[test]
    fn a_plain_user_does_not_get_what_the_container_has() {
        let mut bench = bench();
        bench.health.limits.capabilities = Ok(0);
        bench.health.limits.bounding = Ok(1 << 14);
        bench.health.limits.euid = Ok(1000);
        let findings = bench.findings(&IPC_LOCK);
        assert!(findings[0].message.starts_with("granted"), "{findings:?}");
    }

    #[test]
    fn a_user_namespace_makes_it_worthless() {
        let mut bench = bench();
        bench.health.limits.capabilities = Ok(1 << 14);
        assert_eq!(bench.run(&IPC_LOCK), Verdict::Passed(1));
        bench.health.limits.user_namespace = Ok(true);
        assert!(bench.findings(&IPC_LOCK)[0].message.contains("namespace"));
    }

    #[test]
    fn hosts_are_not_asked_and_refusals_are_unknown() {
        let mut bench = bench();
        bench.health.limits.capabilities = denied("proc/self/status");
        assert!(matches!(bench.run(&IPC_LOCK), Verdict::Unknown(_)));
        bench.node.container = None;
        assert!(matches!(bench.run(&IPC_LOCK), Verdict::NotApplicable(_)));
    }
}
