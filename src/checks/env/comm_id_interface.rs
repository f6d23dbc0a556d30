//! `env.comm-id-interface`: NCCL_COMM_ID decides the bootstrap interface.

use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};
use crate::nccl::interface::Bootstrap;

const COMM_ID: &str = "NCCL_COMM_ID";

declare_check! {
    COMM_ID_INTERFACE = "env" / "comm-id-interface",
    title: "NCCL_COMM_ID decides the bootstrap interface",
    severity: Error,
    since: "0.1.0",
    subject: Variable,
    reads: ["NCCL_COMM_ID", "etc/nccl.conf"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    super::judge(facts, find)
}

fn find(_: &Analysis, j: &Judged) -> Vec<Finding> {
    if j.value(COMM_ID).is_none() {
        return Vec::new();
    }
    let finding = match &j.prediction.bootstrap {
        Bootstrap::Failed(code) => Finding::new(
            Severity::Error,
            COMM_ID,
            format!(
                "no interface here is in the subnet of this address, so NCCL cannot start ({code})"
            ),
        ),
        Bootstrap::Interface(bootstrap) => match j.prediction.out_of_band() {
            Some(other) if other.name != bootstrap.name => Finding::new(
                Severity::Note,
                COMM_ID,
                format!(
                    "bootstrap goes over {}, in the subnet of this address, while RDMA connections are set up over {}",
                    bootstrap.name, other.name
                ),
            ),
            _ => return Vec::new(),
        },
        Bootstrap::Unknown => return Vec::new(),
    };
    vec![Analysis::removed(
        Analysis::shown(finding, j, COMM_ID),
        j,
        COMM_ID,
    )]
}
