//! Pages of checks, and their list.

use std::fmt::Write as _;
use std::io::Write;

use serde::Serialize;

use super::check::{CheckJson, check_json};
use super::table::{Align, Table};
use super::{Style, escape};
use crate::checks::{Check, Outcome, THRESHOLDS, Verdict, all};

/// The list of checks, family by family, and the thresholds.
pub(crate) fn index(style: Style) -> String {
    let mut table = Table::new(&[
        ("CHECK", Align::Left),
        ("WORST", Align::Left),
        ("FINDS", Align::Left),
    ]);
    for check in all() {
        table.row([check.id, check.severity.word(), check.title]);
    }
    let mut thresholds = Table::new(&[
        ("THRESHOLD", Align::Left),
        ("DEFAULT", Align::Right),
        ("UNIT", Align::Left),
        ("WHAT IT BOUNDS", Align::Left),
    ]);
    for threshold in THRESHOLDS {
        thresholds.row([
            threshold.name,
            &threshold.default.to_string(),
            threshold.unit,
            threshold.meaning,
        ]);
    }
    let mut out = String::new();
    for text in [table.text(), thresholds.text()] {
        let (head, rest) = text.split_once('\n').unwrap_or((&text, ""));
        let _ = writeln!(out, "{}\n{rest}", style.bold(head));
    }
    out
}

/// A check's page, and with an outcome what it came to here.
pub(crate) fn page(check: &Check, outcome: Option<&Outcome>, style: Style) -> String {
    let mut out = check.page.to_owned();
    let Some(outcome) = outcome else { return out };
    let _ = writeln!(out, "\n{}\n", style.bold("## On this node"));
    match &outcome.verdict {
        Verdict::Passed(n) => {
            let _ = writeln!(out, "passed: {n} looked at, nothing found");
        }
        Verdict::NotApplicable(why) => {
            let _ = writeln!(out, "not applicable: {why}");
        }
        Verdict::Unknown(unread) => {
            let _ = writeln!(out, "unknown: it could not look at");
            for one in unread {
                let _ = writeln!(out, "  {}", escape(&one.to_string()));
            }
        }
        Verdict::Found(findings, unread) => {
            for finding in findings {
                let _ = writeln!(
                    out,
                    "{}: {}: {}",
                    finding.severity.word(),
                    escape(&finding.subject),
                    escape(&finding.message)
                );
                for item in &finding.evidence {
                    let _ = writeln!(out, "  {}: {}", escape(&item.source), escape(&item.value));
                }
                if let Some(remedy) = &finding.remedy {
                    let _ = writeln!(out, "  fix: {}", escape(&remedy.text));
                    if let Some(command) = &remedy.command {
                        let _ = writeln!(out, "       $ {}", escape(command));
                    }
                }
            }
            for one in unread {
                let _ = writeln!(out, "could not look at {}", escape(&one.to_string()));
            }
        }
    }
    out
}

#[derive(Debug, Serialize)]
struct PageJson<'a> {
    id: &'static str,
    title: &'static str,
    severity: &'static str,
    since: &'static str,
    subject: &'static str,
    reads: &'static [&'static str],
    page: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    here: Option<CheckJson<'a>>,
}

fn page_body<'a>(check: &'a Check, outcome: Option<&'a Outcome>) -> PageJson<'a> {
    PageJson {
        id: check.id,
        title: check.title,
        severity: check.severity.word(),
        since: check.since,
        subject: check.subject.word(),
        reads: check.reads,
        page: check.page,
        here: outcome.map(check_json),
    }
}

/// A check's page as JSON.
pub(crate) fn page_json(
    check: &Check,
    outcome: Option<&Outcome>,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let text =
        serde_json::to_string_pretty(&page_body(check, outcome)).map_err(std::io::Error::other)?;
    writeln!(out, "{text}")
}

/// All pages as JSON.
pub(crate) fn index_json(out: &mut dyn Write) -> std::io::Result<()> {
    let pages: Vec<PageJson> = all().map(|c| page_body(c, None)).collect();
    let text = serde_json::to_string_pretty(&pages).map_err(std::io::Error::other)?;
    writeln!(out, "{text}")
}
