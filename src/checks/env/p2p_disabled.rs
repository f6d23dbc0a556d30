//! `env.p2p-disabled`: GPUs of the node are kept from reaching each other directly.

use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};
use crate::nccl::number::cut;

declare_check! {
    P2P_DISABLED = "env" / "p2p-disabled",
    title: "GPUs of the node are kept from reaching each other directly",
    severity: Warning,
    since: "0.1.0",
    subject: Variable,
    reads: ["NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "etc/nccl.conf"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    super::judge(facts, find)
}

fn find(a: &Analysis, j: &Judged) -> Vec<Finding> {
    if a.node.gpus().len() < 2 {
        return Vec::new();
    }
    let mut names = Vec::new();
    if cut(j.settings.integer("NCCL_P2P_DISABLE", 0)) != 0 {
        names.push("NCCL_P2P_DISABLE");
    }
    if matches!(j.filled("NCCL_P2P_LEVEL"), Some("LOC" | "0")) {
        names.push("NCCL_P2P_LEVEL");
    }
    names
        .into_iter()
        .map(|name| {
            let message =
                "keeps the GPUs of this node apart: data goes through host memory, NVLink or not";
            let finding = Finding::new(Severity::Warning, name, message);
            Analysis::removed(Analysis::shown(finding, j, name), j, name)
        })
        .collect()
}
