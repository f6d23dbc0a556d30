//! `env.too-many-entries`: more entries or ports than NCCL has room for.

use super::{HCA, device_list, joined};
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};
use crate::nccl::selector::max_devices;

declare_check! {
    TOO_MANY_ENTRIES = "env" / "too-many-entries",
    title: "more entries or ports than NCCL has room for",
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
    let limit = max_devices(j.release);
    let mut found = Vec::new();
    let dropped: Vec<String> = device_list(j)
        .dropped
        .iter()
        .map(|e| e.text.clone())
        .collect();
    if !dropped.is_empty() {
        let message = format!(
            "NCCL reads {limit} entries; it never sees {}",
            joined(&dropped)
        );
        found.push(a.correct(Finding::new(Severity::Warning, HCA, message), j, HCA));
    }
    let beyond = &j.prediction.beyond_limit;
    if !beyond.is_empty() {
        let message = format!("NCCL uses {limit} ports; it drops {}", joined(beyond));
        let finding = Finding::new(Severity::Warning, HCA, message);
        found.push(
            Analysis::shown(finding, j, HCA)
                .fix("list the ports to use, at most so many (rdmactl env --hca LIST)"),
        );
    }
    found
}
