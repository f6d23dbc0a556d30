//! `port.down`: a port that a job would miss is not ACTIVE.

use super::shared::{
    data_models, has_enough, is_candidate, is_data_grade, key, model, near_data_ports, near_gpus,
    with_mlxlink, with_state,
};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::{Hca, LinkLayer, PhysState, Port, PortKey, PortState};
use crate::roles::Role;

declare_check! {
    DOWN = "port" / "down",
    title: "a port is not ACTIVE",
    severity: Error,
    since: "0.1.0",
    subject: Port,
    reads: [
        "sys/class/infiniband/*/ports/*/state",
        "sys/class/infiniband/*/ports/*/phys_state",
        "sys/class/net/*/operstate",
    ],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    for (hca, port) in facts.node.ports().filter(|(h, _)| is_candidate(h)) {
        let Some(state) = collector.value(&port.state) else {
            continue;
        };
        collector.look();
        // The link is up, and it is the subnet manager that is missing: port.no-subnet-manager.
        let waits = matches!(state, PortState::Init | PortState::Armed)
            && port.link_layer == Ok(LinkLayer::InfiniBand);
        if *state != PortState::Active && !waits {
            collector.find(finding(facts, hca, port, state));
        }
    }
    collector.verdict("no port of an RDMA device")
}

fn finding(facts: &Facts, hca: &Hca, port: &Port, state: &PortState) -> Finding {
    let key = key(hca, port);
    let missed = is_missed(facts, hca, port);
    let severity = if missed {
        Severity::Error
    } else {
        Severity::Note
    };
    let (why, fix) = cause(facts, &key, port);
    let rest = if missed { "" } else { "; no GPU misses it" };
    let mut finding = Finding::new(severity, &key, format!("state is {state}, {why}{rest}"));
    finding = with_state(finding, &key, port);
    for name in &port.netdevs {
        if let Some(Ok(operstate)) = facts.node.netdev(name).map(|n| &n.operstate) {
            finding = finding.file(&format!("sys/class/net/{name}/operstate"), operstate);
        }
    }
    match fix {
        Some((text, Some(command))) if missed => finding.fix(text).command(command),
        Some((text, None)) if missed => with_mlxlink(finding.fix(text), facts, &key, "-m"),
        _ if missed => finding,
        _ => finding.fix("nothing, unless this port is meant to carry a job's data"),
    }
}

/// True where a job would miss the port: a GPU has fewer data ports beside it than others, or the node fewer than GPUs, or
/// than it ought to have.
fn is_missed(facts: &Facts, hca: &Hca, port: &Port) -> bool {
    if !is_data_grade(facts, hca, port) {
        return false;
    }
    let data = facts.decision.data().count();
    if facts.expect.hcas.is_some_and(|wanted| data < wanted) {
        return true;
    }
    let beside = near_data_ports(facts);
    let most = beside.iter().max().copied().unwrap_or_default();
    let poorer = facts
        .decision
        .port(&key(hca, port))
        .is_some_and(|a| near_gpus(a).iter().any(|g| beside.get(*g) < Some(&most)));
    poorer || (data < facts.node.gpus().len() && !has_enough(facts) && !is_spare(facts, hca, port))
}

/// True for the second port of a card whose other port carries data, where no card of the kind has two that do: those
/// nodes were built with one cable a card.
fn is_spare(facts: &Facts, hca: &Hca, port: &Port) -> bool {
    let same_card = |a: &Hca, b: &Hca| match (a.pci(), b.pci()) {
        (Some(a), Some(b)) => a.address.same_slot(b.address),
        _ => a.name == b.name,
    };
    let data: Vec<(&Hca, &Port)> = facts
        .decision
        .data()
        .filter(|a| a.role == Role::Data)
        .filter_map(|a| facts.node.port(&a.key))
        .collect();
    let on_card = |card: &Hca| data.iter().filter(|(h, _)| same_card(h, card)).count();
    let kinds = data_models(facts);
    kinds.contains(&model(hca, port))
        && on_card(hca) == 1
        && data.iter().all(|(other, _)| on_card(other) == 1)
}

/// What to do, and the command that does it.
type Fix = (String, Option<String>);

