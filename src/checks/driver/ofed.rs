//! `driver.ofed`

use super::version::{hold, remedy, required};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::health::{Answer, StackKind};
use crate::model::{Unread, Why};

declare_check! {
    OFED = "driver" / "ofed",
    title: "the RDMA stack is not the one that is required, or cannot say what it is",
    severity: Error,
    since: "0.1.0",
    subject: Node,
    reads: ["proc/sys/kernel/osrelease"],
    run: ofed,
}

fn ofed(facts: &Facts) -> Verdict {
    let mut seen = Collector::default();
    if required(facts, "kernel").next().is_some()
        && let Some(release) = seen.value(&facts.health.kernel.release)
    {
        hold(
            facts,
            "kernel",
            release,
            "/proc/sys/kernel/osrelease",
            &mut seen,
        );
    }
    match &facts.health.vendor.ofed {
        Answer::Given { value, path } => {
            seen.look();
            hold(facts, "ofed", &value.version, path, &mut seen);
            if value.kind == StackKind::DocaOfed {
                hold(facts, "doca", &value.version, path, &mut seen);
            } else {
                lacks(
                    facts,
                    "doca",
                    value.kind.word(),
                    path,
                    &value.line,
                    &mut seen,
                );
            }
        }
        Answer::Broken { what, path, .. } => {
            seen.look();
            seen.find(
                Finding::new(
                    Severity::Warning,
                    "ofed_info",
                    format!("the RDMA stack's version is not known: ofed_info {what}"),
                )
                .evidence(path, what)
                .fix(
                    "run it by hand; a stack that was removed in part leaves such a program behind",
                )
                .command("ofed_info -s"),
            );
        }
        Answer::Absent(why) => without_program(facts, why, &mut seen),
    }
    seen.verdict("no RDMA device, or the host's stack does not show here")
}

/// No `ofed_info`: the distribution's own stack, which is fine unless something else is required.
fn without_program(facts: &Facts, why: &str, seen: &mut Collector) {
    let asked = ["ofed", "doca"]
        .iter()
        .any(|what| required(facts, what).next().is_some());
    let elsewhere = facts.node.container.is_some() || why != "not installed";
    if asked && elsewhere {
        // The kernel's side is the host's, and its program is not in the image or the copy.
        seen.unread(&Unread::new("usr/bin/ofed_info", Why::Absent));
        return;
    }
    // A copy without the answer, and a container's image, say nothing of the host's stack.
    if !facts.node.hcas().is_empty() && !elsewhere {
        seen.look();
    }
    for what in ["ofed", "doca"] {
        let kernel = facts.health.kernel.release.as_deref().unwrap_or("unknown");
        let stack = "the distribution's own stack";
        lacks(
            facts,
            what,
            stack,
            "/proc/sys/kernel/osrelease",
            kernel,
            seen,
        );
    }
}

/// Another stack than the required one.
fn lacks(
    facts: &Facts,
    what: &'static str,
    stack: &str,
    source: &str,
    value: &str,
    seen: &mut Collector,
) {
    for requirement in required(facts, what) {
        seen.look();
        seen.find(
            Finding::new(
                Severity::Error,
                what,
                format!("{requirement} is required, and this is {stack}"),
            )
            .evidence(source, value)
            .fix(remedy(requirement)),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::gpu::fixture::{Given, findings, hca, run};
    use super::OFED;
    use crate::checks::{Severity, Verdict};

    fn verdict(lines: &str, expect: &[&str]) -> Verdict {
        let lines = format!(
            "proc/sys/kernel/osrelease = 5.15.0-105-generic\n{}{lines}",
            hca(1)
        );
        run(
            &OFED,
            &Given {
                lines,
                expect,
                ..Given::default()
            },
        )
    }

    fn messages(lines: &str, expect: &[&str]) -> Vec<String> {
        findings(verdict(lines, expect))
            .into_iter()
            .map(|f| f.message)
            .collect()
    }

    const MLNX: &str = "commands/ofed_info.stdout = MLNX_OFED_LINUX-5.8-1.1.2.1:\n";
    const DOCA: &str = "commands/ofed_info.stdout = OFED-internal-25.10-1.7.1:\n";

    const INBOX: &str = "commands/ofed_info.exit = not-found\n";

    #[test]
    fn every_stack_passes_without_requirement() {
        for lines in [MLNX, DOCA, INBOX] {
            assert_eq!(verdict(lines, &[]), Verdict::Passed(1), "{lines}");
        }
        assert!(matches!(
            run(&OFED, &Given::default()),
            Verdict::NotApplicable(_)
        ));
    }

    #[test]
    fn requirements_compare_as_versions_and_by_stack() {
        assert_eq!(verdict(MLNX, &["ofed>=5.8"]), Verdict::Passed(2));
        assert_eq!(
            verdict(DOCA, &["ofed>=24.10", "doca>=25.04"]),
            Verdict::Passed(3)
        );
        assert_eq!(
            messages(MLNX, &["ofed>=23.10"]),
            ["ofed>=23.10 is required, and this is 5.8-1.1.2.1"]
        );
        assert_eq!(
            messages(MLNX, &["doca>=25.04"]),
            ["doca>=25.04 is required, and this is MLNX_OFED"]
        );
        assert_eq!(
            messages(INBOX, &["ofed>=5.8"]),
            ["ofed>=5.8 is required, and this is the distribution's own stack"]
        );
        assert_eq!(verdict("", &["kernel>=5.12"]), Verdict::Passed(1));
        assert_eq!(
            messages("", &["kernel>=6.1"]),
            ["kernel>=6.1 is required, and this is 5.15.0-105-generic"]
        );
    }

    #[test]
    fn a_copy_without_the_program_cannot_say_that_a_requirement_is_missed() {
        assert!(matches!(verdict("", &["ofed>=5.8"]), Verdict::Unknown(_)));
    }

    #[test]
    fn a_program_that_says_nothing_is_a_warning() {
        for broken in [
            "commands/ofed_info.stdout = dpkg-query: no packages found\n",
            "commands/ofed_info.exit = hung 5\n",
        ] {
            let found = findings(verdict(broken, &[]));
            assert_eq!(found[0].severity, Severity::Warning, "{broken}");
        }
    }
}
