//! `env.number-syntax`: a number is written in a way that NCCL reads differently.

use super::DISABLE;
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged, NumberFault, judge_number};
use crate::nccl::variables::catalogue::{Kind, find as find_variable};

declare_check! {
    NUMBER_SYNTAX = "env" / "number-syntax",
    title: "a number is written in a way that NCCL reads differently",
    severity: Error,
    since: "0.1.0",
    subject: Variable,
    reads: ["NCCL_*", "etc/nccl.conf"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    super::judge(facts, find)
}

fn find(a: &Analysis, j: &Judged) -> Vec<Finding> {
    let mut found = Vec::new();
    for (name, setting) in j.settings.iter() {
        let number = find_variable(name).is_some_and(|v| matches!(v.kind, Kind::Integer { .. }));
        let value = setting.effective.value.as_str();
        let Some(fault) = number.then(|| judge_number(value)).flatten() else {
            continue;
        };
        if name == DISABLE && matches!(fault, NumberFault::NoNumber { .. }) {
            continue;
        }
        let (severity, message) = judge(name, value, &fault);
        let finding = Analysis::shown(Finding::new(severity, name, message), j, name);
        found.push(match read(&fault) {
            Some(_) if super::is_planned(a, name) => a.corrected(finding, j, name),
            Some(number) => finding
                .fix("write what NCCL reads, if that is what is meant")
                .setting(name, number.to_string()),
            None => finding.fix("write a number"),
        });
    }
    found
}

/// The number NCCL reads, where there is one.
fn read(fault: &NumberFault) -> Option<i64> {
    match fault {
        NumberFault::List(n)
        | NumberFault::Rest(n)
        | NumberFault::Octal(n)
        | NumberFault::Odd(n) => Some(*n),
        NumberFault::NoNumber { .. } | NumberFault::Overflow => None,
    }
}

/// How bad a fault is, and what NCCL makes of it.
pub(super) fn judge(name: &str, value: &str, fault: &NumberFault) -> (Severity, String) {
    match fault {
        NumberFault::List(n) if name == super::GID_INDEX => (
            Severity::Error,
            format!("{value:?} is one number for all ports: NCCL reads {n} and ignores the rest"),
        ),
        NumberFault::List(n) | NumberFault::Rest(n) => (
            Severity::Warning,
            format!("NCCL reads {n} from {value:?} and ignores the rest"),
        ),
        NumberFault::NoNumber { quoted } => (
            Severity::Warning,
            format!(
                "{value:?} is no number{}: NCCL reads 0",
                if *quoted {
                    ", because the quotes are part of it"
                } else {
                    ""
                }
            ),
        ),
        NumberFault::Octal(n) => (
            Severity::Warning,
            format!("{value:?} is octal, because it begins with 0: NCCL reads {n}"),
        ),
        NumberFault::Overflow => (
            Severity::Warning,
            format!("{value:?} does not fit into 64 bits: NCCL takes its default"),
        ),
        NumberFault::Odd(n) => (Severity::Note, format!("NCCL reads {n} from {value:?}")),
    }
}
