//! `env.newer-than-release`: a variable that this release of NCCL does not read yet.

use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};
use crate::nccl::variables::catalogue::{State, find as find_variable};

declare_check! {
    NEWER_THAN_RELEASE = "env" / "newer-than-release",
    title: "a variable that this release of NCCL does not read yet",
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
    let mut found = Vec::new();
    for (name, setting) in j.settings.iter() {
        let Some(variable) = find_variable(name).filter(|_| !setting.effective.value.is_empty())
        else {
            continue;
        };
        if let State::NotYet(since) = variable.state(j.release) {
            let message = format!("NCCL reads it from {since} on; this is {}", j.release);
            let severity = if variable.is_network() {
                Severity::Warning
            } else {
                Severity::Note
            };
            let finding = Analysis::shown(Finding::new(severity, name, message), j, name);
            found.push(Analysis::removed(finding, j, name));
        }
    }
    found
}
