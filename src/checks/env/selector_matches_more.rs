//! `env.selector-matches-more`: an entry of the device list is the beginning of other names too.

use super::{HCA, device_list, joined, longer_names};
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};
use crate::model::PortKey;

declare_check! {
    SELECTOR_MATCHES_MORE = "env" / "selector-matches-more",
    title: "an entry of the device list is the beginning of other names too",
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
    let selector = device_list(j);
    if selector.exact || j.used.is_empty() {
        return Vec::new();
    }
    let data = a.data();
    let mut found = Vec::new();
    for entry in &selector.entries {
        let others: Vec<&PortKey> = longer_names(j, &selector, entry);
        let (data_ports, rest): (Vec<&PortKey>, Vec<&PortKey>) =
            others.iter().partition(|k| data.contains(*k));
        let name = &entry.text;
        let (severity, message) = if selector.exclude && !data_ports.is_empty() {
            let message = format!(
                "entry {name} is a prefix of {} too: {} of {} data ports are excluded with it",
                joined(&data_ports),
                data_ports.len(),
                data.len()
            );
            (Severity::Warning, message)
        } else if !selector.exclude && !rest.is_empty() {
            let message = format!(
                "entry {name} is a prefix of {} too, which {} no data port",
                joined(&rest),
                if rest.len() == 1 { "is" } else { "are" }
            );
            (Severity::Warning, message)
        } else if !selector.exclude && !data_ports.is_empty() {
            let message = format!(
                "entry {name} also selects {} by prefix",
                joined(&data_ports)
            );
            (Severity::Note, message)
        } else {
            continue;
        };
        found.push(a.correct(Finding::new(severity, HCA, message), j, HCA));
    }
    let right = j.used.len() == data.len() && data.iter().all(|k| j.uses(k));
    if found.is_empty() && selector.exclude && !selector.entries.is_empty() && right {
        let message =
            "excludes by beginnings of names: right today, and wrong once a longer name appears";
        found.push(a.correct(Finding::new(Severity::Note, HCA, message), j, HCA));
    }
    found
}
