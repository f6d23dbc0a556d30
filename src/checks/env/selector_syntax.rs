//! `env.selector-syntax`: a list is written in a way that NCCL reads differently.

use super::{HCA, IFNAME, device_dead, device_list, interface_dead, interface_list};
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, DeadEntry, Judged, describe};

declare_check! {
    SELECTOR_SYNTAX = "env" / "selector-syntax",
    title: "a list is written in a way that NCCL reads differently",
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
    let mut found = Vec::new();
    if j.filled(HCA).is_some() && !j.used.is_empty() {
        found.extend(devices(a, j));
    }
    if j.filled(IFNAME).is_some() && !j.prediction.interfaces.is_empty() {
        found.extend(interfaces(a, j));
    }
    found
}

fn devices(a: &Analysis, j: &Judged) -> Vec<Finding> {
    let selector = device_list(j);
    let warning =
        |message: String| a.correct(Finding::new(Severity::Warning, HCA, message), j, HCA);
    if selector.entries.is_empty() && !selector.exclude {
        return vec![warning(
            "names no device, and an empty list means every ACTIVE port: works by luck".to_owned(),
        )];
    }
    let overflow = selector.entries.iter().filter(|e| {
        let port = e.text.split(':').nth(1).unwrap_or_default();
        e.port == -1 && !port.is_empty() && port.trim() != "-1"
    });
    let overflow = overflow.map(|e| {
        format!(
            "{}: the port overflows to -1, which NCCL takes for any port: works by luck",
            e.text
        )
    });
    let dead = device_dead(a, &selector);
    let dead = dead
        .iter()
        .filter(|d| d.why.is_syntax())
        .map(|d| lost(d, "RDMA device"));
    overflow.chain(dead).map(warning).collect()
}

fn lost(entry: &DeadEntry, kind: &str) -> String {
    format!("an entry matches nothing: {}", describe(entry, kind))
}

fn interfaces(a: &Analysis, j: &Judged) -> Vec<Finding> {
    let value = j.filled(IFNAME).unwrap_or_default();
    let taken = j.prediction.out_of_band().map(|i| i.name.as_str());
    if value.len() == 1 {
        let wanted = a.choice.interface.as_ref().map(|(name, _)| name.as_str());
        let severity = if taken == wanted {
            Severity::Note
        } else {
            Severity::Warning
        };
        let message = format!(
            "{value:?} is one letter, which NCCL does not read: it takes {} by its own order",
            taken.unwrap_or("nothing")
        );
        return vec![a.correct(Finding::new(severity, IFNAME, message), j, IFNAME)];
    }
    let selector = interface_list(j);
    let dead = interface_dead(a, &selector);
    dead.iter()
        .filter(|d| d.why.is_syntax())
        .map(|d| {
            let finding = Finding::new(Severity::Note, IFNAME, lost(d, "interface"));
            a.correct(finding, j, IFNAME)
        })
        .collect()
}
