//! Metrics in the text format of Prometheus, for node_exporter's textfile collector. No time stamps, which it refuses.

use std::fmt::Write as _;

use super::Context;
use crate::checks::{Report, Severity, Verdict};
use crate::roles::Role;

pub(super) fn text(report: &Report, cx: &Context) -> String {
    let mut out = String::new();
    metric(&mut out, "rdmactl_build_info", "Version of rdmactl.");
    let _ = writeln!(
        out,
        "rdmactl_build_info{{version=\"{}\"}} 1",
        env!("CARGO_PKG_VERSION")
    );
    metric(&mut out, "rdmactl_gpus", "GPUs on PCI.");
    let _ = writeln!(out, "rdmactl_gpus {}", cx.node.gpus().len());
    metric(&mut out, "rdmactl_ports", "RDMA ports by role.");
    for role in [Role::Data, Role::Main, Role::Other, Role::Unusable] {
        let n = cx.decision.ports.iter().filter(|p| p.role == role).count();
        let _ = writeln!(out, "rdmactl_ports{{role=\"{}\"}} {n}", role.word());
    }
    metric(
        &mut out,
        "rdmactl_check_findings",
        "Findings of a check by severity.",
    );
    for outcome in &report.outcomes {
        let findings = match &outcome.verdict {
            Verdict::Found(findings, _) => findings.as_slice(),
            Verdict::Passed(_) => &[],
            _ => continue,
        };
        for severity in [Severity::Error, Severity::Warning, Severity::Note] {
            let n = findings.iter().filter(|f| f.severity == severity).count();
            let _ = writeln!(
                out,
                "rdmactl_check_findings{{check=\"{}\",severity=\"{}\"}} {n}",
                label(outcome.check.id),
                severity.word()
            );
        }
    }
    metric(
        &mut out,
        "rdmactl_check_unknown",
        "1 where a check could not look.",
    );
    for outcome in &report.outcomes {
        let unknown = matches!(outcome.verdict, Verdict::Unknown(_));
        let _ = writeln!(
            out,
            "rdmactl_check_unknown{{check=\"{}\"}} {}",
            label(outcome.check.id),
            u8::from(unknown)
        );
    }
    out
}

fn metric(out: &mut String, name: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge");
}

fn label(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
