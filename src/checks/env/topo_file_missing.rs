//! `env.topo-file-missing`: the topology file that is named does not exist.

use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};

const TOPO_FILE: &str = "NCCL_TOPO_FILE";

declare_check! {
    TOPO_FILE_MISSING = "env" / "topo-file-missing",
    title: "the topology file that is named does not exist",
    severity: Warning,
    since: "0.1.0",
    subject: Variable,
    reads: ["NCCL_TOPO_FILE", "etc/nccl.conf"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    super::judge(facts, find)
}

fn find(a: &Analysis, j: &Judged) -> Vec<Finding> {
    let Some(path) = j.filled(TOPO_FILE) else {
        return Vec::new();
    };
    if a.sources.exists.get(path) != Some(&false) {
        return Vec::new();
    }
    let message = format!(
        "{path} does not exist: NCCL goes on with the topology it sees, and hardly says so"
    );
    let finding = Finding::new(Severity::Warning, TOPO_FILE, message);
    vec![Analysis::removed(
        Analysis::shown(finding, j, TOPO_FILE),
        j,
        TOPO_FILE,
    )]
}
