//! `hca.far-from-gpu`: data ports that share no switch with a GPU.

use crate::checks::port::shared::{brief, joined};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::Distance;
use crate::roles::Assigned;

declare_check! {
    FAR_FROM_GPU = "hca" / "far-from-gpu",
    title: "data ports share no PCI switch with a GPU",
    severity: Warning,
    since: "0.1.0",
    subject: Port,
    reads: [
        "sys/class/infiniband/*/device",
        "sys/bus/pci/devices/*/numa_node",
    ],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    if let Err(unread) = &facts.node.gpus
        && !unread.is_absent()
    {
        collector.unread(unread);
    }
    let (mut node, mut other_node): (Vec<&Assigned>, Vec<&Assigned>) = (Vec::new(), Vec::new());
    for assigned in facts.decision.data() {
        match assigned.nearest() {
            None => {}
            Some(Distance::Pix | Distance::Pxb) => collector.look(),
            // On Grace every device has a host bridge of its own, and the chip in between is no detour.
            Some(Distance::Phb | Distance::Node) if is_arm(facts) => collector.look(),
            Some(Distance::Phb | Distance::Node) => node.push(assigned),
            Some(Distance::Sys) => match numa_unread(facts, assigned) {
                Some(unread) => collector.unread(unread),
                None => other_node.push(assigned),
            },
        }
    }
    if !node.is_empty() {
        collector.find(finding(facts, &node, Severity::Note));
    }
    if !other_node.is_empty() {
        collector.find(finding(facts, &other_node, Severity::Warning));
    }
    collector.verdict("no GPU, or no data port on PCI")
}

fn is_arm(facts: &Facts) -> bool {
    facts.health.kernel.is_arm == Ok(true)
}

/// A NUMA node that could not be read, so that the same one and another cannot be told apart.
fn numa_unread<'a>(facts: &Facts<'a>, assigned: &Assigned) -> Option<&'a crate::model::Unread> {
    let port = facts.node.hca(&assigned.key.hca)?.pci()?;
    port.numa_node.as_ref().err().or_else(|| {
        facts
            .node
            .gpus()
            .iter()
            .find_map(|g| g.pci.numa_node.as_ref().err())
    })
}

fn finding(facts: &Facts, ports: &[&Assigned], severity: Severity) -> Finding {
    let far = severity == Severity::Warning;
    let keys = ports.iter().map(|p| &p.key);
    let what = if far {
        "on another NUMA node than every GPU"
    } else {
        "behind the host bridge from every GPU"
    };
    let mut finding = Finding::new(
        severity,
        joined(keys.clone()),
        format!("{what}, so no GPUDirect RDMA by default: {}", brief(keys)),
    );
    let mut seen: Vec<&str> = Vec::new();
    for assigned in ports {
        let Some(function) = facts.node.hca(&assigned.key.hca).and_then(|h| h.pci()) else {
            continue;
        };
        if let Ok(numa) = function.numa_node
            && !seen.contains(&function.dir.as_str())
        {
            seen.push(&function.dir);
            finding = finding.file(&format!("{}/numa_node", function.dir), numa);
        }
    }
    let level = if far { "SYS" } else { "PHB" };
    finding
        .fix("where the card cannot be moved to a GPU's switch, GPUDirect RDMA over this distance can be allowed; measure it")
        .setting("NCCL_NET_GDR_LEVEL", level)
}

#[cfg(test)]
mod tests {
    use super::FAR_FROM_GPU;
    use crate::checks::port::testing::Scene;

    #[test]
    fn grace_is_no_detour() {
        let scene = |arm: bool| Scene::of("grace-4gpu").health(|h| h.kernel.is_arm = Ok(arm));
        assert!(scene(true).passes(&FAR_FROM_GPU));
        assert!(Scene::of("h100-8gpu-infiniband").passes(&FAR_FROM_GPU));
    }

    #[test]
    fn another_numa_node_is_a_warning() {
        let scene = Scene::of("no-gpu-roce-storage");
        assert!(scene.is_not_applicable(&FAR_FROM_GPU));
    }
}
