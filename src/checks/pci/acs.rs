//! `pci.acs`

use std::collections::BTreeMap;

use super::data_nics;
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::health::Bridge;
use crate::model::{Bdf, PciFunction};

declare_check! {
    ACS = "pci" / "acs",
    title: "ACS of a PCI bridge sends traffic between GPU and NIC up to the root complex",
    severity: Warning,
    since: "0.1.0",
    subject: Device,
    reads: ["sys/bus/pci/devices/*/config"],
    run: acs,
}

/// Request redirect, completion redirect and upstream forwarding of the ACS control register
/// (`PCI_ACS_RR`, `PCI_ACS_CR`, `PCI_ACS_UF` in include/uapi/linux/pci_regs.h).
const REDIRECTS: [(u16, &str); 3] = [
    (0x04, "request redirect"),
    (0x08, "completion redirect"),
    (0x10, "upstream forwarding"),
];

fn acs(facts: &Facts) -> Verdict {
    let mut seen = Collector::default();
    let mut below_switch: BTreeMap<Bdf, &Bridge> = BTreeMap::new();
    let mut root_ports: BTreeMap<Bdf, &Bridge> = BTreeMap::new();
    for nic in data_nics(facts) {
        for gpu in facts.node.gpus() {
            let common = common_bridges(nic, &gpu.pci);
            let between =
                bridges_between(facts, nic, common).chain(bridges_between(facts, &gpu.pci, common));
            match common {
                // Other host bridges: nothing to redirect.
                0 => {}
                1 => root_ports.extend(between),
                _ => below_switch.extend(between),
            }
        }
    }
    root_ports.retain(|address, _| !below_switch.contains_key(address));
    for (address, bridge) in &below_switch {
        if let Some(control) = control(&mut seen, bridge) {
            seen.find(redirects(facts, *address, bridge, control));
        }
    }
    let far: Vec<(Bdf, &Bridge, u16)> = root_ports
        .iter()
        .filter_map(|(address, bridge)| Some((*address, *bridge, control(&mut seen, bridge)?)))
        .collect();
    if let Some(finding) = far_ports(&far) {
        seen.find(finding);
    }
    seen.verdict("no data NIC and GPU with a PCI bridge between them")
}

/// The number of components, the host bridge included, that the ways to two functions share.
fn common_bridges(a: &PciFunction, b: &PciFunction) -> usize {
    let both = a.path.0.iter().zip(&b.path.0);
    both.take_while(|(a, b)| a == b).count()
}

/// The bridges on the way from what is shared down to a function.
fn bridges_between<'a>(
    facts: &'a Facts,
    function: &'a PciFunction,
    common: usize,
) -> impl Iterator<Item = (Bdf, &'a Bridge)> {
    let above = function.path.0.len().saturating_sub(1);
    let names = function.path.0.get(common..above).unwrap_or_default();
    names.iter().filter_map(|name| {
        facts
            .health
            .bridges
            .iter()
            .find(|(address, _)| address.to_string() == *name)
            .map(|(address, bridge)| (*address, bridge))
    })
}

/// The register, where it redirects. Source validation alone harms nothing.
fn control(seen: &mut Collector, bridge: &Bridge) -> Option<u16> {
    seen.look();
    match &bridge.acs_control {
        Ok(control) => control.filter(|c| REDIRECTS.iter().any(|(bit, _)| c & bit != 0)),
        // A copy of a node without the file shows nothing either.
        Err(unread) => {
            seen.unread(unread);
            None
        }
    }
}

fn redirects(facts: &Facts, address: Bdf, bridge: &Bridge, control: u16) -> Finding {
    let set: Vec<&str> = REDIRECTS
        .iter()
        .filter(|(bit, _)| control & bit != 0)
        .map(|(_, name)| *name)
        .collect();
    let value = format!("ACSCtl {control:#06x}: {}", set.join(", "));
    let finding = Finding::new(
        Severity::Warning,
        address,
        format!("ACS redirects traffic between GPU and NIC (ACSCtl {control:#06x})"),
    )
    .file(&format!("{}/config", bridge.dir), value);
    if facts.health.kernel.is_guest == Some(true) {
        return finding.fix(
            "a guest needs ACS and ATS: ask whoever runs the host for address translation services",
        );
    }
    finding
        .fix("switch ACS off in the firmware setup, or clear the register at every boot")
        .command(format!("setpci -s {address} ECAP_ACS+0x6.w=0000"))
}

