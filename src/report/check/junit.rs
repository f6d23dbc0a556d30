//! JUnit XML: a test suite a family, a test case a check.

use std::fmt::Write as _;

use crate::checks::{Finding, Outcome, Report, Severity, Verdict};
use crate::report::escape;

pub(super) fn text(report: &Report) -> String {
    let mut families: Vec<(&str, Vec<&Outcome>)> = Vec::new();
    for outcome in &report.outcomes {
        let family = outcome.check.id.split('.').next().unwrap_or_default();
        match families.last_mut() {
            Some((name, list)) if *name == family => list.push(outcome),
            _ => families.push((family, vec![outcome])),
        }
    }
    let total = Counts::of(&report.outcomes.iter().collect::<Vec<_>>());
    let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let _ = writeln!(out, "<testsuites name=\"rdmactl\" {}>", total.attributes());
    for (family, outcomes) in families {
        let counts = Counts::of(&outcomes);
        let _ = writeln!(
            out,
            "  <testsuite name=\"rdmactl.{}\" {} skipped=\"{}\">",
            xml(family),
            counts.attributes(),
            counts.skipped
        );
        for outcome in outcomes {
            write_case(&mut out, family, outcome);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

struct Counts {
    tests: usize,
    failures: usize,
    skipped: usize,
}

impl Counts {
    fn of(outcomes: &[&Outcome]) -> Self {
        Self {
            tests: outcomes.len(),
            failures: outcomes.iter().filter(|o| !failures(o).is_empty()).count(),
            skipped: outcomes
                .iter()
                .filter(|o| matches!(o.verdict, Verdict::NotApplicable(_) | Verdict::Unknown(_)))
                .count(),
        }
    }

    fn attributes(&self) -> String {
        format!(
            "tests=\"{}\" failures=\"{}\" errors=\"0\"",
            self.tests, self.failures
        )
    }
}

/// Notes do not fail a test.
fn failures(outcome: &Outcome) -> Vec<&Finding> {
    match &outcome.verdict {
        Verdict::Found(findings, _) => findings
            .iter()
            .filter(|f| f.severity > Severity::Note)
            .collect(),
        _ => Vec::new(),
    }
}

fn write_case(out: &mut String, family: &str, outcome: &Outcome) {
    let id = outcome.check.id;
    let slug = id.split_once('.').map_or(id, |(_, slug)| slug);
    let _ = write!(
        out,
        "    <testcase classname=\"rdmactl.{}\" name=\"{}\"",
        xml(family),
        xml(slug)
    );
    match &outcome.verdict {
        Verdict::Passed(_) => out.push_str("/>\n"),
        Verdict::NotApplicable(why) => {
            let _ = writeln!(
                out,
                ">\n      <skipped message=\"{}\"/>\n    </testcase>",
                xml(why)
            );
        }
        Verdict::Unknown(unread) => {
            let first = unread.first().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(
                out,
                ">\n      <skipped message=\"could not look: {}\"/>\n    </testcase>",
                xml(&first)
            );
        }
        Verdict::Found(findings, _) => {
            out.push_str(">\n");
            // One `failure` a test case is what every reader understands.
            let bad = failures(outcome);
            if let Some(first) = bad.first() {
                let lines: Vec<String> = bad.iter().map(|f| whole(f)).collect();
                let _ = writeln!(
                    out,
                    "      <failure type=\"{}\" message=\"{}\">{}</failure>",
                    first.severity.word(),
                    xml(&format!("{}: {}", first.subject, first.message)),
                    xml(&lines.join("\n"))
                );
            } else {
                let lines: Vec<String> = findings.iter().map(whole).collect();
                let _ = writeln!(
                    out,
                    "      <system-out>{}</system-out>",
                    xml(&lines.join("\n"))
                );
            }
            out.push_str("    </testcase>\n");
        }
    }
}

fn whole(finding: &Finding) -> String {
    let mut text = format!(
        "{}: {}: {}",
        finding.severity.word(),
        finding.subject,
        finding.message
    );
    for item in &finding.evidence {
        let _ = write!(text, "\n  {}: {}", item.source, item.value);
    }
    if let Some(remedy) = &finding.remedy {
        let _ = write!(text, "\n  fix: {}", remedy.text);
        if let Some(command) = &remedy.command {
            let _ = write!(text, "\n  $ {command}");
        }
    }
    text
}

/// Escapes text for XML; control characters, which XML 1.0 cannot hold, are already visible escapes.
fn xml(text: &str) -> String {
    escape(text).chars().fold(String::new(), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
        out
    })
}
