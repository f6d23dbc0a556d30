//! `hca.main-carries-data`: the data would go over the NIC that carries everything else.

use crate::checks::port::shared::{joined, port_file, some_of, state_text};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::{PortState, Unread};
use crate::roles::{Assigned, NoGid, Reason, Refusal, Role};

declare_check! {
    MAIN_CARRIES_DATA = "hca" / "main-carries-data",
    title: "the only usable RDMA ports carry the host's TCP traffic too",
    severity: Warning,
    since: "0.1.0",
    subject: Port,
    reads: [
        "sys/class/infiniband/*/ports/*/state",
        "proc/net/route",
        "proc/net/ipv6_route",
    ],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    for routes in [
        facts.node.routes4.as_ref().err(),
        facts.node.routes6.as_ref().err(),
    ] {
        // Without a default route nothing is known to be main; a kernel without IPv6 has no such file.
        if let Some(unread) = routes.filter(|u| !u.is_absent()) {
            collector.unread(unread);
        }
    }
    for assigned in facts.decision.data() {
        collector.look();
        if assigned.reason == Reason::OnlyMain {
            let finding = finding(
                facts,
                assigned,
                "the only usable RDMA port also carries the host's TCP traffic",
            );
            collector.find(
                finding.fix("connect and address the ports meant for data; collectives and storage share this link"),
            );
        }
    }
    if let Some(Refusal::BetterPortsBroken(broken)) = &facts.decision.refusal {
        for assigned in facts.decision.ports.iter().filter(|p| p.role == Role::Main) {
            let finding = finding(
                facts,
                assigned,
                "the only usable RDMA port carries the host's TCP traffic and is not taken",
            );
            collector.find(finding.fix(format!(
                "repair {}; `rdmactl env --allow-main` takes this port all the same",
                some_of(broken)
            )));
        }
    }
    if facts.decision.data().next().is_none() {
        // A port that could not be judged may be the main one.
        for unread in unjudged(facts) {
            collector.unread(&unread);
        }
    }
    collector.verdict("no data port")
}

/// What could not be read of the ports, so that it is not known what they are.
fn unjudged(facts: &Facts) -> Vec<Unread> {
    let devices = facts
        .node
        .hcas()
        .iter()
        .filter_map(|h| h.ports.as_ref().err().cloned());
    let rows = facts
        .node
        .ports()
        .filter_map(|(_, port)| port.gids.as_ref().ok())
        .flat_map(|table| table.unread.iter().map(|(_, unread)| unread.clone()));
    let reasons = facts.decision.ports.iter().filter_map(|p| match &p.reason {
        Reason::StateUnread(unread) | Reason::NoGid(NoGid::Unread(unread)) => Some(unread.clone()),
        Reason::UnknownLinkLayer(layer) => Some(Unread::malformed(
            port_file(&p.key, "link_layer").trim_start_matches('/'),
            &layer.to_string(),
        )),
        Reason::NoUverbs(None) => Some(Unread::malformed(
            "sys/class/infiniband_verbs",
            &format!("no readable uverbs device of {}", p.key.hca),
        )),
        _ => None,
    });
    devices.chain(rows).chain(reasons).collect()
}

fn finding(facts: &Facts, assigned: &Assigned, what: &str) -> Finding {
    let netdev = assigned.main_netdev.as_deref().unwrap_or_default();
    let route = facts.node.default_route().map(|r| r.interface.as_str());
    let below = match route {
        Some(route) if route != netdev => format!(" ({netdev}, below {route})"),
        _ => format!(" ({netdev})"),
    };
    let finding = Finding::new(Severity::Warning, &assigned.key, format!("{what}{below}")).file(
        &port_file(&assigned.key, "state"),
        state_text(&PortState::Active),
    );
    match facts.node.default_route() {
        Some(route) if route.destination.is_ipv4() => {
            finding.file("proc/net/route", format!("default: {}", route.interface))
        }
        Some(route) => finding.file(
            "proc/net/ipv6_route",
            format!("default: {}", route.interface),
        ),
        None => finding.evidence("--main", joined([netdev])),
    }
}

#[cfg(test)]
mod tests {
    use super::MAIN_CARRIES_DATA;
    use crate::checks::port::testing::{Scene, only};

    #[test]
    fn taken_and_not_taken() {
        let found = Scene::of("bond-only").found(&MAIN_CARRIES_DATA);
        assert!(only(&found).1.starts_with("the only usable RDMA port also"));
        let found = Scene::of("main-only-better-broken-init").found(&MAIN_CARRIES_DATA);
        assert!(found[0].message.contains("is not taken"));
        assert!(Scene::of("a100-8gpu-roce").passes(&MAIN_CARRIES_DATA));
    }
}
