//! The report a person reads after SSH: most serious first, evidence, the fix, and what to do next.

use std::fmt::Write as _;

use super::{Context, counts};
use crate::checks::{Check, Finding, Report, Severity, Verdict};
use crate::model::Unread;
use crate::report::{Style, escape};
use crate::roles::Role;

/// Findings of a check that share severity and remedy are shown together; so many lines of evidence at most.
const MOST_EVIDENCE: usize = 6;
/// So many subjects of one finding are listed before the rest is counted.
const MOST_SUBJECTS: usize = 12;
/// What to do where nothing is wrong.
const NOTHING_FOUND: &str = "nothing to repair; `eval \"$(rdmactl env)\"` gives a job its settings";

pub(super) fn text(report: &Report, cx: &Context) -> String {
    let mut out = head(cx);
    write_findings(&mut out, report, cx.style);
    if cx.verbose {
        write_passed(&mut out, report, cx.style);
    }
    write_end(&mut out, report, cx.style, NOTHING_FOUND);
    out
}

/// Writes what was found, most serious first, and what could not be looked at.
pub(crate) fn write_findings(out: &mut String, report: &Report, style: Style) {
    for group in groups(report) {
        write_group(out, &group, style);
    }
    write_unknown(out, report, style);
}

/// What node this is, in one line.
fn head(cx: &Context) -> String {
    let host = cx.node.hostname.as_deref().unwrap_or("this node");
    let count = |role| cx.decision.ports.iter().filter(|p| p.role == role).count();
    let gpus = match cx.node.gpus() {
        [] => "no GPU".to_owned(),
        [_] => "1 GPU".to_owned(),
        gpus => format!("{} GPUs", gpus.len()),
    };
    let data = count(Role::Data);
    let fabric = cx
        .decision
        .fabric
        .map(|f| format!(" ({f})"))
        .unwrap_or_default();
    let ports = format!(
        "{data} data port{}{fabric}",
        if data == 1 { "" } else { "s" }
    );
    let place = if cx.node.container.is_some() {
        ", in a container"
    } else {
        ""
    };
    format!(
        "{}\n\n",
        cx.style
            .bold(format!("{}: {gpus}, {ports}{place}", escape(host)))
    )
}

/// Findings of one check with one severity and one remedy.
struct Group<'a> {
    check: &'static Check,
    severity: Severity,
    findings: Vec<&'a Finding>,
}

fn groups(report: &Report) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    for (check, finding) in report.findings() {
        let same = |g: &Group| {
            g.check.id == check.id
                && g.severity == finding.severity
                && g.findings.first().is_some_and(|f| {
                    f.remedy.as_ref().map(|r| &r.text) == finding.remedy.as_ref().map(|r| &r.text)
                })
        };
        match groups.iter_mut().find(|g| same(g)) {
            Some(group) => group.findings.push(finding),
            None => groups.push(Group {
                check,
                severity: finding.severity,
                findings: vec![finding],
            }),
        }
    }
    groups
}

fn write_group(out: &mut String, group: &Group, style: Style) {
    let label = format!("{}[{}]", group.severity.word(), group.check.id);
    let label = match group.severity {
        Severity::Error => style.error(label).to_string(),
        Severity::Warning => style.warning(label).to_string(),
        Severity::Note => style.hint(label).to_string(),
    };
    if let [only] = group.findings.as_slice() {
        let _ = writeln!(out, "{label}: {}", with_subject(only));
    } else {
        let _ = writeln!(out, "{label}: {}", group.check.title);
        for finding in group.findings.iter().take(MOST_SUBJECTS) {
            let _ = writeln!(out, "  {}", with_subject(finding));
        }
        if group.findings.len() > MOST_SUBJECTS {
            let _ = writeln!(out, "  and {} more", group.findings.len() - MOST_SUBJECTS);
        }
    }
    let evidence: Vec<_> = group.findings.iter().flat_map(|f| &f.evidence).collect();
    for item in evidence.iter().take(MOST_EVIDENCE) {
        let _ = writeln!(
            out,
            "  {} {}",
            style.dim(format!("{}:", escape(&item.source))),
            escape(&item.value)
        );
    }
    if evidence.len() > MOST_EVIDENCE {
        let _ = writeln!(
            out,
            "  {}",
            style.dim(format!("and {} more files", evidence.len() - MOST_EVIDENCE))
        );
    }
    for line in remedy_lines(&group.findings) {
        let _ = writeln!(out, "  {line}");
    }
    let _ = writeln!(
        out,
        "  {}\n",
        style.dim(format!("more: rdmactl explain {}", group.check.id))
    );
}

