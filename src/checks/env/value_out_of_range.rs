//! `env.value-out-of-range`: a value is outside what the setting can mean.

use super::{DISABLE, GID_INDEX};
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};
use crate::nccl::number::parse;
use crate::nccl::variables::catalogue::{Kind, Variable, find as find_variable};

const PKEY: &str = "NCCL_IB_PKEY";
const QPS: &str = "NCCL_IB_QPS_PER_CONNECTION";

declare_check! {
    VALUE_OUT_OF_RANGE = "env" / "value-out-of-range",
    title: "a value is outside what the setting can mean",
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
    let mut found = Vec::new();
    for (name, setting) in j.settings.iter() {
        let value = setting.effective.value.as_str();
        // These have checks of their own.
        if [DISABLE, GID_INDEX, "NCCL_NET_GDR_LEVEL"].contains(&name) || value.is_empty() {
            continue;
        }
        let fault = find_variable(name).and_then(|v| fault(v, value));
        if let Some(message) = fault.or_else(|| too_many_pairs(j, name, value)) {
            let finding = Analysis::shown(Finding::new(Severity::Warning, name, message), j, name);
            found.push(if super::is_planned(a, name) {
                a.corrected(finding, j, name)
            } else {
                Analysis::removed(finding, j, name)
            });
        }
    }
    found
}

fn fault(variable: &Variable, value: &str) -> Option<String> {
    /// No adapter has a larger table of partition keys; keys themselves begin at 0x7fff or 0x8000.
    const LARGEST_PKEY_TABLE: i64 = 1024;
    match variable.kind {
        Kind::Integer { min, max } => {
            let number = parse(value);
            if number.overflow || !number.digits {
                return None;
            }
            if variable.name == PKEY && number.value >= LARGEST_PKEY_TABLE {
                return Some(format!(
                    "{value} looks like a key; what is meant is its index in the table"
                ));
            }
            let outside = !(min..=max).contains(&number.value);
            outside.then(|| {
                if max == i64::MAX {
                    format!(
                        "{value} is below {min}, the least that means something: {}",
                        variable.meaning
                    )
                } else {
                    format!("{value} is outside {min}..{max}: {}", variable.meaning)
                }
            })
        }
        Kind::Words { words, exact } => {
            let known = |w: &&&str| {
                if exact {
                    **w == value
                } else {
                    w.eq_ignore_ascii_case(value)
                }
            };
            let digits = variable.name.ends_with("_LEVEL")
                && value.starts_with(|c: char| c.is_ascii_digit());
            if digits || words.iter().any(|w| known(&w)) {
                return None;
            }
            Some(format!(
                "{value:?} is none of {}, and NCCL does not say so",
                words.join(", ")
            ))
        }
        Kind::Devices | Kind::Interfaces | Kind::Text => None,
    }
}

/// Queue pairs of a joined device have room for 128, which NCCL does not check.
fn too_many_pairs(j: &Judged, name: &str, value: &str) -> Option<String> {
    const ROOM: i64 = 128;
    if name != QPS {
        return None;
    }
    let largest = j.prediction.merged.iter().map(|m| m.members.len()).max()?;
    let pairs = parse(value)
        .value
        .saturating_mul(i64::try_from(largest).ok()?);
    (pairs > ROOM).then(|| {
        format!("{value} times {largest} joined ports is more than {ROOM} queue pairs, which NCCL does not check")
    })
}
