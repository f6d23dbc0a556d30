//! `net.data-port-no-address`

use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::{Hca, Netdev, Port, Transport};
use crate::roles::{Assigned, Fabric};

declare_check! {
    DATA_PORT_NO_ADDRESS = "net" / "data-port-no-address",
    title: "a RoCE port is ACTIVE, but its network device has no address",
    severity: Error,
    since: "0.1.0",
    subject: Netdev,
    reads: ["sys/class/net/*/operstate", "commands/ip-addr.json", "sys/class/infiniband/*/ports/*/gids/*"],
    run: data_port_no_address,
}

fn data_port_no_address(facts: &Facts) -> Verdict {
    let mut seen = Collector::default();
    if let Err(unread) = &facts.node.interfaces {
        seen.unread(unread);
        return seen.verdict("");
    }
    for port in &facts.decision.ports {
        let Some((hca, read)) = facts.node.port(&port.key) else {
            continue;
        };
        let Some(netdev) = read.netdevs.iter().find_map(|n| facts.node.netdev(n)) else {
            continue;
        };
        if !is_for_data(facts, hca, read, port) {
            continue;
        }
        seen.look();
        if has_address(facts, port) {
            continue;
        }
        let down = is_down(facts, netdev);
        // Link-local GIDs alone are `gid.link-local-only`.
        if down || read.gid_rows().is_empty() && read.gids.is_ok() {
            seen.find(finding(facts, port, netdev, down));
        }
    }
    seen.verdict("no RoCE port with a network device here, apart from the host's own")
}

/// A port that could carry NCCL's traffic if it had an address: hardware, ACTIVE, not the host's, and not a slow one.
fn is_for_data(facts: &Facts, hca: &Hca, port: &Port, assigned: &Assigned) -> bool {
    let fastest = facts
        .decision
        .data()
        .filter_map(|d| facts.node.port(&d.key))
        .map(|(_, p)| p.rate_mbps())
        .max()
        .unwrap_or_default();
    assigned.fabric == Some(Fabric::Roce)
        && port.is_active()
        && assigned.main_netdev.is_none()
        && !hca.is_software()
        && hca.transport() == Transport::Verbs
        && (port.rate.is_err() || port.rate_mbps() * 2 >= fastest)
}

fn has_address(facts: &Facts, port: &Assigned) -> bool {
    port.netdevs
        .iter()
        .filter_map(|name| facts.node.interface(name))
        .any(|i| i.addresses.iter().any(|a| !a.is_link_local()))
}

fn is_down(facts: &Facts, netdev: &Netdev) -> bool {
    netdev.operstate.as_deref() == Ok("down")
        || facts.node.interface(&netdev.name).is_some_and(|i| !i.up)
}

fn finding(facts: &Facts, port: &Assigned, netdev: &Netdev, down: bool) -> Finding {
    // With other data ports a job runs, on fewer of them.
    let severity = if facts.decision.data().next().is_none() {
        Severity::Error
    } else {
        Severity::Warning
    };
    let state = netdev.operstate.as_deref().unwrap_or("unknown");
    let finding = Finding::new(
        severity,
        &netdev.name,
        if down {
            format!("is down and has no address, while {} is ACTIVE", port.key)
        } else {
            format!("has no address, so {} has no GID to connect with", port.key)
        },
    )
    .file(&format!("{}/operstate", netdev.dir), state);
    if facts.node.container.is_some() {
        finding.fix("let the network attachment assign an address (its `ipam` section)")
    } else if down {
        finding
            .fix("bring it up and give it an address of its rail")
            .command(format!("ip link set dev {} up", netdev.name))
    } else {
        finding
            .fix("give it an address of its rail")
            .command(format!("ip addr add ADDRESS/PREFIX dev {}", netdev.name))
    }
}

#[cfg(test)]
mod tests {
    use super::DATA_PORT_NO_ADDRESS;
    use crate::checks::net::fixture::{Bench, denied, link_local_gid};
    use crate::checks::{Severity, Verdict};
    use crate::model::{GidRow, GidType};

    fn bench() -> Bench {
        let mut bench = Bench::new();
        bench.netdev("eth1", &["10.0.1.1/24"]);
        bench.netdev("eth2", &[]);
        bench.hca("mlx5_0", "pci0000:17/0000:18:00.0", Some("eth1"), None);
        bench.hca("mlx5_1", "pci0000:27/0000:28:00.0", Some("eth2"), None);
        bench
    }

    #[test]
    fn a_port_without_any_gid_is_found() {
        let findings = bench().findings(&DATA_PORT_NO_ADDRESS);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].subject, "eth2");
        assert_eq!(findings[0].severity, Severity::Warning);
        assert!(findings[0].message.contains("mlx5_1/1"));
    }

    #[test]
    fn without_any_data_port_it_is_an_error() {
        let mut bench = bench();
        bench.node.hcas.as_mut().unwrap().remove(0);
        let findings = bench.findings(&DATA_PORT_NO_ADDRESS);
        assert_eq!(findings[0].severity, Severity::Error);
    }

    #[test]
    fn link_local_gids_are_left_to_their_own_check() {
        let mut bench = bench();
        let port = &mut bench.node.hcas.as_mut().unwrap()[1].ports.as_mut().unwrap()[0];
        port.gids.as_mut().unwrap().rows.push(GidRow {
            index: 0,
            gid: link_local_gid(),
            kind: Ok(GidType::V2),
            ndev: Ok("eth2".into()),
        });
        assert_eq!(bench.run(&DATA_PORT_NO_ADDRESS), Verdict::Passed(2));
        bench.edit("eth2").operstate = Ok("down".into());
        let findings = bench.findings(&DATA_PORT_NO_ADDRESS);
        assert!(findings[0].message.starts_with("is down"));
    }

    #[test]
    fn unread_addresses_are_unknown() {
        let mut bench = bench();
        bench.node.interfaces = denied("commands/ip-addr.json");
        assert!(matches!(
            bench.run(&DATA_PORT_NO_ADDRESS),
            Verdict::Unknown(_)
        ));
        assert!(matches!(
            Bench::new().run(&DATA_PORT_NO_ADDRESS),
            Verdict::NotApplicable(_)
        ));
    }
}
