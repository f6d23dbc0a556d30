//! `env.gid-index-unset-old`: an unset GID index means row 0 before NCCL 2.21.5.

use super::GID_INDEX;
use super::gid::row_findings;
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};
use crate::nccl::release::Feature;

declare_check! {
    GID_INDEX_UNSET_OLD = "env" / "gid-index-unset-old",
    title: "an unset GID index means row 0 before NCCL 2.21.5",
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
    if j.filled(GID_INDEX).is_some() {
        return Vec::new();
    }
    let old = !j.release.has(Feature::DynamicGid);
    if !old && a.release_known {
        return Vec::new();
    }
    let mut found = row_findings(a, j, 0, "unset before release 2.21.5 means index 0: ");
    for finding in &mut found {
        // Which release the job has is not known: then it is only worth knowing.
        finding.severity = if old { Severity::Error } else { Severity::Note };
    }
    found
}
