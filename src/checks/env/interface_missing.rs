//! `env.interface-missing`: the list of interfaces names none that exists.

use super::{IFNAME, interface_dead, interface_list, interface_names, joined, with_addresses};
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged, Why, describe};

declare_check! {
    INTERFACE_MISSING = "env" / "interface-missing",
    title: "the list of interfaces names none that exists",
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
    let dead = interface_dead(a, &selector);
    if !j.prediction.interfaces.is_empty() {
        let unknown = dead
            .iter()
            .filter(|d| d.why == Why::Unknown && !selector.exclude);
        return unknown
            .map(|d| {
                let message = format!("{} does not exist here; the other names stand", d.text);
                a.correct(Finding::new(Severity::Note, IFNAME, message), j, IFNAME)
            })
            .collect();
    }
    if interface_names(a).iter().any(|n| selector.selects(n, None)) {
        return Vec::new();
    }
    let reason = match dead.first() {
        _ if selector.exclude => "it excludes every interface".to_owned(),
        Some(entry) if entry.why == Why::Unknown => format!("{} does not exist here", entry.text),
        Some(entry) => describe(entry, "interface"),
        None => "it names none".to_owned(),
    };
    let message = format!(
        "selects no interface, so NCCL cannot start: {reason}; with an address: {}",
        joined(&with_addresses(a))
    );
    vec![a.correct(Finding::new(Severity::Error, IFNAME, message), j, IFNAME)]
}
