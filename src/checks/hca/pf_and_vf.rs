//! `hca.pf-and-vf`: NCCL would take a physical function and its virtual functions as one card.

use crate::checks::port::shared::{brief, joined, releases};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::Hca;
use crate::nccl::device::enumerate;

declare_check! {
    PF_AND_VF = "hca" / "pf-and-vf",
    title: "NCCL would use a physical function and its virtual functions together",
    severity: Warning,
    since: "0.1.0",
    subject: Device,
    reads: [
        "sys/class/infiniband/*/device",
        "sys/bus/pci/devices/*/physfn",
        "sys/class/infiniband/*/ports/*/state",
    ],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    let mut taken: Vec<&Hca> = Vec::new();
    for release in releases(facts) {
        let Ok(devices) = enumerate(facts.node, facts.settings, release) else {
            continue;
        };
        for device in devices.list {
            if !taken.iter().any(|h| h.name == device.hca.name) {
                taken.push(device.hca);
            }
        }
    }
    for physical in taken.iter().filter(|h| h.physfn.is_none()) {
        collector.look();
        let Some(function) = physical.pci() else {
            continue;
        };
        let mut names: Vec<&str> = taken
            .iter()
            .filter(|h| h.physfn.as_deref() == Some(&function.dir))
            .map(|h| &*h.name)
            .collect();
        names.sort_by(|a, b| crate::model::order::natural(a, b));
        if !names.is_empty() {
            collector.find(finding(facts, physical, &names));
        }
    }
    collector.verdict("no port that NCCL would take")
}

fn finding(facts: &Facts, physical: &Hca, virtual_ones: &[&str]) -> Finding {
    let list = facts.settings.get("NCCL_IB_HCA");
    let how = if list.is_none() {
        "NCCL_IB_HCA is unset: NCCL joins"
    } else {
        "NCCL_IB_HCA joins"
    };
    let mut finding = Finding::new(
        Severity::Warning,
        format!("{}, {}", physical.name, joined(virtual_ones)),
        format!(
            "{how} {} and its virtual function {} into one device",
            physical.name,
            brief(virtual_ones)
        ),
    );
    if let Some(list) = list {
        finding = finding.evidence("NCCL_IB_HCA", list);
    }
    let finding = virtual_ones
        .iter()
        .filter_map(|name| facts.node.hca(name))
        .filter_map(|h| Some((h.pci()?, h.physfn.as_ref()?)))
        .fold(finding, |f, (function, physfn)| {
            f.file(
                &format!("{}/physfn", function.dir),
                physfn.rsplit('/').next().unwrap_or(physfn),
            )
        });
    finding
        .fix("name the data ports in NCCL_IB_HCA, which `rdmactl env` does")
        .command("eval \"$(rdmactl env)\"")
}

#[cfg(test)]
mod tests {
    use super::PF_AND_VF;
    use crate::checks::port::testing::Scene;

    #[test]
    fn a_list_with_one_of_them_is_fine() {
        let scene = Scene::of("pf-and-vf-both");
        let found = scene.found(&PF_AND_VF);
        let name = found[0].subject.split(',').next().unwrap().to_owned();
        assert!(
            scene
                .setting("NCCL_IB_HCA", &format!("={name}"))
                .passes(&PF_AND_VF)
        );
        assert!(Scene::of("a100-8gpu-roce").passes(&PF_AND_VF));
    }
}
