//! `env.renamed-variable`: a variable has another name today.

use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};
use crate::nccl::variables::catalogue::{State, find as find_variable};

declare_check! {
    RENAMED_VARIABLE = "env" / "renamed-variable",
    title: "a variable has another name today",
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
    for (name, _) in j.settings.iter() {
        let Some(variable) = find_variable(name) else {
            continue;
        };
        let Some(instead) = variable.instead else {
            continue;
        };
        let (severity, message) = match variable.state(j.release) {
            State::Gone(last) => (
                Severity::Warning,
                format!("NCCL reads it up to {last} only; {instead} took its place"),
            ),
            State::Read | State::NotYet(_) => {
                (Severity::Note, format!("{instead} is its name today"))
            }
        };
        let finding = Analysis::shown(Finding::new(severity, name, message), j, name);
        found.push(Analysis::removed(finding, j, name));
    }
    found
}
