//! `lib.nccl`

use std::collections::BTreeSet;

use crate::checks::driver::version::{hold, required};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::nccl::release::Release;

declare_check! {
    NCCL = "lib" / "nccl",
    title: "the node has several NCCL releases, or not the one that is required",
    severity: Error,
    since: "0.1.0",
    subject: Node,
    reads: ["etc/ld.so.cache", "usr/lib/python3*/dist-packages"],
    run: nccl,
}

fn nccl(facts: &Facts) -> Verdict {
    let found = &facts.health.libraries.nccl;
    let mut seen = Collector::default();
    for (path, release) in found {
        seen.look();
        hold(facts, "nccl", &release.to_string(), path, &mut seen);
    }
    if found.is_empty() && required(facts, "nccl").next().is_some() {
        for release in facts.releases {
            hold(
                facts,
                "nccl",
                &release.to_string(),
                "--nccl-version",
                &mut seen,
            );
        }
    }
    let releases: BTreeSet<Release> = found.values().copied().collect();
    if releases.len() > 1 {
        let names: Vec<String> = releases.iter().map(ToString::to_string).collect();
        let mut finding = Finding::new(
            Severity::Note,
            "libnccl.so.2",
            format!(
                "NCCL {} are all here: a job's own search decides",
                names.join(" and ")
            ),
        );
        for (path, release) in found {
            finding = finding.evidence(path, release);
        }
        seen.find(finding.fix("NCCL_DEBUG=VERSION makes a job print which one it has loaded"));
    }
    seen.verdict("no NCCL library where the loader and Python look")
}

#[cfg(test)]
mod tests {
    use super::super::super::gpu::fixture::{Given, findings, run};
    use super::NCCL;
    use crate::checks::{Severity, Verdict};

    fn verdict(lines: &str, expect: &[&str]) -> Verdict {
        run(
            &NCCL,
            &Given {
                lines: lines.to_owned(),
                expect,
                env: &[("LD_LIBRARY_PATH", "/opt/nccl/lib")],
                ..Given::default()
            },
        )
    }

    const ONE: &str = "link opt/nccl/lib/libnccl.so.2 libnccl.so.2.21.5\n";
    const WHEEL: &str = "dir usr/lib/python3.10/dist-packages/nvidia_nccl_cu12-2.27.7.dist-info\n";

    #[test]
    fn several_are_a_note_and_a_requirement_an_error() {
        assert_eq!(verdict(ONE, &[]), Verdict::Passed(1));
        assert!(matches!(verdict("", &[]), Verdict::NotApplicable(_)));
        let both = format!("{ONE}{WHEEL}");
        let found = findings(verdict(&both, &[]));
        assert_eq!(found[0].severity, Severity::Note);
        assert!(found[0].message.contains("2.21.5 and 2.27.7"));
        let old = findings(verdict(ONE, &["nccl>=2.23"]));
        assert_eq!(old[0].severity, Severity::Error);
        assert_eq!(verdict(ONE, &["nccl>=2.21"]), Verdict::Passed(2));
    }
}
