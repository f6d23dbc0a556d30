//! `env.per-rank-list`: the device list looks like one rank's own.

use super::{HCA, is_per_rank, ranks};
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};

declare_check! {
    PER_RANK_LIST = "env" / "per-rank-list",
    title: "the device list looks like one rank's own",
    severity: Warning,
    since: "0.1.0",
    subject: Variable,
    reads: ["NCCL_IB_HCA", "etc/nccl.conf"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    super::judge(facts, find)
}

fn find(a: &Analysis, j: &Judged) -> Vec<Finding> {
    if !is_per_rank(a, j) {
        return Vec::new();
    }
    let Some((name, count)) = ranks(a) else {
        return Vec::new();
    };
    let message = format!(
        "selects one port of {}, while this node has {count} ranks: every rank of a node must have the same list",
        a.data().len()
    );
    let finding = Finding::new(Severity::Warning, HCA, message).evidence(name, count);
    vec![a.correct(finding, j, HCA)]
}
