//! `env.start-fails`: NCCL cannot start with these settings.

use super::IFNAME;
use super::gid::ADDR_RANGE;
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};
use crate::nccl::outcome::Crash;

const FORCE_MERGE: &str = "NCCL_NET_FORCE_MERGE";

declare_check! {
    START_FAILS = "env" / "start-fails",
    title: "NCCL cannot start with these settings",
    severity: Error,
    since: "0.1.0",
    subject: Node,
    reads: ["NCCL_*", "etc/nccl.conf"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    super::judge(facts, find)
}

fn find(a: &Analysis, j: &Judged) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(crash) = j.prediction.crash {
        let subject = match crash {
            Crash::RangeWithoutSlash => ADDR_RANGE,
            Crash::EmptyMergeGroup => FORCE_MERGE,
            Crash::NoDevicePath => "NCCL",
        };
        let finding = Finding::new(
            Severity::Error,
            subject,
            format!("with release {}: {crash}", j.release),
        );
        found.push(if subject == "NCCL" {
            finding
                .evidence("NCCL", j.release)
                .fix("use another release of NCCL, or real devices")
        } else {
            Analysis::removed(Analysis::shown(finding, j, subject), j, subject)
        });
    }
    if !j.prediction.topo_result.is_success() {
        let message = format!(
            "the ports it names cannot be joined: {}",
            j.prediction.topo_result
        );
        let finding = Finding::new(Severity::Error, FORCE_MERGE, message);
        found.push(Analysis::removed(
            Analysis::shown(finding, j, FORCE_MERGE),
            j,
            FORCE_MERGE,
        ));
    }
    let set = j.filled(IFNAME).is_some_and(|v| v.len() > 1);
    if j.prediction.interfaces.is_empty() && !set && a.node.interfaces.is_ok() {
        let message = "there is no interface with an address, so RDMA is off and NCCL cannot start";
        found.push(
            Finding::new(Severity::Error, IFNAME, message)
                .evidence(IFNAME, "not set")
                .fix("give an interface an address (ip address add ADDRESS/LENGTH dev NAME)"),
        );
    }
    found
}
