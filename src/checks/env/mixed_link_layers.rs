//! `env.mixed-link-layers`: NCCL uses InfiniBand and RoCE ports together.

use super::{HCA, joined};
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};
use crate::model::PortKey;
use crate::nccl::device::Link;

declare_check! {
    MIXED_LINK_LAYERS = "env" / "mixed-link-layers",
    title: "NCCL uses InfiniBand and RoCE ports together",
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
    let of = |link: Link| -> Vec<&PortKey> {
        j.used
            .iter()
            .filter(|u| u.link == link)
            .map(|u| &u.key)
            .collect()
    };
    let (ib, roce) = (of(Link::InfiniBand), of(Link::Roce));
    if ib.is_empty() || roce.is_empty() {
        return Vec::new();
    }
    let message = format!(
        "mixes InfiniBand ({}) and RoCE ({}), which cannot talk to each other",
        joined(&ib),
        joined(&roce)
    );
    vec![a.correct(Finding::new(Severity::Warning, HCA, message), j, HCA)]
}