/// Pairs that meet only in the host bridge: NCCL does not use GPUDirect over that distance unless it is told to.
fn far_ports(ports: &[(Bdf, &Bridge, u16)]) -> Option<Finding> {
    let (first, _, control) = ports.first()?;
    let who = match ports.len() {
        1 => format!("ACS of this port redirects (ACSCtl {control:#06x})"),
        more => format!("ACS of {more} ports redirects (ACSCtl {control:#06x} here)"),
    };
    let finding = Finding::new(
        Severity::Note,
        first,
        format!("{who}; its GPUs and NICs meet only in the host bridge"),
    );
    Some(ports.iter().fold(finding, |f, (_, bridge, control)| {
        f.file(
            &format!("{}/config", bridge.dir),
            format!("ACSCtl {control:#06x}"),
        )
    }))
}

#[cfg(test)]
mod tests {
    use super::ACS;
    use crate::checks::net::fixture::{Bench, absent, bdf, denied};
    use crate::checks::{Severity, Verdict};
    use crate::model::health::Bridge;

    impl Bench {
        fn bridge(&mut self, address: &str, control: Option<u16>) {
            let bridge = Bridge {
                acs_control: Ok(control),
                port_type: Some(6),
                dir: format!("sys/{address}"),
            };
            self.health.bridges.insert(bdf(address), bridge);
        }
    }

    const SWITCH: &str = "pci0000:15/0000:15:01.0/0000:16:00.0";

    fn bench(gpu_port: u16, nic_port: u16) -> Bench {
        let mut bench = Bench::new();
        bench.hca(
            "mlx5_0",
            &format!("{SWITCH}/0000:17:01.0/0000:19:00.0"),
            None,
            None,
        );
        bench.gpu(&format!("{SWITCH}/0000:17:00.0/0000:18:00.0"), 0);
        // Above the switch, so on no way between the two.
        bench.bridge("0000:15:01.0", Some(0x1f));
        bench.bridge("0000:16:00.0", None);
        bench.bridge("0000:17:00.0", Some(gpu_port));
        bench.bridge("0000:17:01.0", Some(nic_port));
        bench
    }

    #[test]
    fn redirection_below_a_switch_is_a_warning() {
        let findings = bench(0x01, 0x1d).findings(&ACS);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].subject, "0000:17:01.0");
        assert_eq!(findings[0].severity, Severity::Warning);
        assert!(findings[0].message.contains("0x001d"), "{findings:?}");
        assert_eq!(bench(0x1d, 0x1d).findings(&ACS).len(), 2);
    }

    #[test]
    fn source_validation_alone_is_fine() {
        assert_eq!(bench(0, 0x01).run(&ACS), Verdict::Passed(2));
    }

    #[test]
    fn a_register_beyond_reach_is_unknown() {
        let mut bench = bench(0, 0);
        let bridge = bench.health.bridges.get_mut(&bdf("0000:17:01.0")).unwrap();
        bridge.acs_control = denied("config");
        assert!(matches!(bench.run(&ACS), Verdict::Unknown(unread) if unread.len() == 1));
        let bridge = bench.health.bridges.get_mut(&bdf("0000:17:01.0")).unwrap();
        bridge.acs_control = absent("config");
        assert!(matches!(bench.run(&ACS), Verdict::Unknown(_)));
    }

    #[test]
    fn root_ports_are_one_note() {
        let mut bench = Bench::new();
        bench.hca("mlx5_0", "pci0000:15/0000:15:01.0/0000:16:00.0", None, None);
        bench.gpu("pci0000:15/0000:15:02.0/0000:17:00.0", 0);
        assert!(matches!(bench.run(&ACS), Verdict::NotApplicable(_)));
        bench.bridge("0000:15:01.0", Some(0x1d));
        bench.bridge("0000:15:02.0", Some(0x1d));
        let findings = bench.findings(&ACS);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].severity, Severity::Note);
        assert_eq!(findings[0].evidence.len(), 2);
    }

    #[test]
    fn a_guest_is_not_told_to_switch_it_off() {
        let mut bench = bench(0, 0x1d);
        bench.health.kernel.is_guest = Some(true);
        let findings = bench.findings(&ACS);
        assert_eq!(findings[0].remedy.as_ref().unwrap().command, None);
    }
}
