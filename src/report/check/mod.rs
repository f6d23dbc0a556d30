//! A report of checks in each format. A new format is one file here and one line in `Format`.

mod github;
mod json;
mod junit;
mod line;
mod prometheus;
mod text;

pub(crate) use json::{CheckJson, SummaryJson, check_json, summary_json};
pub(crate) use text::{write_end, write_findings};

use std::io::Write;

use crate::checks::{Report, Severity, Summary};
use crate::exit::Exit;
use crate::model::Node;
use crate::report::Style;
use crate::roles::Decision;

/// `--format` of `check`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people: most serious first, each with evidence and the fix
    #[default]
    Text,
    /// JSON: every check, also those that passed
    Json,
    /// JUnit XML, for CI
    Junit,
    /// GitHub Actions annotations
    Github,
    /// One line and performance data; exit 0 ok, 1 warning, 2 critical, 3 unknown
    Nagios,
    /// One line of at most 80 characters for node-problem-detector; exit 0 ok, 1 problem, 2 unknown
    Npd,
    /// One line for LBNL Node Health Check
    Nhc,
    /// One line as a drain reason for Slurm; nothing when the node is fine
    Slurm,
    /// Metrics for node_exporter's textfile collector
    Prometheus,
}

/// What a report is printed with.
pub(crate) struct Context<'a> {
    /// The node.
    pub(crate) node: &'a Node,
    /// Its ports' roles.
    pub(crate) decision: &'a Decision,
    /// Colour.
    pub(crate) style: Style,
    /// Also what passed.
    pub(crate) verbose: bool,
    /// JSON in one line.
    pub(crate) compact: bool,
    /// Findings from this severity on make the command fail.
    pub(crate) fail_on: Severity,
    /// Not having been able to look makes the command fail.
    pub(crate) strict: bool,
    /// What the user calls the node: `/`, a directory or a file.
    pub(crate) root: &'a str,
}

/// Writes the report.
pub(crate) fn write(
    report: &Report,
    cx: &Context,
    format: Format,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    match format {
        Format::Text => out.write_all(text::text(report, cx).as_bytes()),
        Format::Json => json::write(report, cx, out),
        Format::Junit => out.write_all(junit::text(report).as_bytes()),
        Format::Github => out.write_all(github::text(report).as_bytes()),
        Format::Nagios => out.write_all(line::nagios(report, cx).as_bytes()),
        Format::Npd => out.write_all(line::npd(report).as_bytes()),
        Format::Nhc => out.write_all(line::nhc(report).as_bytes()),
        Format::Slurm => out.write_all(line::slurm(report, cx.fail_on).as_bytes()),
        Format::Prometheus => out.write_all(prometheus::text(report, cx).as_bytes()),
    }
}

/// How the command ends: by the format's own rules where it has some.
pub(crate) fn exit(report: &Report, cx: &Context, format: Format) -> Exit {
    const UNKNOWN: u8 = 3;
    let worst = report.worst();
    let unknown = report.summary().unknown > 0;
    match format {
        Format::Nagios => match worst {
            Some(Severity::Error) => Exit::Code(2),
            Some(Severity::Warning) => Exit::Code(1),
            _ if unknown && cx.strict => Exit::Code(UNKNOWN),
            _ => Exit::Fine,
        },
        Format::Npd => match worst {
            Some(w) if w >= cx.fail_on => Exit::Code(1),
            _ if unknown && cx.strict => Exit::Code(2),
            _ => Exit::Fine,
        },
        _ if worst.is_some_and(|w| w >= cx.fail_on) => Exit::Problems,
        _ if unknown && cx.strict => Exit::Incomplete,
        _ => Exit::Fine,
    }
}

/// `3 errors, 1 warning`; empty where nothing was found.
fn counts(summary: Summary) -> String {
    let parts = [
        (summary.errors, "error"),
        (summary.warnings, "warning"),
        (summary.notes, "note"),
    ];
    let words: Vec<String> = parts
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{n} {word}{}", if n == 1 { "" } else { "s" }))
        .collect();
    words.join(", ")
}

/// Replaces everything a line must not hold.
fn one_line(text: &str) -> String {
    let text = crate::report::escape(text);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
