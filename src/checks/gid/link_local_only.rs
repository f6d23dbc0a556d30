//! `gid.link-local-only`: an ACTIVE RoCE port whose netdev has no address.

use crate::checks::port::shared::{
    has_enough, is_data_grade, joined, judged_by_gid, with_ndev, with_row,
};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::{GidClass, Port};
use crate::roles::{Assigned, NoGid, Reason};

declare_check! {
    LINK_LOCAL_ONLY = "gid" / "link-local-only",
    title: "an ACTIVE RoCE port has link-local GIDs only",
    severity: Warning,
    since: "0.1.0",
    subject: Port,
    reads: [
        "sys/class/infiniband/*/ports/*/gids/*",
        "sys/class/infiniband/*/ports/*/gid_attrs/ndevs/*",
    ],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    for assigned in judged_by_gid(facts) {
        match &assigned.reason {
            Reason::NoGid(NoGid::Unread(unread)) => collector.unread(unread),
            reason => {
                collector.look();
                if *reason == Reason::NoGid(NoGid::LinkLocalOnly)
                    && let Some((hca, port)) = facts.node.port(&assigned.key)
                {
                    // A storage or management card beside a data port for each GPU need not have one.
                    let spare = has_enough(facts)
                        && !facts.node.gpus().is_empty()
                        && !is_data_grade(facts, hca, port);
                    let severity = if spare {
                        Severity::Note
                    } else {
                        Severity::Warning
                    };
                    collector.find(finding(facts, assigned, port, severity));
                }
            }
        }
    }
    collector.verdict("no ACTIVE RoCE port")
}

/// The network devices that the rows name, or the port's own.
fn netdevs(assigned: &Assigned, port: &Port) -> Vec<String> {
    let mut names: Vec<String> = port
        .gid_rows()
        .iter()
        .filter_map(|r| r.ndev.clone().ok())
        .collect();
    if names.is_empty() {
        names.extend(assigned.netdevs.iter().cloned());
    }
    names.sort_by(|a, b| crate::model::order::natural(a, b));
    names.dedup();
    names
}

fn finding(facts: &Facts, assigned: &Assigned, port: &Port, severity: Severity) -> Finding {
    let key = &assigned.key;
    let names = netdevs(assigned, port);
    let ipv4 = port
        .gid_rows()
        .iter()
        .any(|r| r.gid.class() == GidClass::Ipv4LinkLocal);
    let kinds = if ipv4 { " (fe80, 169.254)" } else { "" };
    let addressed = names.iter().any(|n| {
        facts
            .node
            .interface(n)
            .is_some_and(|i| i.addresses.iter().any(|a| !a.is_link_local()))
    });
    let why = match (names.as_slice(), addressed) {
        ([], _) => "its netdev has no address".to_owned(),
        (names, true) => format!("the address of {} has no row", joined(names)),
        (names, false) => format!("{} has no address", joined(names)),
    };
    let mut finding = Finding::new(
        severity,
        key,
        format!("ACTIVE with link-local GIDs only{kinds}: {why}"),
    );
    if let Some(row) = port.gid_rows().first() {
        finding = with_ndev(with_row(finding, key, row), key, row);
    }
    match names.first() {
        Some(name) if !addressed => finding
            .fix(format!("give {name} the address of its network"))
            .command(format!("ip address add ADDRESS/PREFIX dev {name}")),
        Some(name) => finding
            .fix("take the address away and add it again, so that the kernel makes its row")
            .command(format!("ip address replace ADDRESS/PREFIX dev {name}")),
        None => finding.fix("give its netdev the address of its network"),
    }
}

#[cfg(test)]
mod tests {
    use super::LINK_LOCAL_ONLY;
    use crate::checks::port::testing::{Scene, only};
    use crate::model::{GidClass, Port};

    fn without_addresses(port: &mut Port) {
        let table = port.gids.as_mut().unwrap();
        table.rows.retain(|r| r.gid.class() == GidClass::LinkLocal);
    }

    #[test]
    fn the_netdev_without_an_address_is_named() {
        let scene = || Scene::of("a100-8gpu-roce").port("mlx5_1", without_addresses);
        let netdev = scene().node.hca("mlx5_1").unwrap().ports()[0].netdevs[0].clone();
        let found = scene().found(&LINK_LOCAL_ONLY);
        assert!(only(&found).1.contains("has no row"), "{found:?}");
        let found = scene()
            .node(|n| {
                let interfaces = n.interfaces.as_mut().unwrap();
                interfaces
                    .iter_mut()
                    .find(|i| i.name == netdev)
                    .unwrap()
                    .addresses
                    .clear();
            })
            .found(&LINK_LOCAL_ONLY);
        assert!(
            only(&found).1.contains(&format!("{netdev} has no address")),
            "{found:?}"
        );
        assert!(Scene::of("a100-8gpu-roce").passes(&LINK_LOCAL_ONLY));
    }
}
