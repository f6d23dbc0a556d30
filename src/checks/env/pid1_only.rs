//! `env.pid1-only`: PID 1 has settings that this process lacks.

use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};

declare_check! {
    PID1_ONLY = "env" / "pid1-only",
    title: "PID 1 has settings that this process lacks",
    severity: Note,
    since: "0.1.0",
    subject: Variable,
    reads: ["proc/1/environ"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    const NOTHING: &str = "PID 1 was not looked at";
    let mut collector = Collector::default();
    let Some(sources) = facts.lint.map(|a| a.sources) else {
        return collector.verdict(NOTHING);
    };
    match &sources.pid1 {
        None => return collector.verdict(NOTHING),
        // A process of another user is its own business; that is no fault of this node.
        Some(Err(unread)) if unread.is_absent() => return collector.verdict(NOTHING),
        Some(Err(unread)) => {
            collector.unread(unread);
            return collector.verdict(NOTHING);
        }
        Some(Ok(_)) => collector.look(),
    }
    let only = sources.only_pid1();
    if !only.is_empty() {
        let names: Vec<&str> = only.iter().map(|(n, _)| *n).collect();
        let message = format!(
            "PID 1 has {} that {} lacks or has otherwise: {}",
            if only.len() == 1 {
                "a setting".to_owned()
            } else {
                format!("{} settings", only.len())
            },
            sources.whose,
            names.join(", ")
        );
        let mut finding = Finding::new(Severity::Note, "PID 1", message);
        for (name, value) in &only {
            finding = finding.file("proc/1/environ", format!("{name}={value}"));
        }
        collector.find(
            finding
                .fix("start the job with `rdmactl exec -- PROGRAM`, or take them over")
                .command("eval \"$(rdmactl env --from-pid 1)\""),
        );
    }
    collector.verdict(NOTHING)
}
