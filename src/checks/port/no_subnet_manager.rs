//! `port.no-subnet-manager`: InfiniBand links that are up and lead nowhere.

use super::shared::{is_candidate, key, port_file, with_state};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::{LinkLayer, PortState};

declare_check! {
    NO_SUBNET_MANAGER = "port" / "no-subnet-manager",
    title: "no subnet manager has configured an InfiniBand port",
    severity: Error,
    since: "0.1.0",
    subject: Port,
    reads: [
        "sys/class/infiniband/*/ports/*/state",
        "sys/class/infiniband/*/ports/*/lid",
        "sys/class/infiniband/*/ports/*/sm_lid",
    ],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    let ports = facts
        .node
        .ports()
        .filter(|(h, p)| is_candidate(h) && p.link_layer == Ok(LinkLayer::InfiniBand));
    for (hca, port) in ports {
        let key = key(hca, port);
        let Some(state) = collector.value(&port.state) else {
            continue;
        };
        collector.look();
        let lid = port.lid.as_ref().ok().copied();
        let unset = matches!(lid, Some(0 | 0xffff));
        let (severity, message) = match (state, lid) {
            (PortState::Init | PortState::Armed, Some(lid)) if unset => (
                Severity::Error,
                format!("state is {state} with LID {lid}: no subnet manager has reached the port"),
            ),
            (PortState::Init, Some(lid)) => (
                Severity::Warning,
                format!(
                    "state is INIT: no subnet manager answers since the link came up; LID {lid} is an old one"
                ),
            ),
            (PortState::Init | PortState::Armed, _) => (
                Severity::Warning,
                format!("state is {state}: a subnet manager has not finished with the port"),
            ),
            (PortState::Active, Some(lid)) if unset => (
                Severity::Warning,
                format!("state is ACTIVE with LID {lid}: it has no address to be reached at"),
            ),
            _ => continue,
        };
        let mut finding = with_state(Finding::new(severity, &key, message), &key, port);
        for (file, value) in [("lid", &port.lid), ("sm_lid", &port.sm_lid)] {
            if let Ok(value) = value {
                finding = finding.file(&port_file(&key, file), format!("{value:#x}"));
            }
        }
        collector.find(
            finding
                .fix("start a subnet manager in this fabric: on one node (opensmd with MLNX_OFED), or on the switch")
                .command("systemctl start opensm"),
        );
    }
    collector.verdict("no InfiniBand port")
}

#[cfg(test)]
mod tests {
    use super::NO_SUBNET_MANAGER;
    use crate::checks::port::testing::Scene;
    use crate::model::PortState;

    #[test]
    fn severity_follows_the_lid() {
        let scene = |state: PortState, lid: u32| {
            Scene::of("h100-8gpu-infiniband")
                .port("mlx5_0", |p| {
                    p.state = Ok(state);
                    p.lid = Ok(lid);
                })
                .short(&NO_SUBNET_MANAGER)
        };
        assert_eq!(scene(PortState::Init, 0xffff), ["error mlx5_0/1"]);
        assert_eq!(scene(PortState::Armed, 0), ["error mlx5_0/1"]);
        assert_eq!(scene(PortState::Init, 7), ["warning mlx5_0/1"]);
        assert_eq!(scene(PortState::Active, 0), ["warning mlx5_0/1"]);
    }

    #[test]
    fn roce_ports_need_none() {
        assert!(Scene::of("h100-8gpu-infiniband").passes(&NO_SUBNET_MANAGER));
        assert!(Scene::of("bond-only").is_not_applicable(&NO_SUBNET_MANAGER));
    }
}
