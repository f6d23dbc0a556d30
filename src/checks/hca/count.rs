//! `hca.count`: the number of data ports against what the node ought to have.

use crate::checks::port::shared::{counted, joined, some_of};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::roles::Role;

declare_check! {
    COUNT = "hca" / "count",
    title: "the number of data ports is not the expected one",
    severity: Error,
    since: "0.1.0",
    subject: Node,
    reads: ["sys/class/infiniband"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    let Some(wanted) = facts.expect.hcas else {
        return Verdict::NotApplicable("nothing is expected: --expect hcas=N");
    };
    if let Err(unread) = &facts.node.hcas
        && !unread.is_absent()
    {
        collector.unread(unread);
        return collector.verdict("no RDMA device");
    }
    collector.look();
    let data: Vec<_> = facts.decision.data().map(|p| &p.key).collect();
    if data.len() != wanted {
        let out: Vec<String> = facts
            .decision
            .ports
            .iter()
            .filter(|p| p.role != Role::Data)
            .map(|p| format!("{} ({})", p.key, p.reason.word()))
            .collect();
        let (severity, rest) = if data.len() < wanted {
            (Severity::Error, some_of(&out))
        } else {
            (Severity::Warning, String::new())
        };
        let rest = if rest.is_empty() {
            rest
        } else {
            format!("; out are {rest}")
        };
        collector.find(
            Finding::new(
                severity,
                "node",
                format!(
                    "{}, and {wanted} are expected{rest}",
                    counted(data.len(), "data port")
                ),
            )
            .evidence("--expect hcas", wanted)
            .file(
                "sys/class/infiniband",
                joined(facts.node.hcas().iter().map(|h| &h.name)),
            )
            .fix("see each port's role and the reason for it")
            .command("rdmactl devices"),
        );
    }
    collector.verdict("no RDMA device")
}

#[cfg(test)]
mod tests {
    use super::COUNT;
    use crate::checks::port::testing::Scene;

    #[test]
    fn fewer_is_an_error_and_more_a_warning() {
        let scene = |n: usize| Scene::of("a100-8gpu-roce").expect(&format!("hcas={n}"));
        assert_eq!(scene(9).short(&COUNT), ["error node"]);
        assert!(scene(8).passes(&COUNT));
        assert_eq!(scene(4).short(&COUNT), ["warning node"]);
        assert!(Scene::of("a100-8gpu-roce").is_not_applicable(&COUNT));
    }
}
