//! `port.link-layers-mixed`: NCCL would take InfiniBand and RoCE ports together.

use std::collections::BTreeSet;

use super::shared::{brief, joined, key, port_file, releases};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::{LinkLayer, PortKey};
use crate::nccl::device::{Link, enumerate};

declare_check! {
    LINK_LAYERS_MIXED = "port" / "link-layers-mixed",
    title: "NCCL would use InfiniBand and RoCE ports together",
    severity: Warning,
    since: "0.1.0",
    subject: Port,
    reads: [
        "sys/class/infiniband/*/ports/*/state",
        "sys/class/infiniband/*/ports/*/link_layer",
    ],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    for (_, port) in facts.node.ports().filter(|(_, p)| p.is_active()) {
        if collector.value(&port.link_layer).is_some() {
            collector.look();
        }
    }
    let (infiniband, roce) = taken(facts);
    if !infiniband.is_empty() && !roce.is_empty() {
        collector.find(finding(facts, &infiniband, &roce));
    }
    collector.verdict("no ACTIVE port")
}

/// The ports NCCL takes with the present settings, by link layer.
fn taken(facts: &Facts) -> (Vec<PortKey>, Vec<PortKey>) {
    let (mut infiniband, mut roce) = (BTreeSet::new(), BTreeSet::new());
    for release in releases(facts) {
        let Ok(devices) = enumerate(facts.node, facts.settings, release) else {
            continue;
        };
        for device in devices.list {
            let key = key(device.hca, device.port);
            match device.link {
                Link::InfiniBand => infiniband.insert(key),
                Link::Roce => roce.insert(key),
            };
        }
    }
    let in_order = |keys: BTreeSet<PortKey>| -> Vec<PortKey> {
        facts
            .decision
            .ports
            .iter()
            .filter(|p| keys.contains(&p.key))
            .map(|p| p.key.clone())
            .collect()
    };
    (in_order(infiniband), in_order(roce))
}

fn finding(facts: &Facts, infiniband: &[PortKey], roce: &[PortKey]) -> Finding {
    // The few are the odd ones.
    let odd = if roce.len() <= infiniband.len() {
        roce
    } else {
        infiniband
    };
    let list = facts.settings.get("NCCL_IB_HCA");
    let how = if list.is_none() {
        "NCCL_IB_HCA is unset: NCCL mixes"
    } else {
        "NCCL_IB_HCA mixes"
    };
    let mut finding = Finding::new(
        Severity::Warning,
        joined(odd),
        format!(
            "{how} InfiniBand ({}) and RoCE ({})",
            brief(infiniband),
            brief(roce)
        ),
    );
    for key in infiniband.iter().take(1) {
        finding = finding.file(&port_file(key, "link_layer"), LinkLayer::InfiniBand);
    }
    for key in roce.iter().take(1) {
        finding = finding.file(&port_file(key, "link_layer"), LinkLayer::Ethernet);
    }
    if let Some(list) = list {
        finding = finding.evidence("NCCL_IB_HCA", list);
    }
    finding
        .fix("name the data ports in NCCL_IB_HCA, which `rdmactl env` does")
        .command("eval \"$(rdmactl env)\"")
}

#[cfg(test)]
mod tests {
    use super::LINK_LAYERS_MIXED;
    use crate::checks::port::testing::Scene;

    #[test]
    fn a_list_of_one_kind_is_fine() {
        let found = Scene::of("mixed-link-layers").found(&LINK_LAYERS_MIXED);
        assert_eq!(found.len(), 1);
        let name = found[0].subject.split('/').next().unwrap();
        let fine = Scene::of("mixed-link-layers").setting("NCCL_IB_HCA", &format!("={name}"));
        assert!(fine.passes(&LINK_LAYERS_MIXED));
        assert!(Scene::of("a100-8gpu-roce").passes(&LINK_LAYERS_MIXED));
    }
}
