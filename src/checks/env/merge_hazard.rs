//! `env.merge-hazard`: NCCL joins a data port with one that is none.

use super::HCA;
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};
use crate::roles::{Assigned, Role};

declare_check! {
    MERGE_HAZARD = "env" / "merge-hazard",
    title: "NCCL joins a data port with one that is none",
    severity: Warning,
    since: "0.1.0",
    subject: Device,
    reads: ["NCCL_IB_HCA", "etc/nccl.conf"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    super::judge(facts, find)
}

fn find(a: &Analysis, j: &Judged) -> Vec<Finding> {
    let mut found = Vec::new();
    for merged in &j.prediction.merged {
        let ports: Vec<_> = merged
            .members
            .iter()
            .filter_map(|i| a.role(&j.prediction.devices.get(*i)?.key))
            .collect();
        let (data, rest): (Vec<&Assigned>, Vec<&Assigned>) =
            ports.into_iter().partition(|p| p.role == Role::Data);
        if let (Some(_), Some(other)) = (data.first(), rest.first()) {
            let message = format!(
                "NCCL joins {} into one device; {} is {}",
                merged.name,
                other.key,
                super::role_word(other)
            );
            found.push(a.correct(
                Finding::new(Severity::Warning, &merged.name, message),
                j,
                HCA,
            ));
        }
    }
    found
}
