//! `net.rails-share-subnet`

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use super::roce_data;
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::{PortKey, Reading, Unread, Why};

declare_check! {
    RAILS_SHARE_SUBNET = "net" / "rails-share-subnet",
    title: "two data ports have addresses of one subnet",
    severity: Warning,
    since: "0.1.0",
    subject: Netdev,
    reads: ["commands/ip-addr.json", "proc/sys/net/ipv4/conf/*/arp_ignore", "proc/sys/net/ipv4/conf/*/arp_announce",
            "proc/sys/net/ipv4/conf/*/rp_filter"],
    run: rails_share_subnet,
}

/// An address of a data port's network device.
struct Rail<'a> {
    port: &'a PortKey,
    netdev: &'a str,
    address: Ipv4Addr,
}

fn rails_share_subnet(facts: &Facts) -> Verdict {
    let mut seen = Collector::default();
    if let Err(unread) = &facts.node.interfaces {
        seen.unread(unread);
    }
    let mut subnets: BTreeMap<(Ipv4Addr, u8), Vec<Rail>> = BTreeMap::new();
    for port in roce_data(facts) {
        seen.look();
        for interface in port.netdevs.iter().filter_map(|n| facts.node.interface(n)) {
            for address in interface.addresses.iter().filter(|a| !a.is_link_local()) {
                // ARP is IPv4's; IPv6 answers for an interface's own addresses only.
                let IpAddr::V4(ip) = address.ip else { continue };
                let shift = 32u32.saturating_sub(u32::from(address.prefix));
                let mask = u32::MAX.checked_shl(shift).unwrap_or(0);
                let network = Ipv4Addr::from(u32::from(ip) & mask);
                subnets
                    .entry((network, address.prefix))
                    .or_default()
                    .push(Rail {
                        port: &port.key,
                        netdev: &interface.name,
                        address: ip,
                    });
            }
        }
    }
    for ((network, prefix), rails) in &subnets {
        let Some(first) = rails.first() else { continue };
        let shared = rails
            .iter()
            .any(|r| r.port != first.port && r.netdev != first.netdev);
        if shared {
            let finding = judge(&mut seen, facts, rails, &format!("{network}/{prefix}"));
            seen.find(finding);
        }
    }
    seen.verdict("no RoCE data port here")
}

fn judge(seen: &mut Collector, facts: &Facts, rails: &[Rail], subnet: &str) -> Finding {
    let mut names: Vec<&str> = rails.iter().map(|r| r.netdev).collect();
    names.dedup();
    let mut apart = true;
    let mut evidence: Vec<(String, String)> = rails
        .iter()
        .map(|r| {
            (
                format!("ip addr show dev {}", r.netdev),
                r.address.to_string(),
            )
        })
        .collect();
    for name in &names {
        for (setting, is_fine) in SETTINGS {
            match effective(facts, name, setting) {
                Ok((path, value)) => {
                    apart &= is_fine(value);
                    evidence.push((format!("/{path}"), value.to_string()));
                }
                Err(unread) => {
                    apart = false;
                    seen.unread(&unread);
                }
            }
        }
    }
    let who = match names.as_slice() {
        [one, other] => format!("{one} and {other}"),
        [one, rest @ ..] => format!("{one} and {} others", rest.len()),
        [] => String::new(),
    };
    let (severity, rest) = if apart {
        (
            Severity::Note,
            "and the ARP and filter settings keep them apart",
        )
    } else {
        (Severity::Warning, "so any of them may answer for another")
    };
    let finding = Finding::new(
        severity,
        names.first().copied().unwrap_or_default(),
        format!("{who} share {subnet}, {rest}"),
    );
    let finding = evidence
        .into_iter()
        .fold(finding, |f, (source, value)| f.evidence(source, value));
    if apart {
        return finding;
    }
    finding
        .fix("give each data port a subnet of its own, or make each answer for itself only")
        .command(
            "sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2 net.ipv4.conf.all.rp_filter=2",
        )
}

