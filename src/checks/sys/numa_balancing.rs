//! `sys.numa-balancing`

use std::collections::BTreeSet;

use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};

declare_check! {
    NUMA_BALANCING = "sys" / "numa-balancing",
    title: "the kernel moves pages between NUMA nodes while the job runs",
    severity: Warning,
    since: "0.1.0",
    subject: Node,
    reads: ["proc/sys/kernel/numa_balancing"],
    run: numa_balancing,
}

fn numa_balancing(facts: &Facts) -> Verdict {
    let mut seen = Collector::default();
    let value = match &facts.health.kernel.numa_balancing {
        Ok(value) => *value,
        Err(unread) if unread.is_absent() => {
            return seen.verdict("this kernel does no NUMA balancing");
        }
        Err(unread) => {
            seen.unread(unread);
            return seen.verdict("");
        }
    };
    if facts.node.gpus().is_empty() && facts.node.hcas().is_empty() {
        return seen.verdict("neither a GPU nor an RDMA device here");
    }
    seen.look();
    if value == 0 {
        return seen.verdict("");
    }
    let functions = facts
        .node
        .gpus()
        .iter()
        .map(|g| &g.pci)
        .chain(facts.node.hcas().iter().filter_map(|h| h.pci()));
    let nodes: BTreeSet<i32> = functions
        .filter_map(|f| f.numa_node.as_ref().ok().copied())
        .filter(|node| *node >= 0)
        .collect();
    let (severity, message) = if nodes.len() > 1 {
        (
            Severity::Warning,
            format!(
                "is {value}, with GPUs and NICs on {} NUMA nodes",
                nodes.len()
            ),
        )
    } else {
        (
            Severity::Note,
            format!("is {value}; this node's GPUs and NICs are on no more than one NUMA node"),
        )
    };
    seen.find(
        Finding::new(severity, "numa_balancing", message)
            .file("proc/sys/kernel/numa_balancing", value)
            .fix("switch it off, for good in /etc/sysctl.d")
            .command("sysctl -w kernel.numa_balancing=0"),
    );
    seen.verdict("")
}

#[cfg(test)]
mod tests {
    use super::NUMA_BALANCING;
    use crate::checks::net::fixture::{Bench, absent, denied};
    use crate::checks::{Severity, Verdict};

    #[test]
    fn it_matters_with_several_numa_nodes() {
        let mut bench = Bench::new();
        bench.gpu("pci0000:17/0000:18:00.0", 0);
        bench.health.kernel.numa_balancing = Ok(1);
        assert_eq!(bench.findings(&NUMA_BALANCING)[0].severity, Severity::Note);
        bench.gpu("pci0000:97/0000:98:00.0", 1);
        assert_eq!(
            bench.findings(&NUMA_BALANCING)[0].severity,
            Severity::Warning
        );
        bench.health.kernel.numa_balancing = Ok(0);
        assert_eq!(bench.run(&NUMA_BALANCING), Verdict::Passed(1));
    }

    #[test]
    fn absence_and_refusal_differ() {
        let mut bench = Bench::new();
        bench.health.kernel.numa_balancing = absent("numa_balancing");
        assert!(matches!(
            bench.run(&NUMA_BALANCING),
            Verdict::NotApplicable(_)
        ));
        bench.health.kernel.numa_balancing = denied("numa_balancing");
        assert!(matches!(bench.run(&NUMA_BALANCING), Verdict::Unknown(_)));
    }
}
