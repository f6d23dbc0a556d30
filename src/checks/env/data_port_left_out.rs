//! `env.data-port-left-out`: the device list leaves data ports out.

use super::{HCA, device_list, is_per_rank, joined, longer_names};
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};
use crate::model::PortKey;

declare_check! {
    DATA_PORT_LEFT_OUT = "env" / "data-port-left-out",
    title: "the device list leaves data ports out",
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
    if j.used.is_empty() || is_per_rank(a, j) {
        return Vec::new();
    }
    let selector = device_list(j);
    let explained: Vec<&PortKey> = if selector.exclude && !selector.exact {
        selector
            .entries
            .iter()
            .flat_map(|e| longer_names(j, &selector, e))
            .collect()
    } else {
        Vec::new()
    };
    let data = a.data();
    let missing: Vec<&PortKey> = data
        .iter()
        .copied()
        .filter(|k| !j.uses(k) && !explained.contains(k) && !j.prediction.beyond_limit.contains(k))
        .collect();
    if missing.is_empty() {
        return Vec::new();
    }
    let message = format!(
        "leaves out {} of {} data ports: {}",
        missing.len(),
        data.len(),
        joined(&missing)
    );
    vec![a.correct(Finding::new(Severity::Warning, HCA, message), j, HCA)]
}
