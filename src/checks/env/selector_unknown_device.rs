//! `env.selector-unknown-device`: the device list names a device that is not here.

use super::{HCA, device_dead, device_list};
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged, Why};

declare_check! {
    SELECTOR_UNKNOWN_DEVICE = "env" / "selector-unknown-device",
    title: "the device list names a device that is not here",
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
    let selector = device_list(j);
    let severity = if selector.exclude {
        Severity::Note
    } else {
        Severity::Warning
    };
    let known: Vec<&str> = a.node.hcas().iter().map(|h| h.name.as_str()).collect();
    device_dead(a, &selector)
        .iter()
        .filter(|d| d.why == Why::Unknown)
        .map(|d| {
            let message = format!(
                "names {}, which this node does not have (it has {})",
                d.text,
                super::joined(&known)
            );
            a.correct(Finding::new(severity, HCA, message), j, HCA)
        })
        .collect()
}
