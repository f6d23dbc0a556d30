//! `env.interface-no-address`: the interface that is named has no address, or no carrier.

use super::{IFNAME, interface_list, interface_names, joined, with_addresses};
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};

declare_check! {
    INTERFACE_NO_ADDRESS = "env" / "interface-no-address",
    title: "the interface that is named has no address, or no carrier",
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
    if j.filled(IFNAME).is_none_or(|v| v.len() < 2) {
        return Vec::new();
    }
    let selector = interface_list(j);
    let named: Vec<String> = interface_names(a)
        .into_iter()
        .filter(|n| selector.selects(n, None))
        .collect();
    if let Some(taken) = j.prediction.out_of_band() {
        let down = a.node.interface(&taken.name).is_some_and(|i| !i.running);
        if !down {
            return Vec::new();
        }
        let message = format!(
            "{} is not running, and NCCL {} takes it all the same",
            taken.name, j.release
        );
        return vec![a.correct(Finding::new(Severity::Warning, IFNAME, message), j, IFNAME)];
    }
    let Some(first) = named.first() else {
        return Vec::new();
    };
    let interface = a.node.interface(first);
    let reason = if interface.is_some_and(|i| !i.addresses.is_empty() && !i.running) {
        format!("{first} has an address but is not running")
    } else if let Some(master) = a.node.netdev(first).and_then(|n| n.master.as_deref()) {
        format!("{first} has no address of its own, it belongs to {master}")
    } else {
        format!("{first} has no address NCCL can use")
    };
    let message = format!(
        "selects no interface with an address, so NCCL cannot start: {reason}; with an address: {}",
        joined(&with_addresses(a))
    );
    vec![a.correct(Finding::new(Severity::Error, IFNAME, message), j, IFNAME)]
}
