//! `env.net-socket`: NCCL is told to use sockets.

use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};

const NET: &str = "NCCL_NET";

declare_check! {
    NET_SOCKET = "env" / "net-socket",
    title: "NCCL is told to use sockets",
    severity: Error,
    since: "0.1.0",
    subject: Variable,
    reads: ["NCCL_NET", "etc/nccl.conf"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    super::judge(facts, find)
}

fn find(_: &Analysis, j: &Judged) -> Vec<Finding> {
    if !j
        .filled(NET)
        .is_some_and(|v| v.eq_ignore_ascii_case("socket"))
    {
        return Vec::new();
    }
    let message = "makes NCCL use sockets, whatever else is set";
    let finding = Finding::new(Severity::Error, NET, message);
    vec![Analysis::removed(Analysis::shown(finding, j, NET), j, NET)]
}
