//! `env.plugin-ignores`: a network plugin is in charge, and reads settings its own way.

use super::DISABLE;
use super::plugin::{is_disabled, plugin};
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};

declare_check! {
    PLUGIN_IGNORES = "env" / "plugin-ignores",
    title: "a network plugin is in charge, and reads settings its own way",
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
    let Some((subject, name)) = plugin(a, j) else {
        return Vec::new();
    };
    let finding = if is_disabled(j) {
        let message =
            format!("switches off NCCL's own transport only: the plugin {name} does not read it");
        Finding::new(Severity::Warning, DISABLE, message)
    } else {
        let message = format!(
            "a plugin ({name}) is the network: NCCL_IB_* are read by it, by its own rules, not by NCCL"
        );
        Finding::new(Severity::Note, subject, message)
    };
    let finding = Analysis::shown(finding, j, subject);
    vec![if is_disabled(j) {
        finding
            .fix("keep the plugin out as well if sockets are wanted; else leave the switch alone")
            .setting(DISABLE, "0")
    } else {
        finding.fix("the plugin's log says which ports it uses (NCCL_DEBUG=INFO)")
    }]
}
