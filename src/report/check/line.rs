//! The formats of one line: Nagios, node-problem-detector, LBNL NHC, Slurm.

use super::{Context, counts, one_line};
use crate::checks::{Report, Severity};
use crate::roles::Role;

/// `RDMA CRITICAL: 1 error: port.down mlx5_3/1: ... | errors=1;;0 ...`, by the Nagios plugin guidelines.
pub(super) fn nagios(report: &Report, cx: &Context) -> String {
    let summary = report.summary();
    let status = match report.worst() {
        Some(Severity::Error) => "CRITICAL",
        Some(Severity::Warning) => "WARNING",
        _ if summary.unknown > 0 && cx.strict => "UNKNOWN",
        _ => "OK",
    };
    let text = match first(report, Severity::Warning) {
        Some(finding) => format!("{}: {finding}", counts(summary)),
        None if status == "UNKNOWN" => format!("{} checks could not look", summary.unknown),
        None => format!("{} checks passed", summary.passed),
    };
    let data = cx
        .decision
        .ports
        .iter()
        .filter(|p| p.role == Role::Data)
        .count();
    format!(
        "RDMA {status}: {} | errors={};;0;0 warnings={};0;;0 unknown={};;;0 data_ports={data};;;0 gpus={};;;0\n",
        // The bar divides text from performance data.
        text.replace('|', "/"),
        summary.errors,
        summary.warnings,
        summary.unknown,
        cx.node.gpus().len()
    )
}

/// At most 80 characters, what node-problem-detector keeps of a plugin's output.
pub(super) fn npd(report: &Report) -> String {
    const MOST: usize = 80;
    let text = first(report, Severity::Warning).unwrap_or_else(|| "RDMA is fine".to_owned());
    let mut line: String = text.chars().take(MOST).collect();
    // The limit counts bytes there.
    while line.len() > MOST {
        line.pop();
    }
    format!("{line}\n")
}

/// A line for `die` of an NHC check.
pub(super) fn nhc(report: &Report) -> String {
    first(report, Severity::Warning).map_or_else(
        || "rdmactl: OK\n".to_owned(),
        |text| format!("rdmactl: {text}\n"),
    )
}

/// The reason of a drained node; nothing where there is none.
pub(super) fn slurm(report: &Report, fail_on: Severity) -> String {
    const MOST: usize = 200;
    first(report, fail_on).map_or_else(String::new, |text| {
        let line: String = text.chars().take(MOST).collect();
        format!("rdmactl: {line}\n")
    })
}

/// The first finding from a severity on, and how many more there are.
fn first(report: &Report, from: Severity) -> Option<String> {
    let mut findings = report.findings().filter(|(_, f)| f.severity >= from);
    let (check, finding) = findings.next()?;
    let more = match findings.count() {
        0 => String::new(),
        n => format!(" (+{n} more)"),
    };
    let subject = if finding.message.contains(&finding.subject) {
        String::new()
    } else {
        format!(" {}", finding.subject)
    };
    Some(one_line(&format!(
        "{}{subject}{more}: {}",
        check.id, finding.message
    )))
}
