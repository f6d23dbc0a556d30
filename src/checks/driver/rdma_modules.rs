//! `driver.rdma-modules`

use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};

declare_check! {
    RDMA_MODULES = "driver" / "rdma-modules",
    title: "a module is missing between a card and the programs that use it for RDMA",
    severity: Error,
    since: "0.1.0",
    subject: Device,
    reads: [
        "sys/bus/pci/devices/*/class",
        "sys/class/infiniband_verbs/*/ibdev",
        "sys/module/ib_core/parameters/netns_mode",
        "proc/modules",
    ],
    run: rdma_modules,
}

fn rdma_modules(facts: &Facts) -> Verdict {
    let mut seen = Collector::default();
    if let Err(unread) = &facts.node.hcas
        && !unread.is_absent()
    {
        seen.unread(unread);
        return seen.verdict("");
    }
    uverbs(facts, &mut seen);
    // Which functions of the host have which device is not a container's to see.
    if facts.node.container.is_none() {
        idle(facts, &mut seen);
    }
    seen.verdict("no card that could do RDMA")
}

/// RDMA devices whose character devices nothing makes.
fn uverbs(facts: &Facts, seen: &mut Collector) {
    let hcas = facts.node.hcas();
    if hcas.is_empty() {
        return;
    }
    if hcas.iter().any(|h| h.uverbs.number.is_some()) {
        for _ in hcas {
            seen.look();
        }
        return;
    }
    let Some(modules) = seen.value(&facts.health.kernel.modules) else {
        return;
    };
    for _ in hcas {
        seen.look();
    }
    if modules.contains("ib_uverbs") {
        return;
    }
    let names: Vec<&str> = hcas.iter().map(|h| h.name.as_str()).collect();
    seen.find(
        Finding::new(
            Severity::Error,
            "ib_uverbs",
            format!(
                "ib_uverbs is not loaded: no program can open the {} RDMA devices",
                names.len()
            ),
        )
        .evidence("/proc/modules", "no ib_uverbs")
        .evidence("/sys/class/infiniband", names.join(" "))
        .fix("load it, and have it loaded at boot")
        .command("modprobe ib_uverbs"),
    );
}

/// Cards without an RDMA device.
fn idle(facts: &Facts, seen: &mut Collector) {
    let kernel = &facts.health.kernel;
    let has_devices = !facts.node.hcas().is_empty();
    let elsewhere = kernel.rdma_netns_shared == Ok(false);
    for (address, driver) in &kernel.idle_rdma_functions {
        let Some(module) = module_of(driver.as_deref()) else {
            // Makers of whose network cards only some do RDMA: idle ones beside RDMA devices mean nothing.
            continue;
        };
        let certain = matches!(driver.as_deref(), None | Some("mlx5_core" | "mlx4_core"));
        if !certain && has_devices {
            continue;
        }
        seen.look();
        let bound = driver.as_deref().unwrap_or("no driver");
        let loaded = kernel.modules.as_ref().map(|m| m.contains(module));
        let (severity, why) = match (driver, &loaded) {
            (None, _) => (Severity::Warning, "it has no driver".to_owned()),
            (Some(_), Ok(false)) if has_devices => {
                (Severity::Warning, format!("{module} is not loaded"))
            }
            (Some(_), Ok(false)) => (Severity::Error, format!("{module} is not loaded")),
            (Some(_), Ok(true)) if elsewhere => (
                Severity::Note,
                "its device may be in another network namespace".to_owned(),
            ),
            (Some(_), Ok(true)) => (Severity::Warning, format!("although {module} is loaded")),
            (Some(_), Err(unread)) => {
                seen.unread(unread);
                continue;
            }
        };
        let mut finding = Finding::new(
            severity,
            address,
            format!("{address} ({bound}) has no RDMA device: {why}"),
        )
        .evidence(format!("/sys/bus/pci/devices/{address}/driver"), bound);
        if let Ok(loaded) = loaded {
            let word = if loaded {
                module.to_owned()
            } else {
                format!("no {module}")
            };
            finding = finding.evidence("/proc/modules", word);
        }
        seen.find(match (driver, loaded) {
            (None, _) => finding
                .fix("bind the card's driver; the kernel log says why it did not take the card")
                .command(format!("dmesg | grep {address}")),
            (Some(_), Ok(false)) => finding
                .fix("load it, and have it loaded at boot")
                .command(format!("modprobe {module}")),
            _ if elsewhere => finding
                .fix("see which namespaces have the devices")
                .command("rdma system show"),
            _ => finding
                .fix("see whether RDMA is switched off for the function")
                .command(format!("devlink dev param show pci/{address}")),
        });
    }
}

