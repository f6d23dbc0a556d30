//! `env.from-config-file`: a setting comes from a configuration file.

use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged, is_setting};
use crate::nccl::config::Origin;

declare_check! {
    FROM_CONFIG_FILE = "env" / "from-config-file",
    title: "a setting comes from a configuration file",
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
    let image = a.node.container.is_some();
    let mut found = Vec::new();
    for (name, setting) in j.settings.iter().filter(|(n, _)| is_setting(n)) {
        let Origin::File { path, .. } = &setting.effective.origin else {
            continue;
        };
        let message = if image {
            format!("comes from {path} in the image, not from the job's environment")
        } else {
            format!("comes from {path}, not from the job's environment")
        };
        // On a host the administrator put it there; in an image it is what somebody once needed elsewhere.
        let severity = if image {
            Severity::Warning
        } else {
            Severity::Note
        };
        let finding = Analysis::shown(Finding::new(severity, name, message), j, name);
        found.push(Analysis::removed(finding, j, name));
    }
    found
}
