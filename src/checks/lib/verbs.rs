//! `lib.verbs`

use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};

declare_check! {
    VERBS = "lib" / "verbs",
    title: "libibverbs.so.1 is not where the loader looks",
    severity: Error,
    since: "0.1.0",
    subject: Node,
    reads: ["etc/ld.so.cache", "usr/lib*", "lib*"],
    run: verbs,
}

fn verbs(facts: &Facts) -> Verdict {
    if facts.node.hcas().is_empty() {
        return Verdict::NotApplicable("no RDMA device");
    }
    let mut seen = Collector::default();
    match seen.value(&facts.health.libraries.verbs) {
        Some(Some(_)) => seen.look(),
        Some(None) => {
            let in_container = facts.node.container.is_some();
            let (severity, place) = if in_container {
                (Severity::Error, "in this image")
            } else {
                // Jobs in containers bring their own; only those that run on the host itself lose RDMA.
                (Severity::Warning, "on this host")
            };
            let finding = Finding::new(
                severity,
                "libibverbs.so.1",
                format!(
                    "libibverbs.so.1 is not installed {place}: NCCL leaves RDMA without an error"
                ),
            )
            .evidence("/etc/ld.so.cache", "no libibverbs.so.1");
            seen.find(if in_container {
                finding
                    .fix("install rdma-core's libraries in the image")
                    .command("apt-get install -y libibverbs1 ibverbs-providers")
            } else {
                finding
                    .fix("install rdma-core's libraries where jobs run outside containers")
                    .command("apt-get install libibverbs1 ibverbs-providers  # or: dnf install libibverbs")
            });
        }
        None => {}
    }
    seen.verdict("")
}

#[cfg(test)]
mod tests {
    use super::super::super::gpu::fixture::{Given, findings, hca, run};
    use super::VERBS;
    use crate::checks::{Severity, Verdict};

    fn verdict(lines: &str) -> Verdict {
        run(
            &VERBS,
            &Given {
                lines: hca(1) + lines,
                ..Given::default()
            },
        )
    }

    #[test]
    fn its_absence_is_worse_in_a_container() {
        assert_eq!(
            verdict("exists usr/lib64/libibverbs.so.1\n"),
            Verdict::Passed(1)
        );
        let severity = |lines: &str| findings(verdict(lines))[0].severity;
        assert_eq!(severity("dir usr/lib\n"), Severity::Warning);
        assert_eq!(
            severity("dir usr/lib\nexists .dockerenv\n"),
            Severity::Error
        );
        assert!(matches!(verdict(""), Verdict::Unknown(_)));
        let none = run(&VERBS, &Given::default());
        assert!(matches!(none, Verdict::NotApplicable(_)));
    }
}