/// The module that makes RDMA devices of a network driver's functions.
fn module_of(driver: Option<&str>) -> Option<&'static str> {
    Some(match driver {
        None | Some("mlx5_core") => "mlx5_ib",
        Some("mlx4_core") => "mlx4_ib",
        Some("bnxt_en") => "bnxt_re",
        Some("ice" | "i40e") => "irdma",
        Some("ionic") => "ionic_rdma",
        Some("hinic3") => "hiroce3",
        Some(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::gpu::fixture::{Given, findings, hca, run};
    use super::RDMA_MODULES;
    use crate::checks::{Finding, Severity, Verdict};

    fn verdict(lines: String) -> Verdict {
        run(
            &RDMA_MODULES,
            &Given {
                lines,
                ..Given::default()
            },
        )
    }

    fn only(lines: String) -> Finding {
        let mut found = findings(verdict(lines));
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    /// A network function without an RDMA device.
    fn idle(driver: &str) -> String {
        let dir = "sys/devices/pci0000:9a/0000:9c:00.0";
        format!(
            "link sys/bus/pci/devices/0000:9c:00.0 ../../../devices/pci0000:9a/0000:9c:00.0\n\
             {dir}/vendor = 0x15b3\n{dir}/class = 0x020000\n\
             link {dir}/driver ../../../bus/pci/drivers/{driver}\n"
        )
    }

    const LOADED: &str =
        "file proc/modules <<END\nmlx5_ib 1 0 - Live 0x0\nib_uverbs 1 0 - Live 0x0\nEND\n";
    const BARE: &str = "file proc/modules <<END\nmlx5_core 1 0 - Live 0x0\nEND\n";

    #[test]
    fn devices_with_their_modules_are_fine() {
        assert_eq!(verdict(hca(1) + LOADED), Verdict::Passed(1));
        // A built-in ib_uverbs is in no list of modules, but its devices are.
        assert_eq!(verdict(hca(1) + BARE), Verdict::Passed(1));
        assert!(matches!(verdict(String::new()), Verdict::NotApplicable(_)));
    }

    #[test]
    fn a_missing_uverbs_module_is_named() {
        let without: String = hca(1)
            .lines()
            .filter(|l| !l.contains("uverbs"))
            .fold(String::new(), |all, line| all + line + "\n");
        assert_eq!(only(without.clone() + BARE).subject, "ib_uverbs");
        assert!(matches!(verdict(without), Verdict::Unknown(_)));
    }

    #[test]
    fn an_idle_card_is_an_error_where_nothing_else_is() {
        let alone = only(idle("mlx5_core") + BARE);
        assert_eq!(
            (alone.severity, alone.subject.as_str()),
            (Severity::Error, "0000:9c:00.0")
        );
        let beside = only(hca(1) + &idle("mlx5_core") + LOADED);
        assert_eq!(beside.severity, Severity::Warning);
        assert!(beside.message.ends_with("although mlx5_ib is loaded"));
        let exclusive = "sys/module/ib_core/parameters/netns_mode = N\n";
        let note = only(hca(1) + &idle("mlx5_core") + LOADED + exclusive);
        assert_eq!(note.severity, Severity::Note);
        assert!(matches!(verdict(idle("mlx5_core")), Verdict::Unknown(_)));
    }

    #[test]
    fn idle_cards_that_need_not_do_rdma_count_only_alone() {
        assert_eq!(
            verdict(hca(1) + &idle("bnxt_en") + LOADED),
            Verdict::Passed(1)
        );
        assert_eq!(only(idle("bnxt_en") + LOADED).severity, Severity::Error);
        let container = hca(1) + &idle("mlx5_core") + BARE + "exists .dockerenv\n";
        assert_eq!(verdict(container), Verdict::Passed(1));
    }
}
