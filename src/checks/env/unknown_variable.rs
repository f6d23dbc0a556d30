//! `env.unknown-variable`: a variable that NCCL does not read.

use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged, is_setting, nearest};
use crate::nccl::variables::catalogue::{all, find as find_variable, foreign};

declare_check! {
    UNKNOWN_VARIABLE = "env" / "unknown-variable",
    title: "a variable that NCCL does not read",
    severity: Warning,
    since: "0.1.0",
    subject: Variable,
    reads: ["NCCL_*", "etc/nccl.conf"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    super::judge(facts, find)
}

fn find(_: &Analysis, j: &Judged) -> Vec<Finding> {
    const LETTERS: usize = 3;
    let mut found = Vec::new();
    for (name, _) in j.settings.iter() {
        if !is_setting(name) || find_variable(name).is_some() {
            continue;
        }
        let (severity, message) = match foreign(name) {
            Some(what) if what.ends_with("meant") => {
                (Severity::Warning, format!("NCCL does not read it: {what}"))
            }
            Some(what) => (Severity::Note, format!("not NCCL's own: {what}")),
            None => match nearest(name, all().map(|v| v.name), LETTERS) {
                Some(near) => (
                    Severity::Warning,
                    format!("no release of NCCL reads it; {near} is spelt almost the same"),
                ),
                None => (Severity::Note, "no release of NCCL reads it".to_owned()),
            },
        };
        let finding = Analysis::shown(Finding::new(severity, name, message), j, name);
        found.push(if severity == Severity::Note {
            finding
        } else {
            Analysis::removed(finding, j, name)
        });
    }
    found
}
