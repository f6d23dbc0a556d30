//! Runs checks and sums up.

use super::{Check, Facts, Severity, Verdict};

/// A check and what it came to.
pub(crate) struct Outcome {
    /// The check.
    pub(crate) check: &'static Check,
    /// What it came to.
    pub(crate) verdict: Verdict,
}

/// Every check's outcome, in the catalogue's order.
pub(crate) struct Report {
    /// The outcomes.
    pub(crate) outcomes: Vec<Outcome>,
}

/// Numbers of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Checks that were run.
    pub(crate) checks: usize,
    /// Of these: passed.
    pub(crate) passed: usize,
    /// Of these: found something.
    pub(crate) found: usize,
    /// Of these: nothing to look at.
    pub(crate) not_applicable: usize,
    /// Of these: could not look.
    pub(crate) unknown: usize,
    /// Findings that are errors.
    pub(crate) errors: usize,
    /// Findings that are warnings.
    pub(crate) warnings: usize,
    /// Findings that are notes.
    pub(crate) notes: usize,
}

/// Runs the checks in the order given.
pub(crate) fn run(checks: &[&'static Check], facts: &Facts) -> Report {
    Report {
        outcomes: checks
            .iter()
            .map(|check| Outcome {
                check,
                verdict: (check.run)(facts),
            })
            .collect(),
    }
}

impl Report {
    /// Counts.
    pub(crate) fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        for outcome in &self.outcomes {
            summary.checks += 1;
            match &outcome.verdict {
                Verdict::Passed(_) => summary.passed += 1,
                Verdict::NotApplicable(_) => summary.not_applicable += 1,
                Verdict::Unknown(_) => summary.unknown += 1,
                Verdict::Found(findings, _) => {
                    summary.found += 1;
                    for finding in findings {
                        match finding.severity {
                            Severity::Error => summary.errors += 1,
                            Severity::Warning => summary.warnings += 1,
                            Severity::Note => summary.notes += 1,
                        }
                    }
                }
            }
        }
        summary
    }

    /// The worst severity that was found.
    pub(crate) fn worst(&self) -> Option<Severity> {
        self.findings().map(|(_, f)| f.severity).max()
    }

    /// Every finding with its check, worst first, then in the catalogue's order.
    pub(crate) fn findings(&self) -> impl Iterator<Item = (&'static Check, &super::Finding)> {
        let mut all: Vec<(&'static Check, &super::Finding)> = self
            .outcomes
            .iter()
            .flat_map(|o| match &o.verdict {
                Verdict::Found(findings, _) => findings.iter().map(|f| (o.check, f)).collect(),
                _ => Vec::new(),
            })
            .collect();
        all.sort_by_key(|(_, f)| std::cmp::Reverse(f.severity));
        all.into_iter()
    }
}
