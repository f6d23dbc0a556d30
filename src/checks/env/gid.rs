//! What checks of GIDs share: the ports that matter, what is wrong with a row on them, and which row is right.

use super::{GID_INDEX, joined};
use crate::checks::{Finding, Severity};
use crate::lint::{Analysis, Judged, RowFault, Used, row_fault};
use crate::model::PortKey;
use crate::nccl::device::Link;
use crate::nccl::number::{cut, param};
use crate::nccl::release::Feature;

pub(super) const ADDR_FAMILY: &str = "NCCL_IB_ADDR_FAMILY";
pub(super) const ADDR_RANGE: &str = "NCCL_IB_ADDR_RANGE";
pub(super) const VERSION_NUM: &str = "NCCL_IB_ROCE_VERSION_NUM";

/// The index that every RoCE port is made to use; `None` where the release looks for one itself.
pub(super) fn fixed_index(j: &Judged) -> Option<i32> {
    let dynamic = j.release.has(Feature::DynamicGid);
    let index = cut(param(j.value(GID_INDEX), if dynamic { -1 } else { 0 }));
    (index >= 0 || !dynamic).then_some(index)
}

/// The RoCE ports in use that have a right row at all. Others have checks of their own.
pub(super) fn targets<'a>(a: &Analysis, j: &'a Judged) -> Vec<&'a Used> {
    j.used
        .iter()
        .filter(|u| u.link == Link::Roce)
        .filter(|u| a.role(&u.key).is_some_and(|p| p.gid.is_some()))
        .collect()
}

/// Ports by what is wrong with the row of their index.
pub(super) fn by_fault<'a>(
    a: &Analysis,
    ports: &[&'a Used],
    index: &dyn Fn(&PortKey) -> Option<i32>,
) -> Vec<(RowFault, Vec<&'a PortKey>)> {
    let mut groups: Vec<(RowFault, Vec<&PortKey>)> = Vec::new();
    for used in ports {
        let Some(fault) = index(&used.key).and_then(|i| row_fault(a.node, &used.key, i)) else {
            continue;
        };
        let kind = |f: &RowFault| match f {
            RowFault::LinkLocal(_, v1) => (std::mem::discriminant(f), *v1),
            _ => (std::mem::discriminant(f), false),
        };
        let same_index =
            |keys: &[&PortKey]| keys.first().and_then(|k| index(k)) == index(&used.key);
        match groups
            .iter_mut()
            .find(|(f, keys)| kind(f) == kind(&fault) && same_index(keys))
        {
            Some((_, keys)) => keys.push(&used.key),
            None => groups.push((fault, vec![&used.key])),
        }
    }
    groups
}

/// `RoCE v2 is at index 3`, or at which it is on which port.
pub(super) fn right_rows(a: &Analysis, keys: &[&PortKey]) -> String {
    let rows: Vec<(String, u32)> = keys
        .iter()
        .filter_map(|k| Some((k.to_string(), a.role(k)?.gid.as_ref()?.index)))
        .collect();
    match rows.first() {
        Some((_, first)) if rows.iter().all(|(_, i)| i == first) => {
            format!("RoCE v2 is at {first}")
        }
        _ => {
            let each: Vec<String> = rows.iter().map(|(k, i)| format!("{k} {i}")).collect();
            format!("RoCE v2 is at {}", joined(&each))
        }
    }
}

/// What is wrong with one index on the ports in use; `lead` begins the sentence.
pub(super) fn row_findings(a: &Analysis, j: &Judged, index: i32, lead: &str) -> Vec<Finding> {
    let ports = targets(a, j);
    let groups = by_fault(a, &ports, &|_| Some(index));
    let wrong: usize = groups.iter().map(|(_, keys)| keys.len()).sum();
    let partly = if wrong < ports.len() && !groups.is_empty() {
        format!(" (right on {} more)", ports.len() - wrong)
    } else {
        String::new()
    };
    groups
        .into_iter()
        .map(|(fault, keys)| {
            // Version 1 works within one segment; what is not there, or does not leave its link, does not work at all.
            let severity = match fault {
                RowFault::V1 | RowFault::LinkLocal(_, true) => Severity::Warning,
                _ => Severity::Error,
            };
            let message = format!(
                "{lead}{} on {}{partly}; {}",
                fault.text(),
                joined(&keys),
                right_rows(a, &keys)
            );
            a.correct(Finding::new(severity, GID_INDEX, message), j, GID_INDEX)
        })
        .collect()
}
