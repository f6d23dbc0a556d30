//! `env.ib-disable-value`: the switch for the InfiniBand transport has a value that is no number.

use super::DISABLE;
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};
use crate::nccl::number::parse;

declare_check! {
    IB_DISABLE_VALUE = "env" / "ib-disable-value",
    title: "the switch for the InfiniBand transport has a value that is no number",
    severity: Warning,
    since: "0.1.0",
    subject: Variable,
    reads: ["NCCL_IB_DISABLE", "etc/nccl.conf"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    super::judge(facts, find)
}

fn find(a: &Analysis, j: &Judged) -> Vec<Finding> {
    let Some(value) = j.filled(DISABLE).filter(|v| !parse(v).digits) else {
        return Vec::new();
    };
    let message = format!("{value:?} is no number: NCCL reads 0, and nothing is disabled");
    vec![a.correct(
        Finding::new(Severity::Warning, DISABLE, message),
        j,
        DISABLE,
    )]
}
