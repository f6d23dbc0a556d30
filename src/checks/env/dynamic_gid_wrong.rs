//! `env.dynamic-gid-wrong`: NCCL's own choice of a GID is not a usable RoCE v2 row.

use super::gid::{
    ADDR_FAMILY, ADDR_RANGE, VERSION_NUM, by_fault, fixed_index, right_rows, targets,
};
use super::{GID_INDEX, joined};
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged, RowFault};
use crate::model::PortKey;
use crate::nccl::address::{Family, Range};
use crate::nccl::release::Feature;

declare_check! {
    DYNAMIC_GID_WRONG = "env" / "dynamic-gid-wrong",
    title: "NCCL's own choice of a GID is not a usable RoCE v2 row",
    severity: Error,
    since: "0.1.0",
    subject: Variable,
    reads: ["NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE", "NCCL_IB_ROCE_VERSION_NUM", "etc/nccl.conf"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    super::judge(facts, find)
}

fn find(a: &Analysis, j: &Judged) -> Vec<Finding> {
    if !j.release.has(Feature::DynamicGid) || fixed_index(j).is_some() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let set = [ADDR_RANGE, ADDR_FAMILY, VERSION_NUM]
        .into_iter()
        .find(|n| j.filled(n).is_some());
    let subject = set.unwrap_or(GID_INDEX);
    let lead = match j.filled(ADDR_FAMILY) {
        Some("AF_INET6") => "NCCL looks for IPv6",
        _ => "NCCL looks for IPv4",
    };
    let ports = targets(a, j);
    let unable: Vec<&PortKey> = ports
        .iter()
        .filter(|u| u.gid.is_some_and(|g| !g.result.is_success()))
        .map(|u| &u.key)
        .collect();
    if !unable.is_empty() {
        let message = format!(
            "NCCL {} cannot read its way through the GID table of {}, and connections fail",
            j.release,
            joined(&unable)
        );
        found.push(a.correct(
            Finding::new(Severity::Error, subject, message),
            j,
            GID_INDEX,
        ));
    }
    let chosen = |key: &PortKey| {
        let used = ports.iter().find(|u| u.key == *key)?;
        used.gid.filter(|g| g.result.is_success())?.index
    };
    for (fault, keys) in by_fault(a, &ports, &chosen) {
        let index = keys.first().and_then(|k| chosen(k)).unwrap_or_default();
        let message = format!(
            "{lead} and ends at index {index} on {}: {}; {}",
            joined(&keys),
            fault.text(),
            right_rows(a, &keys)
        );
        let severity = if fault == RowFault::V1 {
            Severity::Warning
        } else {
            Severity::Error
        };
        found.push(a.correct(Finding::new(severity, subject, message), j, GID_INDEX));
    }
    let by_luck: Vec<&PortKey> = ports
        .iter()
        .filter(|u| {
            u.gid
                .is_some_and(|g| g.result.is_success() && !g.guaranteed)
        })
        .map(|u| &u.key)
        .collect();
    if found.is_empty() && !by_luck.is_empty() {
        let message = format!(
            "the choice on {} rests on a value NCCL never sets, or on a row that cannot be read",
            joined(&by_luck)
        );
        found.push(a.correct(Finding::new(Severity::Note, subject, message), j, GID_INDEX));
    }
    found.extend(ignored_range(a, j));
    found
}

fn ignored_range(a: &Analysis, j: &Judged) -> Option<Finding> {
    let value = j.filled(ADDR_RANGE)?;
    let family = Family::of_gids(j.value(ADDR_FAMILY));
    let message = match Range::parse(Some(value), family, j.release) {
        Ok(Range::All(Some(_))) => {
            format!("{value:?} is no network of the family in use, and NCCL ignores it")
        }
        Ok(Range::Nothing) => format!("{value:?} has a negative prefix length: no GID is in it"),
        _ => return None,
    };
    let finding = Finding::new(Severity::Warning, ADDR_RANGE, message);
    Some(a.correct(finding, j, ADDR_RANGE))
}
