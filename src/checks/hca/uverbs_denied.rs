//! `hca.uverbs-denied`: device nodes that this user may not open.

use crate::checks::port::shared::{joined, some_of};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::{Unread, Why};

declare_check! {
    UVERBS_DENIED = "hca" / "uverbs-denied",
    title: "this user may not open an RDMA device",
    severity: Error,
    since: "0.1.0",
    subject: Device,
    reads: ["dev/infiniband/*"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    let mut denied: Vec<(&str, &Unread)> = Vec::new();
    for (name, access) in &facts.health.uverbs_access {
        match access {
            Ok(()) => collector.look(),
            Err(unread) if unread.why == Why::Denied => denied.push((name, unread)),
            // It went away since: hca.uverbs-missing.
            Err(unread) if unread.is_absent() => {}
            Err(unread) => collector.unread(unread),
        }
    }
    if !denied.is_empty() {
        collector.find(finding(facts, &denied));
    }
    collector.verdict("asked only on the live machine, of the device nodes it has")
}

fn finding(facts: &Facts, denied: &[(&str, &Unread)]) -> Finding {
    let is_denied = |name: &str| denied.iter().any(|(n, _)| *n == name);
    let left = facts.decision.data().any(|p| !is_denied(&p.key.hca));
    let used = facts.decision.data().any(|p| is_denied(&p.key.hca));
    let severity = match (used, left) {
        (true, false) => Severity::Error,
        (true, true) => Severity::Warning,
        (false, _) => Severity::Note,
    };
    let names = denied.iter().map(|(name, _)| *name);
    let finding = Finding::new(
        severity,
        joined(names.clone()),
        format!(
            "this user may not read and write the device nodes of {}",
            some_of(names)
        ),
    );
    let paths: Vec<String> = denied.iter().map(|(_, u)| format!("/{}", u.path)).collect();
    let finding = denied
        .iter()
        .fold(finding, |f, (_, unread)| f.file(&unread.path, &unread.why));
    if facts.node.container.is_some() {
        finding
            .fix("let the container's user open them: in Docker as below; in a pod run as root or have the plugin set their mode")
            .command("docker run --device=/dev/infiniband --user 0 ...")
    } else {
        finding
            .fix("give them back the mode with which the kernel makes them")
            .command(format!("chmod 0666 {}", paths.join(" ")))
    }
}

#[cfg(test)]
mod tests {
    use super::UVERBS_DENIED;
    use crate::checks::port::testing::Scene;
    use crate::model::{Unread, Why};

    #[test]
    fn severity_follows_what_is_left() {
        let scene = |denied: &[&str], allowed: &[&str]| {
            Scene::of("a100-8gpu-roce").health(|h| {
                for name in denied {
                    let unread = Unread::new(format!("dev/infiniband/{name}"), Why::Denied);
                    h.uverbs_access.insert((*name).to_owned(), Err(unread));
                }
                for name in allowed {
                    h.uverbs_access.insert((*name).to_owned(), Ok(()));
                }
            })
        };
        assert_eq!(
            scene(&["mlx5_1"], &["mlx5_2"]).short(&UVERBS_DENIED),
            ["warning mlx5_1"]
        );
        assert!(scene(&[], &["mlx5_2"]).passes(&UVERBS_DENIED));
        assert!(scene(&[], &[]).is_not_applicable(&UVERBS_DENIED));
    }
}
