//! `env.contradiction`: another library is told something else than NCCL.

use std::collections::BTreeSet;

use super::joined;
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged, row_fault};
use crate::nccl::device::Link;
use crate::nccl::number::{cut, parse};

const LISTS: [&str; 3] = ["UCX_NET_DEVICES", "NVSHMEM_HCA_LIST", "UCCL_IB_HCA"];
const INTERFACES: [&str; 4] = [
    "GLOO_SOCKET_IFNAME",
    "TP_SOCKET_IFNAME",
    "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME",
    "UCCL_SOCKET_IFNAME",
];
const INDEXES: [&str; 4] = [
    "UCX_IB_GID_INDEX",
    "NVSHMEM_IB_GID_INDEX",
    "MC_GID_INDEX",
    "UCCL_IB_GID_INDEX",
];

declare_check! {
    CONTRADICTION = "env" / "contradiction",
    title: "another library is told something else than NCCL",
    severity: Warning,
    since: "0.1.0",
    subject: Variable,
    reads: ["NCCL_*", "etc/nccl.conf"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    super::judge(facts, find)
}

fn find(a: &Analysis, j: &Judged) -> Vec<Finding> {
    let of = |name: &'static str, fault: fn(&Analysis, &Judged, &str) -> Option<String>| {
        let message = fault(a, j, j.filled(name)?)?;
        let finding = Finding::new(Severity::Warning, name, message);
        Some(
            Analysis::shown(finding, j, name)
                .fix("print all libraries' settings together")
                .command("eval \"$(rdmactl env --for nccl,ucx,nvshmem,gloo,tp)\""),
        )
    };
    LISTS
        .iter()
        .filter_map(|n| of(n, devices))
        .chain(INTERFACES.iter().filter_map(|n| of(n, interface)))
        .chain(INDEXES.iter().filter_map(|n| of(n, index)))
        .collect()
}

fn devices(a: &Analysis, j: &Judged, value: &str) -> Option<String> {
    let value = value.trim_start_matches('=');
    if value == "all" || value.starts_with('^') || value.contains('[') || j.used.is_empty() {
        return None;
    }
    let named: BTreeSet<&str> = value
        .split(',')
        .map(|e| e.split(':').next().unwrap_or(e))
        .filter(|n| !n.is_empty() && a.node.netdev(n).is_none())
        .collect();
    let used: BTreeSet<&str> = j.used.iter().map(|u| u.key.hca.as_str()).collect();
    if named.is_empty() || named == used {
        return None;
    }
    let more: Vec<&&str> = named.difference(&used).collect();
    let less: Vec<&&str> = used.difference(&named).collect();
    Some(match (more.is_empty(), less.is_empty()) {
        (false, true) => format!("names {}, which NCCL does not use", joined(&more)),
        (true, _) => format!("lacks {}, which NCCL uses", joined(&less)),
        (false, false) => {
            format!("names {}, while NCCL uses {}", joined(&more), joined(&less))
        }
    })
}

fn interface(a: &Analysis, j: &Judged, value: &str) -> Option<String> {
    let mut names = value
        .trim_start_matches('=')
        .split(',')
        .filter(|n| !n.is_empty());
    let first = names.clone().next()?;
    if a.node.netdev(first).is_none() && a.node.interface(first).is_none() {
        return Some(format!(
            "{first} does not exist here; this library takes exact names only"
        ));
    }
    let taken = j.prediction.out_of_band()?;
    (!names.any(|n| n == taken.name)).then(|| {
        format!(
            "names {first}, while NCCL's own traffic goes over {}",
            taken.name
        )
    })
}

fn index(a: &Analysis, j: &Judged, value: &str) -> Option<String> {
    let index = cut(parse(value).value);
    if index < 0 || !parse(value).digits {
        return None;
    }
    let wrong = j
        .used
        .iter()
        .filter(|u| u.link == Link::Roce && a.role(&u.key).is_some_and(|p| p.gid.is_some()))
        .find_map(|u| Some((u, row_fault(a.node, &u.key, index)?)))?;
    let nccl = wrong.0.gid.and_then(|g| g.index);
    let nccl = nccl.map_or_else(String::new, |i| format!("; NCCL uses {i}"));
    Some(format!(
        "index {index} is {} on {}{nccl}",
        wrong.1.text(),
        wrong.0.key
    ))
}
