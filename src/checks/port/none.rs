//! `port.none`: GPUs and nothing to connect them with.

use super::shared::{counted, joined};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};

declare_check! {
    NONE = "port" / "none",
    title: "there are GPUs, and no RDMA device",
    severity: Error,
    since: "0.1.0",
    subject: Node,
    reads: ["sys/class/infiniband", "sys/bus/pci/devices"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    let node = facts.node;
    if let Err(unread) = &node.hcas
        && !unread.is_absent()
    {
        collector.unread(unread);
    } else if node.hcas().iter().any(|h| !h.is_software()) {
        collector.look();
    } else if !node.gpus().is_empty() || facts.expect.hcas.is_some_and(|n| n > 0) {
        collector.find(finding(facts));
    } else if let Err(unread) = &node.gpus
        && !unread.is_absent()
    {
        collector.unread(unread);
    }
    collector.verdict("no GPU and no RDMA device")
}

fn finding(facts: &Facts) -> Finding {
    let gpus = facts.node.gpus();
    let software: Vec<&str> = facts.node.hcas().iter().map(|h| &*h.name).collect();
    let what = counted(gpus.len(), "GPU");
    let finding = if software.is_empty() {
        Finding::new(
            Severity::Error,
            "node",
            format!("{what} and no RDMA device: NCCL goes over TCP sockets, without a warning"),
        )
    } else {
        Finding::new(
            Severity::Warning,
            "node",
            format!(
                "{what}, and RDMA devices in software only: {}",
                joined(software)
            ),
        )
    };
    let finding = if gpus.is_empty() {
        finding.evidence("--expect hcas", facts.expect.hcas.unwrap_or_default())
    } else {
        finding.file(
            "sys/bus/pci/devices",
            joined(gpus.iter().map(|g| g.pci.address)),
        )
    };
    let idle = &facts.health.kernel.idle_rdma_functions;
    if facts.node.container.is_some() {
        finding.fix(
            "give the container an RDMA device: in Docker --device=/dev/infiniband, in a pod the RDMA plugin's resource; \
             if the host has none, see there",
        )
    } else if idle.is_empty() {
        finding.fix(
            "fit an RDMA card, or pass one (or a virtual function) through to this virtual machine",
        )
    } else {
        finding.fix(format!(
            "load the RDMA driver of {} (driver.rdma-modules says which)",
            joined(idle.keys())
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::NONE;
    use crate::checks::Severity;
    use crate::checks::port::testing::Scene;

    #[test]
    fn gpus_without_a_device_are_an_error() {
        let found = Scene::of("h100-8gpu-infiniband")
            .node(|n| n.hcas = Ok(Vec::new()))
            .found(&NONE);
        assert_eq!(found[0].severity, Severity::Error);
        assert!(found[0].message.starts_with("8 GPUs and no RDMA device"));
    }

    #[test]
    fn a_node_with_neither_is_none_of_this_check() {
        let scene = Scene::of("h100-8gpu-infiniband").node(|n| {
            n.hcas = Ok(Vec::new());
            n.gpus = Ok(Vec::new());
        });
        assert!(scene.is_not_applicable(&NONE));
        assert!(Scene::of("h100-8gpu-infiniband").passes(&NONE));
    }
}
