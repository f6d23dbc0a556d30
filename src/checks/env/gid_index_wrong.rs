//! `env.gid-index-wrong`: the GID index is not a usable RoCE v2 row on every port.

use super::GID_INDEX;
use super::gid::{fixed_index, row_findings};
use crate::checks::{Facts, Finding, Verdict, declare_check};
use crate::lint::{Analysis, Judged};

declare_check! {
    GID_INDEX_WRONG = "env" / "gid-index-wrong",
    title: "the GID index is not a usable RoCE v2 row on every port",
    severity: Error,
    since: "0.1.0",
    subject: Variable,
    reads: ["NCCL_IB_GID_INDEX", "etc/nccl.conf"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    super::judge(facts, find)
}

fn find(a: &Analysis, j: &Judged) -> Vec<Finding> {
    match fixed_index(j) {
        Some(index) if j.filled(GID_INDEX).is_some() => {
            row_findings(a, j, index, &format!("index {index} is "))
        }
        _ => Vec::new(),
    }
}
