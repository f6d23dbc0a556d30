//! The report as JSON, schema 1. Every check appears, also those that passed: absence is never meaning.

use std::io::Write;

use serde::Serialize;

use super::Context;
use crate::checks::{Finding, Report, Verdict};
use crate::model::Unread;
use crate::report::json;
use crate::roles::Role;

#[derive(Debug, Serialize)]
struct Body<'a> {
    root: &'a str,
    container: Option<&'a str>,
    gpus: usize,
    data_ports: Vec<String>,
    summary: SummaryJson,
    checks: Vec<CheckJson<'a>>,
}

/// Numbers of a report.
#[derive(Debug, Serialize)]
pub(crate) struct SummaryJson {
    checks: usize,
    passed: usize,
    found: usize,
    not_applicable: usize,
    unknown: usize,
    errors: usize,
    warnings: usize,
    notes: usize,
}

/// A check in the report.
#[derive(Debug, Serialize)]
pub(crate) struct CheckJson<'a> {
    id: &'static str,
    title: &'static str,
    severity: &'static str,
    verdict: &'static str,
    /// How many things were looked at, of a check that passed.
    looked_at: Option<usize>,
    /// Why there was nothing to look at.
    reason: Option<&'static str>,
    findings: Vec<FindingJson<'a>>,
    unread: Vec<UnreadJson>,
}

#[derive(Debug, Serialize)]
struct FindingJson<'a> {
    severity: &'static str,
    subject: &'a str,
    message: &'a str,
    evidence: Vec<EvidenceJson<'a>>,
    remedy: Option<RemedyJson<'a>>,
}

#[derive(Debug, Serialize)]
struct EvidenceJson<'a> {
    source: &'a str,
    value: &'a str,
}

#[derive(Debug, Serialize)]
struct RemedyJson<'a> {
    text: &'a str,
    command: Option<&'a str>,
    set: std::collections::BTreeMap<&'a str, &'a str>,
}

#[derive(Debug, Serialize)]
struct UnreadJson {
    path: String,
    reason: String,
    errno: Option<i32>,
}

pub(super) fn write(report: &Report, cx: &Context, out: &mut dyn Write) -> std::io::Result<()> {
    let body = Body {
        root: cx.root,
        container: cx.node.container.as_deref(),
        gpus: cx.node.gpus().len(),
        data_ports: cx
            .decision
            .ports
            .iter()
            .filter(|p| p.role == Role::Data)
            .map(|p| p.key.to_string())
            .collect(),
        summary: summary_json(report),
        checks: report.outcomes.iter().map(check_json).collect(),
    };
    if cx.compact {
        json::write_line(cx.node, body, out)
    } else {
        json::write(cx.node, body, out)
    }
}

/// The numbers of a report.
pub(crate) fn summary_json(report: &Report) -> SummaryJson {
    let summary = report.summary();
    SummaryJson {
        checks: summary.checks,
        passed: summary.passed,
        found: summary.found,
        not_applicable: summary.not_applicable,
        unknown: summary.unknown,
        errors: summary.errors,
        warnings: summary.warnings,
        notes: summary.notes,
    }
}

/// A check and what it came to.
pub(crate) fn check_json(outcome: &crate::checks::Outcome) -> CheckJson<'_> {
    let (verdict, looked_at, reason, findings, unread): (_, _, _, &[Finding], &[Unread]) =
        match &outcome.verdict {
            Verdict::Passed(n) => ("passed", Some(*n), None, &[], &[]),
            Verdict::NotApplicable(why) => ("not_applicable", None, Some(*why), &[], &[]),
            Verdict::Unknown(unread) => ("unknown", None, None, &[], unread),
            Verdict::Found(findings, unread) => ("found", None, None, findings, unread),
        };
    CheckJson {
        id: outcome.check.id,
        title: outcome.check.title,
        severity: outcome.check.severity.word(),
        verdict,
        looked_at,
        reason,
        findings: findings.iter().map(finding).collect(),
        unread: unread
            .iter()
            .map(|u| UnreadJson {
                path: format!("/{}", u.path.trim_start_matches('/')),
                reason: u.why.to_string(),
                errno: u.errno(),
            })
            .collect(),
    }
}

fn finding(finding: &Finding) -> FindingJson<'_> {
    FindingJson {
        severity: finding.severity.word(),
        subject: &finding.subject,
        message: &finding.message,
        evidence: finding
            .evidence
            .iter()
            .map(|e| EvidenceJson {
                source: &e.source,
                value: &e.value,
            })
            .collect(),
        remedy: finding.remedy.as_ref().map(|r| RemedyJson {
            text: &r.text,
            command: r.command.as_deref(),
            set: r
                .set
                .iter()
                .map(|(n, v)| (n.as_str(), v.as_str()))
                .collect(),
        }),
    }
}
