//! `env.interface-not-default-route`: NCCL takes another interface than the default route's.

use super::{IFNAME, interface_list, is_local_only};
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};

declare_check! {
    INTERFACE_NOT_DEFAULT_ROUTE = "env" / "interface-not-default-route",
    title: "NCCL takes another interface than the default route's",
    severity: Warning,
    since: "0.1.0",
    subject: Netdev,
    reads: ["NCCL_SOCKET_IFNAME", "etc/nccl.conf"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    super::judge(facts, find)
}

fn find(a: &Analysis, j: &Judged) -> Vec<Finding> {
    let (Some(taken), Some((wanted, why))) = (j.prediction.out_of_band(), &a.choice.interface)
    else {
        return Vec::new();
    };
    let set = j.filled(IFNAME).is_some_and(|v| v.len() > 1);
    if taken.name == *wanted || taken.ip.is_loopback() || set && is_local_only(a, taken) {
        return Vec::new();
    }
    let selector = interface_list(j);
    let exact = set && !selector.exclude && selector.entries.iter().any(|e| e.name == taken.name);
    let severity = if exact {
        Severity::Note
    } else {
        Severity::Warning
    };
    let lead = if set {
        "NCCL takes".to_owned()
    } else {
        format!("with {IFNAME} unset NCCL takes")
    };
    let kind = match taken.ip {
        std::net::IpAddr::V6(ip) if ip.is_unicast_link_local() => ", a link-local address",
        std::net::IpAddr::V4(ip) if ip.is_link_local() => ", a link-local address",
        _ => "",
    };
    let message = format!(
        "{lead} {} ({}{kind}), not {wanted}: {wanted} {why}",
        taken.name, taken.ip
    );
    vec![a.correct(Finding::new(severity, &taken.name, message), j, IFNAME)]
}
