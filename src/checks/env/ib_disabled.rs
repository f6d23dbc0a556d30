//! `env.ib-disabled`: the InfiniBand and RoCE transport is switched off.

use super::DISABLE;
use super::plugin::{is_disabled, plugin};
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};

declare_check! {
    IB_DISABLED = "env" / "ib-disabled",
    title: "the InfiniBand and RoCE transport is switched off",
    severity: Error,
    since: "0.1.0",
    subject: Variable,
    reads: ["NCCL_IB_DISABLE", "etc/nccl.conf"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    super::judge(facts, find)
}

fn find(a: &Analysis, j: &Judged) -> Vec<Finding> {
    // With a plugin the switch does not do this: `plugin-ignores` says so.
    if !is_disabled(j) || plugin(a, j).is_some() {
        return Vec::new();
    }
    let message = "switches InfiniBand and RoCE off: the job uses sockets";
    vec![a.correct(Finding::new(Severity::Error, DISABLE, message), j, DISABLE)]
}
