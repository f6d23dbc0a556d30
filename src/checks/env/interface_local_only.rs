//! `env.interface-local-only`: the interface leads to no other node.

use super::{IFNAME, is_local_only};
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};

declare_check! {
    INTERFACE_LOCAL_ONLY = "env" / "interface-local-only",
    title: "the interface leads to no other node",
    severity: Error,
    since: "0.1.0",
    subject: Variable,
    reads: ["NCCL_SOCKET_IFNAME", "etc/nccl.conf"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    super::judge(facts, find)
}

fn find(a: &Analysis, j: &Judged) -> Vec<Finding> {
    let Some(first) = j.prediction.out_of_band().filter(|i| is_local_only(a, i)) else {
        return Vec::new();
    };
    let set = j.filled(IFNAME).is_some_and(|v| v.len() > 1);
    // What NCCL chooses by itself, loopback aside, is the business of `interface-not-default-route`.
    if !set && !first.ip.is_loopback() {
        return Vec::new();
    }
    let what = if first.ip.is_loopback() {
        "loopback"
    } else {
        "only for this node's containers"
    };
    let message = format!(
        "NCCL takes {} ({}), {what}: other nodes cannot reach it",
        first.name, first.ip
    );
    vec![a.correct(Finding::new(Severity::Error, IFNAME, message), j, IFNAME)]
}
