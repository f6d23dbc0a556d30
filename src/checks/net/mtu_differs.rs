//! `net.mtu-differs`

use std::collections::BTreeMap;

use super::{child_netdev, own_netdev, roce_data};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::Netdev;

declare_check! {
    MTU_DIFFERS = "net" / "mtu-differs",
    title: "data ports of this node have different MTUs",
    severity: Warning,
    since: "0.1.0",
    subject: Netdev,
    reads: ["sys/class/net/*/mtu"],
    run: mtu_differs,
}

fn mtu_differs(facts: &Facts) -> Verdict {
    let mut seen = Collector::default();
    let mut by_mtu: BTreeMap<u32, Vec<&Netdev>> = BTreeMap::new();
    for port in roce_data(facts) {
        let Some(netdev) = own_netdev(facts, port).or_else(|| child_netdev(facts, port)) else {
            continue;
        };
        if let Some(&mtu) = seen.value(&netdev.mtu) {
            let alike = by_mtu.entry(mtu).or_default();
            if !alike.iter().any(|n| n.name == netdev.name) {
                alike.push(netdev);
            }
        }
    }
    let count: usize = by_mtu.values().map(Vec::len).sum();
    if count < 2 {
        return seen.verdict("fewer than two RoCE data ports with network devices here");
    }
    for _ in 0..count {
        seen.look();
    }
    // The most common one; of equally common ones the largest, which is the later.
    let Some((usual, example)) = by_mtu
        .iter()
        .max_by_key(|(_, netdevs)| netdevs.len())
        .and_then(|(mtu, netdevs)| Some((*mtu, *netdevs.first()?)))
    else {
        return seen.verdict("");
    };
    let path = |netdev: &Netdev| format!("{}/mtu", netdev.dir);
    for (mtu, netdevs) in &by_mtu {
        for netdev in netdevs.iter().filter(|_| *mtu != usual) {
            seen.find(
                Finding::new(
                    Severity::Warning,
                    &netdev.name,
                    format!("MTU {mtu}, while {} has {usual}", others(&by_mtu, usual)),
                )
                .file(&path(netdev), mtu)
                .file(&path(example), usual)
                .fix("give every data port of every node the same MTU, and the switches at least that")
                .command(format!("ip link set dev {} mtu {usual}", netdev.name)),
            );
        }
    }
    seen.verdict("")
}

fn others(by_mtu: &BTreeMap<u32, Vec<&Netdev>>, mtu: u32) -> String {
    match by_mtu.get(&mtu).map(Vec::as_slice) {
        Some([only]) => only.name.clone(),
        Some([first, rest @ ..]) => format!("{} (as {} others)", first.name, rest.len()),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::MTU_DIFFERS;
    use crate::checks::Verdict;
    use crate::checks::net::fixture::Bench;

    fn bench(ports: u32) -> Bench {
        let mut bench = Bench::new();
        for i in 0..ports {
            let name = format!("eth{}", i + 1);
            bench.netdev(&name, &[&format!("10.0.{i}.1/24")]);
            bench.hca(
                &format!("mlx5_{i}"),
                &format!("pci0000:{i}7/0000:{i}8:00.0"),
                Some(&name),
                None,
            );
        }
        bench
    }

    #[test]
    fn the_odd_one_is_found() {
        let mut bench = bench(4);
        assert_eq!(bench.run(&MTU_DIFFERS), Verdict::Passed(4));
        bench.edit("eth3").mtu = Ok(1500);
        let findings = bench.findings(&MTU_DIFFERS);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].subject, "eth3");
        assert_eq!(
            findings[0].message,
            "MTU 1500, while eth1 (as 2 others) has 9000"
        );
    }

    #[test]
    fn of_two_the_smaller_is_the_odd_one() {
        let mut bench = bench(2);
        bench.edit("eth1").mtu = Ok(4200);
        let findings = bench.findings(&MTU_DIFFERS);
        assert_eq!(findings[0].subject, "eth1");
        assert_eq!(findings[0].message, "MTU 4200, while eth2 has 9000");
    }

    #[test]
    fn one_port_has_nothing_to_differ_from() {
        assert!(matches!(
            bench(1).run(&MTU_DIFFERS),
            Verdict::NotApplicable(_)
        ));
    }
}
