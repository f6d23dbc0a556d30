//! `net.mtu-small`

use super::{child_netdev, own_netdev, roce_data};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::Netdev;
use crate::roles::Assigned;

declare_check! {
    MTU_SMALL = "net" / "mtu-small",
    title: "the MTU of a data port's network device keeps the RoCE MTU below 4096",
    severity: Warning,
    since: "0.1.0",
    subject: Netdev,
    reads: ["sys/class/net/*/mtu"],
    run: mtu_small,
}

/// The largest RoCE MTU.
const LARGEST: u32 = 4096;

fn mtu_small(facts: &Facts) -> Verdict {
    let mut seen = Collector::default();
    for port in roce_data(facts) {
        let own = own_netdev(facts, port);
        if let Some(own) = own {
            look(&mut seen, facts, port, own, Severity::Warning, "");
        }
        if let Some(child) = child_netdev(facts, port) {
            // The active MTU follows the port's own device, of which a pod may see only the child.
            let (severity, hint) = if own.is_some() {
                (Severity::Note, " at most, whatever its parent has")
            } else {
                (
                    Severity::Warning,
                    " at most; the parent device is not visible here",
                )
            };
            look(&mut seen, facts, port, child, severity, hint);
        }
    }
    seen.verdict("no RoCE data port with a network device here")
}

fn look(
    seen: &mut Collector,
    facts: &Facts,
    port: &Assigned,
    netdev: &Netdev,
    severity: Severity,
    hint: &str,
) {
    seen.look();
    let Some(&mtu) = seen.value(&netdev.mtu) else {
        return;
    };
    let needed = facts.thresholds.get("roce-mtu");
    if u64::from(mtu) >= needed {
        return;
    }
    let (severity, message) = match active_mtu(mtu) {
        Some(LARGEST) => (
            Severity::Note,
            format!(
                "MTU {mtu} is below {needed}, and enough for a RoCE MTU of {LARGEST} all the same"
            ),
        ),
        Some(active) => (
            severity,
            format!(
                "MTU {mtu} gives {} a RoCE MTU of {active}{hint}, not {LARGEST}",
                port.key
            ),
        ),
        None => (
            severity,
            format!("MTU {mtu} is too small for any RoCE packet of {}", port.key),
        ),
    };
    let finding = Finding::new(severity, &netdev.name, message)
        .file(&format!("{}/mtu", netdev.dir), mtu)
        .fix("raise the MTU here, on the switch and on every other node: the smaller end decides");
    seen.find(if facts.node.container.is_some() {
        finding.fix("raise the MTU of the network attachment and of its parent on the host")
    } else {
        finding.command(format!("ip link set dev {} mtu 9000", netdev.name))
    });
}

/// The active MTU that a network device's MTU allows, as `iboe_get_mtu` of the kernel computes it.
fn active_mtu(mtu: u32) -> Option<u32> {
    // GRH 40, UDP 8, BTH 12, XRC 4, atomic 28, ICRC 4.
    const HEADERS: u32 = 96;
    [LARGEST, 2048, 1024, 512, 256]
        .into_iter()
        .find(|size| mtu >= size + HEADERS)
}

#[cfg(test)]
mod tests {
    use super::{MTU_SMALL, active_mtu};
    use crate::checks::net::fixture::{Bench, denied};
    use crate::checks::{Severity, Verdict};
    use crate::model::NetdevKind;

    const PCI: &str = "pci0000:17/0000:17:01.0/0000:18:00.0";

    #[test]
    fn active_mtus_leave_room_for_headers() {
        assert_eq!(active_mtu(9000), Some(4096));
        assert_eq!(active_mtu(4220), Some(4096));
        assert_eq!(active_mtu(4192), Some(4096));
        assert_eq!(active_mtu(4191), Some(2048));
        assert_eq!(active_mtu(1500), Some(1024));
        assert_eq!(active_mtu(576), Some(256));
        assert_eq!(active_mtu(351), None);
    }

    #[test]
    fn a_port_of_1500_is_found() {
        let mut bench = Bench::new();
        bench.netdev("eth1", &["10.0.0.1/24"]);
        bench.hca("mlx5_0", PCI, Some("eth1"), None);
        assert_eq!(bench.run(&MTU_SMALL), Verdict::Passed(1));
        bench.edit("eth1").mtu = Ok(1500);
        let findings = bench.findings(&MTU_SMALL);
        assert_eq!(findings[0].subject, "eth1");
        assert_eq!(findings[0].severity, Severity::Warning);
        assert_eq!(
            findings[0].message,
            "MTU 1500 gives mlx5_0/1 a RoCE MTU of 1024, not 4096"
        );
        bench.edit("eth1").mtu = denied("sys/mtu");
        assert!(matches!(bench.run(&MTU_SMALL), Verdict::Unknown(_)));
    }

    #[test]
    fn a_bond_decides_for_its_slaves() {
        let mut bench = Bench::new();
        bench.netdev("eth1", &[]).mtu = Ok(1500);
        bench.netdev("bond0", &["10.0.0.1/24"]);
        bench.bond("bond0", &["eth1"]);
        bench.hca("mlx5_bond_0", PCI, Some("eth1"), Some("bond0"));
        assert_eq!(bench.run(&MTU_SMALL), Verdict::Passed(1));
    }

    #[test]
    fn a_pod_sees_only_the_macvlan() {
        let mut bench = Bench::new();
        let macvlan = bench.netdev("net1", &["10.0.0.1/24"]);
        macvlan.mtu = Ok(1500);
        macvlan.kind = NetdevKind::Macvlan;
        bench.hca("mlx5_0", PCI, Some("ens1"), Some("net1"));
        let findings = bench.findings(&MTU_SMALL);
        assert_eq!(findings[0].severity, Severity::Warning);
        assert!(findings[0].message.contains("not visible"), "{findings:?}");
        bench.netdev("ens1", &[]);
        assert_eq!(bench.findings(&MTU_SMALL)[0].severity, Severity::Note);
    }

    #[test]
    fn infiniband_has_no_such_mtu() {
        let mut bench = Bench::new();
        bench.hca("mlx5_0", PCI, None, None);
        assert!(matches!(bench.run(&MTU_SMALL), Verdict::NotApplicable(_)));
    }
}
