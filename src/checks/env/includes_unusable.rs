//! `env.includes-unusable`: NCCL uses ports that cannot carry its traffic.

use super::{HCA, extra_ports};
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};
use crate::roles::Role;

declare_check! {
    INCLUDES_UNUSABLE = "env" / "includes-unusable",
    title: "NCCL uses ports that cannot carry its traffic",
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
    extra_ports(a, j, Role::Unusable)
        .iter()
        .map(|port| {
            let start = if j.filled(HCA).is_some() {
                "selects".to_owned()
            } else {
                format!("with {HCA} unset NCCL uses")
            };
            let message = format!("{start} {} too: {}", port.key, port.reason);
            a.correct(Finding::new(Severity::Warning, HCA, message), j, HCA)
        })
        .collect()
}
