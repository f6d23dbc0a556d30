//! `env.removed-variable`: a variable that this release of NCCL no longer reads.

use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};
use crate::nccl::variables::catalogue::{State, find as find_variable};

declare_check! {
    REMOVED_VARIABLE = "env" / "removed-variable",
    title: "a variable that this release of NCCL no longer reads",
    severity: Note,
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
        let Some(variable) = find_variable(name).filter(|v| v.instead.is_none()) else {
            continue;
        };
        if let State::Gone(last) = variable.state(j.release) {
            let message = format!("NCCL reads it up to {last} only, and nothing took its place");
            let finding = Analysis::shown(Finding::new(Severity::Note, name, message), j, name);
            found.push(Analysis::removed(finding, j, name));
        }
    }
    found
}
