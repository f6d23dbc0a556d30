//! `lib.provider`

use std::collections::BTreeMap;

use crate::checks::gpu::answer::listed;
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};

declare_check! {
    PROVIDER = "lib" / "provider",
    title: "libibverbs has no provider library for a device's driver",
    severity: Error,
    since: "0.1.0",
    subject: Device,
    reads: ["usr/lib*/libibverbs", "sys/bus/pci/devices/*/driver"],
    run: provider,
}

/// rdma-core's provider for each kernel driver of a PCI function.
fn provider_of(driver: &str) -> Option<&'static str> {
    Some(match driver {
        "mlx5_core" => "mlx5",
        "mlx4_core" => "mlx4",
        "bnxt_en" => "bnxt_re",
        "ice" | "i40e" | "irdma" => "irdma",
        "ionic" => "ionic",
        "efa" => "efa",
        "hns3" => "hns",
        "qede" => "qedr",
        "cxgb4" => "cxgb4",
        "erdma" => "erdma",
        "mana" => "mana",
        _ => return None,
    })
}

fn provider(facts: &Facts) -> Verdict {
    let libraries = &facts.health.libraries;
    if facts.node.hcas().is_empty() {
        return Verdict::NotApplicable("no RDMA device");
    }
    if libraries.verbs == Ok(None) {
        return Verdict::NotApplicable("libibverbs itself is missing: see lib.verbs");
    }
    let mut seen = Collector::default();
    let Some(providers) = seen.value(&libraries.providers) else {
        return seen.verdict("");
    };
    let mut lacking: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for hca in facts.node.hcas() {
        let Some(wanted) = hca.driver.as_deref().and_then(provider_of) else {
            continue;
        };
        seen.look();
        if !providers.contains_key(wanted) {
            lacking.entry(wanted).or_default().push(hca.name.clone());
        }
    }
    let severity = if facts.node.container.is_some() {
        Severity::Error
    } else {
        Severity::Warning
    };
    let path = libraries.verbs.iter().flatten().next();
    let dir = path
        .and_then(|p| p.rsplit_once('/'))
        .map_or("/usr/lib", |(dir, _)| dir);
    for (name, devices) in lacking {
        let have: Vec<String> = providers.keys().cloned().collect();
        let have = if have.is_empty() {
            "no provider".to_owned()
        } else {
            listed(&have)
        };
        seen.find(
            Finding::new(
                severity,
                devices.join(", "),
                format!(
                    "no lib{name}-rdmav*.so: libibverbs leaves {} devices out without a word",
                    devices.len()
                ),
            )
            .evidence(format!("{dir}/libibverbs"), have)
            .fix("install the provider libraries beside libibverbs")
            .command("apt-get install ibverbs-providers  # or: dnf install libibverbs"),
        );
    }
    seen.verdict("no device whose provider is known by name")
}

#[cfg(test)]
mod tests {
    use super::super::super::gpu::fixture::{Given, findings, hca, run};
    use super::PROVIDER;
    use crate::checks::{Severity, Verdict};

    fn verdict(lines: &str) -> Verdict {
        run(
            &PROVIDER,
            &Given {
                lines: hca(1) + &hca(2) + "exists usr/lib64/libibverbs.so.1\n" + lines,
                ..Given::default()
            },
        )
    }

    #[test]
    fn one_finding_for_all_devices_of_a_driver() {
        let with = "exists usr/lib64/libibverbs/libmlx5-rdmav34.so\n";
        assert_eq!(verdict(with), Verdict::Passed(2));
        let other = "exists usr/lib64/libibverbs/libefa-rdmav34.so\n";
        let found = findings(verdict(other));
        assert_eq!(found[0].subject, "mlx5_1, mlx5_2");
        assert_eq!(found[0].severity, Severity::Warning);
        assert_eq!(found[0].evidence[0].value, "efa");
        let container = findings(verdict("exists .dockerenv\n"));
        assert_eq!(container[0].severity, Severity::Error);
    }
}
