//! Workflow commands of GitHub Actions: `::error title=ID::MESSAGE`.

use std::fmt::Write as _;

use crate::checks::{Report, Severity};
use crate::report::escape;

pub(super) fn text(report: &Report) -> String {
    let mut out = String::new();
    for (check, finding) in report.findings() {
        let level = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "notice",
        };
        let fix = finding
            .remedy
            .as_ref()
            .map(|r| format!("\nfix: {}", r.text))
            .unwrap_or_default();
        let message = format!("{}: {}{fix}", finding.subject, finding.message);
        let _ = writeln!(
            out,
            "::{level} title={}::{}",
            property(check.id),
            data(&message)
        );
    }
    out
}

/// Escapes the message of a workflow command.
fn data(text: &str) -> String {
    escape(text)
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Escapes a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
