//! `net.bond-degraded`

use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::{Netdev, Unread};

declare_check! {
    BOND_DEGRADED = "net" / "bond-degraded",
    title: "a bond has a slave that is down",
    severity: Warning,
    since: "0.1.0",
    subject: Netdev,
    reads: ["sys/class/net/*/bonding/slaves", "sys/class/net/*/bonding_slave/mii_status", "sys/class/net/*/operstate"],
    run: bond_degraded,
}

fn bond_degraded(facts: &Facts) -> Verdict {
    let mut seen = Collector::default();
    let bonds = facts
        .node
        .netdevs()
        .iter()
        .filter_map(|n| Some((n, n.bond.as_ref()?)));
    if let Err(unread) = &facts.node.netdevs {
        seen.unread(unread);
    }
    for (netdev, bond) in bonds {
        let mut down = Vec::new();
        for slave in &bond.slaves {
            seen.look();
            match link_of(facts, slave) {
                Ok(Link::Up) => {}
                Ok(Link::Down(path, value)) => down.push((slave, path, value)),
                Err(unread) => seen.unread(unread),
            }
        }
        let Some((first, ..)) = down.first() else {
            continue;
        };
        let names: Vec<&str> = down.iter().map(|(slave, ..)| slave.as_str()).collect();
        let mut finding = Finding::new(
            severity(facts, netdev),
            &netdev.name,
            format!(
                "{} of {} slaves {} down: {}",
                down.len(),
                bond.slaves.len(),
                if down.len() == 1 { "is" } else { "are" },
                names.join(", ")
            ),
        );
        for (_, path, value) in &down {
            finding = finding.file(path, value);
        }
        seen.find(
            finding
                .fix("look at the cable, the transceiver and the switch port of the slave")
                .command(format!("ip link show dev {first}")),
        );
    }
    seen.verdict("no bond with slaves here")
}

enum Link {
    Up,
    Down(String, String),
}

/// What the bond thinks of a slave, and where it does not say, what the slave itself does.
fn link_of<'a>(facts: &'a Facts, slave: &str) -> Result<Link, &'a Unread> {
    let netdev = facts.node.netdev(slave);
    let dir = netdev.map_or_else(
        || format!("sys/class/net/{slave}"),
        |netdev| netdev.dir.clone(),
    );
    let status = facts.health.kernel.slave_status.get(slave);
    let mut unread = None;
    match status {
        Some(Ok(status)) if status == "down" => {
            return Ok(Link::Down(
                format!("{dir}/bonding_slave/mii_status"),
                status.clone(),
            ));
        }
        Some(Err(why)) if !why.is_absent() => unread = Some(why),
        _ => {}
    }
    // Without a link monitor the bond calls every slave up.
    match netdev.map(|n| &n.operstate) {
        Some(Ok(state)) if matches!(state.as_str(), "down" | "lowerlayerdown" | "notpresent") => {
            Ok(Link::Down(format!("{dir}/operstate"), state.clone()))
        }
        Some(Err(why)) if !why.is_absent() => Err(why),
        Some(Err(_)) | None => unread.map_or(Ok(Link::Up), Err),
        Some(Ok(_)) => Ok(Link::Up),
    }
}

/// A warning where NCCL's or the host's traffic uses the bond.
fn severity(facts: &Facts, bond: &Netdev) -> Severity {
    let of_a_port = facts
        .decision
        .ports
        .iter()
        .any(|p| p.netdevs.contains(&bond.name));
    let of_the_host = facts
        .node
        .default_route()
        .is_some_and(|r| r.interface == bond.name);
    if of_a_port || of_the_host {
        Severity::Warning
    } else {
        Severity::Note
    }
}

#[cfg(test)]
mod tests {
    use super::BOND_DEGRADED;
    use crate::checks::net::fixture::{Bench, denied};
    use crate::checks::{Severity, Verdict};

    fn bench() -> Bench {
        let mut bench = Bench::new();
        bench.netdev("eth1", &[]);
        bench.netdev("eth2", &[]);
        bench.netdev("bond0", &["10.0.0.1/24"]);
        bench.bond("bond0", &["eth1", "eth2"]);
        bench.hca(
            "mlx5_bond_0",
            "pci0000:17/0000:18:00.0",
            Some("eth1"),
            Some("bond0"),
        );
        bench
    }

    #[test]
    fn the_bond_says_which_slave_is_down() {
        let mut bench = bench();
        assert_eq!(bench.run(&BOND_DEGRADED), Verdict::Passed(2));
        let status = &mut bench.health.kernel.slave_status;
        status.insert("eth1".into(), Ok("up".into()));
        status.insert("eth2".into(), Ok("down".into()));
        let findings = bench.findings(&BOND_DEGRADED);
        assert_eq!(findings[0].subject, "bond0");
        assert_eq!(findings[0].severity, Severity::Warning);
        assert_eq!(findings[0].message, "1 of 2 slaves is down: eth2");
        assert!(findings[0].evidence[0].source.ends_with("mii_status"));
    }

    #[test]
    fn without_a_monitor_the_slave_itself_says_so() {
        let mut bench = bench();
        bench.edit("eth1").operstate = Ok("down".into());
        bench.edit("eth2").operstate = Ok("down".into());
        let findings = bench.findings(&BOND_DEGRADED);
        assert_eq!(findings[0].message, "2 of 2 slaves are down: eth1, eth2");
    }

    #[test]
    fn a_bond_nobody_uses_is_only_noted() {
        let mut bench = Bench::new();
        bench.netdev("eth1", &[]).operstate = Ok("down".into());
        bench.netdev("bond9", &[]);
        bench.bond("bond9", &["eth1"]);
        assert_eq!(bench.findings(&BOND_DEGRADED)[0].severity, Severity::Note);
    }

    #[test]
    fn what_was_refused_is_unknown() {
        let mut bench = bench();
        bench.edit("eth1").operstate = denied("operstate");
        assert!(matches!(bench.run(&BOND_DEGRADED), Verdict::Unknown(_)));
        assert!(matches!(
            Bench::new().run(&BOND_DEGRADED),
            Verdict::NotApplicable(_)
        ));
    }
}
