//! `env.gid-index-on-infiniband`: the GID index is set where no port uses it.

use super::GID_INDEX;
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};
use crate::nccl::device::Link;

declare_check! {
    GID_INDEX_ON_INFINIBAND = "env" / "gid-index-on-infiniband",
    title: "the GID index is set where no port uses it",
    severity: Note,
    since: "0.1.0",
    subject: Variable,
    reads: ["NCCL_IB_GID_INDEX", "etc/nccl.conf"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    super::judge(facts, find)
}

fn find(_: &Analysis, j: &Judged) -> Vec<Finding> {
    let all_ib = j.used.iter().all(|u| u.link == Link::InfiniBand);
    if j.filled(GID_INDEX).is_none() || j.used.is_empty() || !all_ib {
        return Vec::new();
    }
    let message = "NCCL does not use it on InfiniBand, and every port it uses is InfiniBand";
    let finding = Finding::new(Severity::Note, GID_INDEX, message);
    vec![Analysis::removed(
        Analysis::shown(finding, j, GID_INDEX),
        j,
        GID_INDEX,
    )]
}
