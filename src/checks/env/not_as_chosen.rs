//! `env.not-as-chosen`: NCCL would not do what `rdmactl env` chooses.

use super::{ALL, joined};
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};
use crate::model::PortKey;
use crate::nccl::device::Link;

declare_check! {
    NOT_AS_CHOSEN = "env" / "not-as-chosen",
    title: "NCCL would not do what `rdmactl env` chooses",
    severity: Warning,
    since: "0.1.0",
    subject: Node,
    reads: ["NCCL_*", "etc/nccl.conf"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    // The others say it better. This one is for what none of them sees.
    let seen = ALL
        .iter()
        .filter(|c| c.id != NOT_AS_CHOSEN.id)
        .any(|c| match (c.run)(facts) {
            Verdict::Found(findings, _) => findings.iter().any(|f| f.severity > Severity::Note),
            _ => false,
        });
    if seen {
        return Verdict::NotApplicable("other checks say what differs");
    }
    super::judge(facts, find)
}

fn find(a: &Analysis, j: &Judged) -> Vec<Finding> {
    let message = match &a.choice.plan {
        Err(error) => Some(format!("`rdmactl env` has no answer on this node: {error}")),
        Ok(_) => difference(a, j),
    };
    message
        .map(|m| {
            Finding::new(Severity::Warning, "NCCL", m)
                .evidence("NCCL_IB_HCA", j.value("NCCL_IB_HCA").unwrap_or("not set"))
                .fix("use what `rdmactl env` prints")
                .command("eval \"$(rdmactl env)\"")
        })
        .into_iter()
        .collect()
}

fn difference(a: &Analysis, j: &Judged) -> Option<String> {
    if !j.prediction.uses_rdma() && super::plugin::plugin(a, j).is_none() {
        return Some(format!("NCCL {} would not use RDMA", j.release));
    }
    let data = a.data();
    let more: Vec<&PortKey> = j
        .used
        .iter()
        .map(|u| &u.key)
        .filter(|k| !data.contains(k))
        .collect();
    let less: Vec<&PortKey> = data.iter().copied().filter(|k| !j.uses(k)).collect();
    if !more.is_empty() || !less.is_empty() {
        return Some(format!(
            "NCCL {} would use {} and not {}",
            j.release,
            joined(&more),
            joined(&less)
        ));
    }
    let wrong = j.used.iter().filter(|u| u.link == Link::Roce).find(|u| {
        u.gid.is_none_or(|g| {
            !g.result.is_success()
                || g.index
                    .is_none_or(|i| crate::lint::row_fault(a.node, &u.key, i).is_some())
        })
    })?;
    Some(format!(
        "NCCL {} would use no right GID on {}",
        j.release, wrong.key
    ))
}