/// The settings that matter, and which values keep interfaces of one subnet apart.
const SETTINGS: [(&str, fn(i64) -> bool); 3] = [
    ("arp_ignore", |value| value >= 1),
    ("arp_announce", |value| value == 2),
    ("rp_filter", |value| value != 1),
];

/// The value in force, the larger of the interface's and that for all, with the path it came from.
fn effective(facts: &Facts, netdev: &str, setting: &str) -> Reading<(String, i64)> {
    let read = |name: &str| -> Reading<(String, i64)> {
        let path = format!("proc/sys/net/ipv4/conf/{name}/{setting}");
        let value = facts
            .health
            .kernel
            .sysctl
            .get(name)
            .and_then(|s| s.values.get(&path).cloned())
            .unwrap_or_else(|| Err(Unread::new(path.as_str(), Why::NotAsked)))?;
        Ok((path, value))
    };
    let (own, all) = (read(netdev)?, read("all")?);
    Ok(if all.1 > own.1 { all } else { own })
}

#[cfg(test)]
mod tests {
    use super::RAILS_SHARE_SUBNET;
    use crate::checks::net::fixture::Bench;
    use crate::checks::{Severity, Verdict};
    use crate::model::health::Sysctl;

    fn bench(first: &str, second: &str) -> Bench {
        let mut bench = Bench::new();
        bench.netdev("enp1s0f0np0", &[first]);
        bench.netdev("enP2p1s0f0np0", &[second]);
        bench.hca(
            "rocep1s0f0",
            "pci0000:00/0000:01:00.0",
            Some("enp1s0f0np0"),
            None,
        );
        bench.hca(
            "roceP2p1s0f0",
            "pci0002:00/0002:01:00.0",
            Some("enP2p1s0f0np0"),
            None,
        );
        bench
    }

    fn set(bench: &mut Bench, name: &str, values: [i64; 3]) {
        let files = ["arp_ignore", "arp_announce", "rp_filter"];
        let values = files
            .iter()
            .zip(values)
            .map(|(file, v)| (format!("proc/sys/net/ipv4/conf/{name}/{file}"), Ok(v)))
            .collect();
        bench
            .health
            .kernel
            .sysctl
            .insert(name.into(), Sysctl { values });
    }

    #[test]
    fn settings_that_were_not_read_do_not_excuse() {
        let bench = bench("192.168.100.10/24", "192.168.100.14/24");
        let Verdict::Found(findings, unread) = bench.run(&RAILS_SHARE_SUBNET) else {
            panic!()
        };
        assert_eq!(findings[0].subject, "enp1s0f0np0");
        assert_eq!(findings[0].severity, Severity::Warning);
        assert!(findings[0].message.contains("192.168.100.0/24"));
        assert_eq!(unread.len(), 6);
    }

    #[test]
    fn the_larger_of_two_settings_counts() {
        let mut bench = bench("192.168.100.10/24", "192.168.100.14/24");
        set(&mut bench, "all", [1, 2, 0]);
        set(&mut bench, "enp1s0f0np0", [0, 0, 2]);
        set(&mut bench, "enP2p1s0f0np0", [0, 0, 0]);
        let findings = bench.findings(&RAILS_SHARE_SUBNET);
        assert_eq!(findings[0].severity, Severity::Note);
        set(&mut bench, "enp1s0f0np0", [0, 0, 1]);
        let findings = bench.findings(&RAILS_SHARE_SUBNET);
        assert_eq!(findings[0].severity, Severity::Warning);
        assert!(
            findings[0]
                .evidence
                .iter()
                .any(|e| e.source.ends_with("enp1s0f0np0/rp_filter") && e.value == "1")
        );
    }

    #[test]
    fn rails_of_their_own_pass() {
        let bench = bench("10.1.0.1/31", "10.1.0.3/31");
        assert_eq!(bench.run(&RAILS_SHARE_SUBNET), Verdict::Passed(2));
    }

    #[test]
    fn ipv6_has_no_such_trouble() {
        let bench = bench("fd00::1/64", "fd00::2/64");
        assert_eq!(bench.run(&RAILS_SHARE_SUBNET), Verdict::Passed(2));
    }
}
