//! `env.interface-prefix-of-several`: the list of interfaces selects several.

use super::{IFNAME, interface_list, is_local_only, joined};
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};

declare_check! {
    INTERFACE_PREFIX_OF_SEVERAL = "env" / "interface-prefix-of-several",
    title: "the list of interfaces selects several",
    severity: Warning,
    since: "0.1.0",
    subject: Variable,
    reads: ["NCCL_SOCKET_IFNAME", "etc/nccl.conf"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    super::judge(facts, find)
}

fn find(a: &Analysis, j: &Judged) -> Vec<Finding> {
    let set = j.filled(IFNAME).is_some_and(|v| v.len() > 1);
    let found = &j.prediction.interfaces;
    let selector = interface_list(j);
    let Some(first) = found
        .first()
        .filter(|f| set && !selector.exact && !is_local_only(a, f))
    else {
        return Vec::new();
    };
    let right = a
        .choice
        .interface
        .as_ref()
        .is_some_and(|(name, _)| *name == first.name);
    let severity = if right {
        Severity::Note
    } else {
        Severity::Warning
    };
    let mut messages: Vec<(Severity, String)> = Vec::new();
    if selector.exclude && found.len() > 1 {
        let names: Vec<&str> = found.iter().map(|f| f.name.as_str()).collect();
        messages.push((
            severity,
            format!("leaves {}; NCCL takes the first", joined(&names)),
        ));
    }
    for entry in selector.entries.iter().filter(|_| !selector.exclude) {
        let names: Vec<&str> = found
            .iter()
            .map(|f| f.name.as_str())
            .filter(|n| n.starts_with(&entry.name) && *n != entry.name)
            .collect();
        let exists = found.iter().any(|f| f.name == entry.name);
        if names.is_empty() || names.len() == 1 && !exists {
            continue;
        }
        messages.push(if exists {
            (
                severity,
                format!("{} is a prefix of {} too", entry.name, joined(&names)),
            )
        } else {
            // Which of them comes first is chance, even where it is the right one today.
            let message = format!(
                "{} is no interface but a prefix of {}; NCCL takes {}",
                entry.name,
                joined(&names),
                first.name
            );
            (Severity::Warning, message)
        });
    }
    messages
        .into_iter()
        .map(|(severity, m)| a.correct(Finding::new(severity, IFNAME, m), j, IFNAME))
        .collect()
}
