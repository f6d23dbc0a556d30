//! `limits.open-files`

use super::{has_rdma, written};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::health::Limit;

declare_check! {
    OPEN_FILES = "limits" / "open-files",
    title: "too few files may be open for the sockets of a large job",
    severity: Warning,
    since: "0.1.0",
    subject: Node,
    reads: ["proc/self/limits"],
    run: open_files,
}

fn open_files(facts: &Facts) -> Verdict {
    let mut seen = Collector::default();
    let limits = &facts.health.limits;
    if facts.node.gpus().is_empty() && !has_rdma(facts) {
        return seen.verdict("neither a GPU nor an RDMA device here");
    }
    let Some(&soft) = seen.value(&limits.open_files_soft) else {
        return seen.verdict("");
    };
    seen.look();
    let wanted = facts.thresholds.get("open-files");
    let enough = |limit: Limit| match limit {
        Limit::Unlimited => true,
        Limit::Value(files) => files >= wanted,
    };
    if enough(soft) {
        return seen.verdict("");
    }
    let Some(&hard) = seen.value(&limits.open_files_hard) else {
        return seen.verdict("");
    };
    let finding = |severity, message: String| {
        Finding::new(severity, "open files", message).file(
            "proc/self/limits",
            format!("Max open files {} {}", written(soft), written(hard)),
        )
    };
    // NCCL's bootstrap raises its own limit; other libraries of a job do not.
    seen.find(if enough(hard) {
        finding(
            Severity::Note,
            format!("soft limit {} is below {wanted}; NCCL raises it to the hard one", written(soft)),
        )
        .fix("raise it for the job's other libraries too")
        .command("ulimit -n $(ulimit -H -n)")
    } else {
        let low = finding(
            Severity::Warning,
            format!("hard limit {} is below {wanted}: a large job runs out of sockets", written(hard)),
        );
        if facts.node.container.is_some() {
            low.fix("docker run --ulimit nofile; for pods raise LimitNOFILE of the container runtime")
                .command("docker run --ulimit nofile=1048576:1048576 IMAGE")
        } else {
            low.fix("set LimitNOFILE in the unit that starts jobs (slurmd, kubelet, containerd) and restart it")
                .command("systemctl edit slurmd")
        }
    });
    seen.verdict("")
}

#[cfg(test)]
mod tests {
    use super::OPEN_FILES;
    use crate::checks::net::fixture::{Bench, denied};
    use crate::checks::{Severity, Verdict};
    use crate::model::health::Limit;

    fn bench(soft: u64, hard: Limit) -> Bench {
        let mut bench = Bench::new();
        bench.gpu("pci0000:17/0000:18:00.0", 0);
        bench.health.limits.open_files_soft = Ok(Limit::Value(soft));
        bench.health.limits.open_files_hard = Ok(hard);
        bench
    }

    #[test]
    fn the_soft_limit_alone_is_only_noted() {
        let findings = bench(1024, Limit::Value(1_048_576)).findings(&OPEN_FILES);
        assert_eq!(findings[0].severity, Severity::Note);
        let findings = bench(1024, Limit::Unlimited).findings(&OPEN_FILES);
        assert_eq!(findings[0].severity, Severity::Note);
    }

    #[test]
    fn a_low_hard_limit_is_a_warning() {
        let mut bench = bench(1024, Limit::Value(4096));
        let findings = bench.findings(&OPEN_FILES);
        assert_eq!(findings[0].severity, Severity::Warning);
        assert!(findings[0].message.contains("4096"));
        bench.node.container = Some("/.dockerenv".into());
        let findings = bench.findings(&OPEN_FILES);
        assert!(findings[0].remedy.as_ref().unwrap().text.contains("docker"));
    }

    #[test]
    fn enough_is_enough() {
        let mut bench = bench(65_536, Limit::Value(65_536));
        assert_eq!(bench.run(&OPEN_FILES), Verdict::Passed(1));
        bench.health.limits.open_files_soft = denied("proc/self/limits");
        assert!(matches!(bench.run(&OPEN_FILES), Verdict::Unknown(_)));
        assert!(matches!(
            Bench::new().run(&OPEN_FILES),
            Verdict::NotApplicable(_)
        ));
    }
}
