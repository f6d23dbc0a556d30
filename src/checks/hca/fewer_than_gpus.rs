//! `hca.fewer-than-gpus`: GPUs that share a data port, or have none beside them.

use crate::checks::port::shared::{counted, joined, near_data_ports, some_of};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::Gpu;

declare_check! {
    FEWER_THAN_GPUS = "hca" / "fewer-than-gpus",
    title: "there are fewer data ports than GPUs",
    severity: Warning,
    since: "0.1.0",
    subject: Node,
    reads: ["sys/class/infiniband", "sys/bus/pci/devices"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    let data = facts.decision.data().count();
    if let Err(unread) = &facts.node.gpus
        && !unread.is_absent()
    {
        collector.unread(unread);
    }
    let gpus = granted(facts);
    if data > 0 && !gpus.is_empty() {
        collector.look();
        if data < gpus.len() {
            collector.find(finding(facts, &gpus, data));
        }
    }
    collector.verdict("no GPU, or no data port")
}

/// The GPUs a container was given, which the driver's proc files show; all of them elsewhere.
fn granted<'a>(facts: &Facts<'a>) -> Vec<(usize, &'a Gpu)> {
    let all = || facts.node.gpus().iter().enumerate();
    let shown: Vec<(usize, &Gpu)> = all().filter(|(_, g)| g.information.is_ok()).collect();
    if facts.node.container.is_some() && !shown.is_empty() {
        shown
    } else {
        all().collect()
    }
}

fn finding(facts: &Facts, gpus: &[(usize, &Gpu)], data: usize) -> Finding {
    let beside = near_data_ports(facts);
    let without: Vec<String> = gpus
        .iter()
        .filter(|(position, _)| beside.get(*position) == Some(&0))
        .map(|(_, g)| g.pci.address.to_string())
        .collect();
    let ports = counted(data, "data port");
    // Where no GPU has one beside it the node is built like that, or is a virtual machine that does not show it.
    let uneven = !without.is_empty() && without.len() < gpus.len();
    let (severity, message) = if uneven {
        (
            Severity::Warning,
            format!(
                "{ports} for {} GPUs, none beside {}",
                gpus.len(),
                some_of(&without)
            ),
        )
    } else {
        (
            Severity::Note,
            format!("{ports} for {} GPUs: they share them", gpus.len()),
        )
    };
    let finding = Finding::new(severity, "node", message)
        .file(
            "sys/class/infiniband",
            joined(facts.decision.data().map(|p| &p.key.hca)),
        )
        .file(
            "sys/bus/pci/devices",
            joined(gpus.iter().map(|(_, g)| g.pci.address)),
        );
    if uneven && facts.node.container.is_some() {
        finding.fix("ask for an RDMA device for each GPU: more of the plugin's resource, and a network for each")
    } else if uneven {
        finding
            .fix("see which port beside those GPUs is out, and why")
            .command("rdmactl devices")
    } else {
        finding.fix(
            "nothing, if the server was ordered so; --expect hcas=N says what it ought to have",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::FEWER_THAN_GPUS;
    use crate::checks::port::testing::Scene;
    use crate::model::PortState;

    #[test]
    fn a_gpu_that_lost_its_port_is_worse_than_a_node_built_so() {
        let lost = Scene::of("h100-8gpu-infiniband")
            .port("mlx5_0", |p| p.state = Ok(PortState::Down))
            .port("mlx5_1", |p| p.state = Ok(PortState::Down));
        assert_eq!(lost.short(&FEWER_THAN_GPUS), ["warning node"]);
        assert!(Scene::of("h100-8gpu-infiniband").passes(&FEWER_THAN_GPUS));
        assert!(Scene::of("no-rdma-gpus").is_not_applicable(&FEWER_THAN_GPUS));
    }
}
