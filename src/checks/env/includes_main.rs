//! `env.includes-main`: NCCL uses the port of the host's ordinary traffic too.

use super::{HCA, extra_ports};
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};
use crate::roles::Role;

declare_check! {
    INCLUDES_MAIN = "env" / "includes-main",
    title: "NCCL uses the port of the host's ordinary traffic too",
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
    extra_ports(a, j, Role::Main)
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