/// The message, with its subject before it unless it says it itself.
fn with_subject(finding: &Finding) -> String {
    if finding.message.contains(&finding.subject) || finding.subject.is_empty() {
        escape(&finding.message).into_owned()
    } else {
        escape(&format!("{}: {}", finding.subject, finding.message)).into_owned()
    }
}

fn remedy_lines(findings: &[&Finding]) -> Vec<String> {
    let Some(first) = findings.first().and_then(|f| f.remedy.as_ref()) else {
        return Vec::new();
    };
    let mut lines = vec![format!("fix: {}", escape(&first.text))];
    let mut commands: Vec<String> = Vec::new();
    for remedy in findings.iter().filter_map(|f| f.remedy.as_ref()) {
        commands.extend(
            remedy
                .command
                .iter()
                .map(|c| format!("     $ {}", escape(c))),
        );
        commands.extend(
            remedy
                .set
                .iter()
                .map(|(name, value)| format!("     {}={}", escape(name), escape(value))),
        );
    }
    commands.dedup();
    lines.extend(commands.into_iter().take(MOST_SUBJECTS));
    lines
}

/// Checks that could not look: one line each.
fn write_unknown(out: &mut String, report: &Report, style: Style) {
    let mut any = false;
    for outcome in &report.outcomes {
        let unread: &[Unread] = match &outcome.verdict {
            Verdict::Unknown(unread) | Verdict::Found(_, unread) => unread,
            _ => continue,
        };
        let Some(first) = unread.first() else {
            continue;
        };
        any = true;
        let more = match unread.len() {
            1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        let _ = writeln!(
            out,
            "{} {}{more}",
            style.dim(format!("could not look[{}]:", outcome.check.id)),
            escape(&first.to_string())
        );
    }
    if any {
        out.push('\n');
    }
}

fn write_passed(out: &mut String, report: &Report, style: Style) {
    for outcome in &report.outcomes {
        match &outcome.verdict {
            Verdict::Passed(n) => {
                let _ = writeln!(
                    out,
                    "{} {} ({n} looked at)",
                    style.good("passed"),
                    outcome.check.id
                );
            }
            Verdict::NotApplicable(why) => {
                let _ = writeln!(
                    out,
                    "{} {} ({why})",
                    style.dim("not applicable"),
                    outcome.check.id
                );
            }
            _ => {}
        }
    }
    out.push('\n');
}

/// Writes the sum, and the one thing to do next; `fine` where there is none.
pub(crate) fn write_end(out: &mut String, report: &Report, style: Style, fine: &str) {
    let summary = report.summary();
    let mut parts = vec![format!("{} passed", summary.passed)];
    let found = counts(summary);
    if !found.is_empty() {
        parts.push(found);
    }
    if summary.not_applicable > 0 {
        parts.push(format!("{} not applicable", summary.not_applicable));
    }
    if summary.unknown > 0 {
        parts.push(format!("{} unknown", summary.unknown));
    }
    let _ = writeln!(out, "{} checks: {}", summary.checks, parts.join(", "));
    let next = report
        .findings()
        .find(|(_, f)| f.severity > Severity::Note)
        .map(|(check, finding)| match finding.remedy.as_ref() {
            Some(remedy) => match (&remedy.command, remedy.set.first()) {
                (Some(command), _) => format!("{} ({})", escape(command), escape(&remedy.text)),
                (None, Some((name, value))) => {
                    escape(&format!("{name}={value} ({})", remedy.text)).into_owned()
                }
                (None, None) => escape(&remedy.text).into_owned(),
            },
            None => format!("rdmactl explain {}", check.id),
        });
    match next {
        Some(next) => {
            let _ = writeln!(out, "{} {next}", style.bold("next:"));
        }
        None if summary.unknown > 0 => {
            let _ = writeln!(
                out,
                "{} nothing was found; {} could not look (as root more can be read)",
                style.bold("next:"),
                if summary.unknown == 1 {
                    "1 check".to_owned()
                } else {
                    format!("{} checks", summary.unknown)
                }
            );
        }
        None => {
            let _ = writeln!(out, "{} {fine}", style.bold("next:"));
        }
    }
}
