//! `env.port-zero-or-absent`: the device list names a port that does not exist.

use super::{HCA, device_dead, device_list};
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged, describe};

declare_check! {
    PORT_ZERO_OR_ABSENT = "env" / "port-zero-or-absent",
    title: "the device list names a port that does not exist",
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
    if j.used.is_empty() {
        return Vec::new();
    }
    device_dead(a, &device_list(j))
        .iter()
        .filter(|d| d.why.is_port())
        .map(|d| {
            let finding = Finding::new(Severity::Warning, HCA, describe(d, "port"));
            a.correct(finding, j, HCA)
        })
        .collect()
}
