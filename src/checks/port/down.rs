//! `port.down`: a port that a job would miss is not ACTIVE.

use super::shared::{
    is_candidate, is_data_grade, key, model, near_data_ports, near_gpus, with_mlxlink, with_state,
};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::{Hca, LinkLayer, PhysState, Port, PortKey, PortState};

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
    let mut spare: Vec<Finding> = Vec::new();
    for (hca, port) in facts.node.ports().filter(|(h, _)| is_candidate(h)) {
        let Some(state) = collector.value(&port.state) else {
            continue;
        };
        collector.look();
        // The link is up, and it is the subnet manager that is missing: port.no-subnet-manager.
        let waits = matches!(state, PortState::Init | PortState::Armed)
            && port.link_layer == Ok(LinkLayer::InfiniBand);
        if *state == PortState::Active || waits {
            continue;
        }
        let (finding, missed) = finding(facts, hca, port, state);
        if missed {
            collector.find(finding);
        } else {
            keep_spare(&mut spare, hca, finding);
        }
    }
    for finding in spare {
        collector.find(finding);
    }
    collector.verdict("no port of an RDMA device")
}

/// Keeps the note about a port nobody misses; ports of one device that say the same are one note: there are cards of
/// twelve ports that use four.
fn keep_spare(spare: &mut Vec<Finding>, hca: &Hca, finding: Finding) {
    let same = spare.iter_mut().find(|other| {
        other.message == finding.message
            && other.subject.split('/').next() == Some(hca.name.as_str())
    });
    match same {
        Some(other) => {
            other.subject = format!("{}, {}", other.subject, finding.subject);
            other.evidence.extend(finding.evidence);
        }
        None => spare.push(finding),
    }
}

/// The finding about a port, and whether a job misses it.
fn finding(facts: &Facts, hca: &Hca, port: &Port, state: &PortState) -> (Finding, bool) {
    let key = key(hca, port);
    let missed = is_missed(facts, hca, port);
    let severity = if missed {
        Severity::Error
    } else {
        Severity::Note
    };
    let (why, fix) = cause(facts, &key, port);
    let mut finding = Finding::new(severity, &key, format!("state is {state}, {why}"));
    finding = with_state(finding, &key, port);
    for name in &port.netdevs {
        if let Some(Ok(operstate)) = facts.node.netdev(name).map(|n| &n.operstate) {
            finding = finding.file(&format!("sys/class/net/{name}/operstate"), operstate);
        }
    }
    let finding = match fix {
        _ if !missed => finding.fix("nothing, unless this port is meant to carry a job's data"),
        Some((text, Some(command))) => finding.fix(text).command(command),
        Some((text, None)) => with_mlxlink(finding.fix(text), facts, &key, "-m"),
        None => finding,
    };
    (finding, missed)
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
    if is_spare(facts, hca, port) {
        return false;
    }
    let beside = near_data_ports(facts);
    let most = beside.iter().max().copied().unwrap_or_default();
    let poorer = facts
        .decision
        .port(&key(hca, port))
        .is_some_and(|a| near_gpus(a).iter().any(|g| beside.get(*g) < Some(&most)));
    poorer || data < facts.node.gpus().len()
}

/// True for a port that its card was not built to use: on the other cards of the kind the port in its place carries no
/// data either; where there is no other card, its own card has another port that does.
fn is_spare(facts: &Facts, hca: &Hca, port: &Port) -> bool {
    let kind = model(hca, port);
    let same_card = |other: &Hca| match (hca.pci(), other.pci()) {
        (Some(a), Some(b)) => a.address.same_slot(b.address),
        _ => hca.name == other.name,
    };
    // Virtual functions are counted through: their numbers are no places.
    let place = |hca: &Hca, port: &Port| {
        let function = hca.pci().filter(|_| hca.physfn.is_none());
        (function.map(|f| f.address.function), port.number)
    };
    let (own, others): (Vec<_>, Vec<_>) = facts
        .decision
        .data()
        .filter_map(|a| facts.node.port(&a.key))
        .filter(|(h, p)| model(h, p) == kind)
        .partition(|(h, _)| same_card(h));
    if others.is_empty() {
        return !own.is_empty();
    }
    !others.iter().any(|(h, p)| place(h, p) == place(hca, port))
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
                "phys_state Disabled: {name} is up without carrier: cable, transceiver or peer"
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
    fn of_twelve_ports_only_those_that_others_use_are_missed() {
        assert_eq!(Scene::of("multi-plane-12-port").found(&DOWN).len(), 8);
        let scene = Scene::of("multi-plane-12-port").hca("mlx5_0", |h| {
            off(PhysState::Polling)(&mut h.ports.as_mut().unwrap()[2]);
        });
        let short = scene.short(&DOWN);
        assert_eq!(short.len(), 9);
        assert_eq!(short[0], "error mlx5_0/3");
        assert!(short[1].starts_with("note mlx5_0/1, mlx5_0/2, mlx5_0/4"));
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