/// What the physical state says, and what to do about it.
fn cause(facts: &Facts, key: &PortKey, port: &Port) -> (String, Option<Fix>) {
    let phys = match &port.phys_state {
        Ok(phys) => phys,
        Err(unread) => {
            return (
                format!("its physical state is unknown ({})", unread.why),
                None,
            );
        }
    };
    let ethernet = port.link_layer == Ok(LinkLayer::Ethernet);
    match phys {
        PhysState::Polling => (
            "phys_state Polling: no link partner; cable, transceiver or peer".to_owned(),
            Some((
                "seat or replace the cable or transceiver, or bring up the port at the other end"
                    .to_owned(),
                None,
            )),
        ),
        PhysState::Disabled if ethernet => ethernet_cause(facts, port),
        PhysState::Disabled => (
            "phys_state Disabled: switched off on this side".to_owned(),
            Some((
                "switch the port on".to_owned(),
                Some(format!(
                    "ibportstate -C {} -P {} -D 0 {} enable",
                    key.hca, key.port, key.port
                )),
            )),
        ),
        PhysState::LinkUp => ("although its link is up".to_owned(), None),
        other => (format!("phys_state {other}"), None),
    }
}

/// Ethernet ports are Disabled both when they are switched off and when there is no carrier; the netdev tells which.
fn ethernet_cause(facts: &Facts, port: &Port) -> (String, Option<Fix>) {
    let netdev = port.netdevs.first();
    let interface = netdev.and_then(|n| facts.node.interface(n));
    match (netdev, interface) {
        (Some(name), Some(interface)) if interface.up => (
            format!(
                "phys_state Disabled: {name} is up and has no carrier; cable, transceiver or peer"
            ),
            Some((
                "seat or replace the cable or transceiver, or bring up the switch port".to_owned(),
                Some(format!("ethtool {name}")),
            )),
        ),
        (Some(name), Some(_)) => (
            format!("phys_state Disabled: {name} is switched off or has no cable"),
            Some((
                format!("switch {name} on; if it has no carrier then, look at cable and peer"),
                Some(format!("ip link set dev {name} up")),
            )),
        ),
        _ => (
            "phys_state Disabled: switched off, or no carrier".to_owned(),
            None,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::DOWN;
    use crate::checks::Severity;
    use crate::checks::port::testing::{Scene, only};
    use crate::model::{PhysState, Port, PortState, Unread, Why};

    fn off(phys: PhysState) -> impl FnOnce(&mut Port) {
        move |p| {
            p.state = Ok(PortState::Down);
            p.phys_state = Ok(phys);
        }
    }

    #[test]
    fn a_gpu_without_its_port_is_an_error() {
        let scene = Scene::of("h100-8gpu-infiniband").port("mlx5_0", off(PhysState::Polling));
        let found = scene.found(&DOWN);
        let (severity, message) = only(&found);
        assert_eq!(severity, Severity::Error);
        assert!(message.contains("Polling"), "{message}");
    }

    #[test]
    fn a_port_nobody_misses_is_a_note() {
        // The second port of the GB10's card: one GPU, two data ports.
        assert_eq!(
            Scene::of("gb10-two-domains").short(&DOWN),
            ["note rocep1s0f1/1", "note roceP2p1s0f1/1"]
        );
    }

    #[test]
    fn an_expectation_makes_it_missed() {
        assert_eq!(
            Scene::of("gb10-two-domains").expect("hcas=4").short(&DOWN),
            ["error rocep1s0f1/1", "error roceP2p1s0f1/1"]
        );
    }

    #[test]
    fn waiting_for_a_subnet_manager_is_another_check() {
        let scene =
            Scene::of("h100-8gpu-infiniband").port("mlx5_0", |p| p.state = Ok(PortState::Init));
        assert!(scene.passes(&DOWN));
    }

    #[test]
    fn an_unread_state_is_unknown() {
        let scene = Scene::of("h100-8gpu-infiniband").port("mlx5_0", |p| {
            p.state = Err(Unread::new("state", Why::Errno(5)));
        });
        assert!(scene.is_unknown(&DOWN));
    }
}
