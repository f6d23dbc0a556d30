//! `net.no-socket-interface`

use std::collections::BTreeSet;

use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::Interface;
use crate::roles::socket_interface;

declare_check! {
    NO_SOCKET_INTERFACE = "net" / "no-socket-interface",
    title: "no network interface that NCCL's bootstrap could use",
    severity: Error,
    since: "0.1.0",
    subject: Node,
    reads: ["sys/class/net", "commands/ip-addr.json", "proc/net/route", "proc/net/ipv6_route"],
    run: no_socket_interface,
}

fn no_socket_interface(facts: &Facts) -> Verdict {
    let mut seen = Collector::default();
    let Some(interfaces) = seen.value(&facts.node.interfaces) else {
        return seen.verdict("");
    };
    let data: Vec<BTreeSet<String>> = facts.decision.data().map(|p| p.netdevs.clone()).collect();
    seen.look();
    if socket_interface(facts.node, &[], &data).is_some() {
        return seen.verdict("");
    }
    let states: Vec<String> = interfaces
        .iter()
        .filter(|i| !i.loopback)
        .map(|i| format!("{}: {}", i.name, state(i)))
        .collect();
    let message = if states.is_empty() {
        "no network interface but the loopback: NCCL cannot start and turns InfiniBand off"
            .to_owned()
    } else {
        format!(
            "none of {} interfaces leads off this node: NCCL cannot start over any of them",
            states.len()
        )
    };
    let finding = Finding::new(Severity::Error, "node", message);
    let finding = if states.is_empty() {
        finding.evidence("/sys/class/net", "lo")
    } else {
        finding.evidence("/sys/class/net", states.join(", "))
    };
    seen.find(if facts.node.container.is_some() {
        finding.fix("give the container a network: docker run --network host, or a pod network that is ready")
    } else {
        finding
            .fix("bring the management interface up and give it an address")
            .command("ip link set dev NAME up")
    });
    seen.verdict("")
}

fn state(interface: &Interface) -> &'static str {
    if !interface.up {
        "down"
    } else if !interface.running {
        "no carrier"
    } else if interface.addresses.is_empty() {
        "no address"
    } else if interface
        .addresses
        .iter()
        .all(crate::model::Address::is_link_local)
    {
        "link-local address only"
    } else {
        "leads to containers only"
    }
}

#[cfg(test)]
mod tests {
    use super::NO_SOCKET_INTERFACE;
    use crate::checks::net::fixture::{Bench, denied};
    use crate::checks::{Severity, Verdict};

    #[test]
    fn an_interface_with_an_address_is_enough() {
        assert_eq!(Bench::new().run(&NO_SOCKET_INTERFACE), Verdict::Passed(1));
    }

    #[test]
    fn interfaces_that_lead_nowhere_are_named() {
        let mut bench = Bench::new();
        bench.interface("eth0").up = false;
        bench.netdev("docker0", &["172.17.0.1/16"]);
        bench.netdev("usb0", &["169.254.3.1/16"]);
        let findings = bench.findings(&NO_SOCKET_INTERFACE);
        assert_eq!(findings[0].severity, Severity::Error);
        assert_eq!(
            findings[0].evidence[0].value,
            "eth0: down, docker0: leads to containers only, usb0: link-local address only"
        );
    }

    #[test]
    fn a_container_without_network_is_told_how_to_get_one() {
        let mut bench = Bench::new();
        bench.node.container = Some("/.dockerenv".into());
        bench
            .node
            .interfaces
            .as_mut()
            .unwrap()
            .retain(|i| i.loopback);
        let findings = bench.findings(&NO_SOCKET_INTERFACE);
        assert!(findings[0].message.contains("loopback"));
        assert!(findings[0].remedy.as_ref().unwrap().text.contains("docker"));
    }

    #[test]
    fn not_having_seen_them_is_unknown() {
        let mut bench = Bench::new();
        bench.node.interfaces = denied("commands/ip-addr.json");
        assert!(matches!(
            bench.run(&NO_SOCKET_INTERFACE),
            Verdict::Unknown(_)
        ));
    }
}
