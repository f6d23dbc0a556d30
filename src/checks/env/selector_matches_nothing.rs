//! `env.selector-matches-nothing`: the list of RDMA devices selects no port.

use super::{HCA, device_dead, device_list};
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged, describe};

declare_check! {
    SELECTOR_MATCHES_NOTHING = "env" / "selector-matches-nothing",
    title: "the list of RDMA devices selects no port",
    severity: Error,
    since: "0.1.0",
    subject: Variable,
    reads: ["NCCL_IB_HCA", "etc/nccl.conf"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    super::judge(facts, find)
}

fn find(a: &Analysis, j: &Judged) -> Vec<Finding> {
    if j.value(HCA).is_none() || !j.used.is_empty() || j.without_list.is_empty() {
        return Vec::new();
    }
    let selector = device_list(j);
    let dead = device_dead(a, &selector);
    let reason = match dead.first() {
        _ if selector.exclude && selector.entries.is_empty() => {
            "`^` without a name excludes every port".to_owned()
        }
        _ if selector.exclude => "it excludes every ACTIVE port".to_owned(),
        Some(entry) => describe(entry, "RDMA device"),
        None => "no port it names is ACTIVE".to_owned(),
    };
    let finding = Finding::new(
        Severity::Error,
        HCA,
        format!("selects no port, and NCCL goes on with sockets: {reason}"),
    );
    vec![a.correct(finding, j, HCA)]
}
