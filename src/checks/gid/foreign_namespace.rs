//! `gid.foreign-namespace`: the only routable GIDs of a port belong to somebody else.

use crate::checks::port::shared::{
    ASK_FOR_NETDEV, joined, judged_by_gid, severity_of_loss, with_ndev, with_row,
};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::roles::{Assigned, NoGid, Reason, RowVerdict, judge_row};

declare_check! {
    FOREIGN_NAMESPACE = "gid" / "foreign-namespace",
    title: "a RoCE port's routable GIDs belong to other network namespaces",
    severity: Error,
    since: "0.1.0",
    subject: Port,
    reads: [
        "sys/class/infiniband/*/ports/*/gids/*",
        "sys/class/infiniband/*/ports/*/gid_attrs/ndevs/*",
        "sys/class/net",
    ],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    for assigned in judged_by_gid(facts) {
        match &assigned.reason {
            Reason::NoGid(NoGid::Unread(unread)) => collector.unread(unread),
            Reason::NoGid(NoGid::Foreign(names)) if names.is_empty() => {
                let rows = facts
                    .node
                    .port(&assigned.key)
                    .map_or(&[][..], |(_, p)| p.gid_rows());
                for row in rows {
                    if let RowVerdict::Unreadable(unread) = judge_row(facts.node, row) {
                        collector.unread(&unread);
                    }
                }
            }
            Reason::NoGid(NoGid::Foreign(names)) => {
                collector.find(finding(facts, assigned, names));
            }
            _ => collector.look(),
        }
    }
    collector.verdict("no ACTIVE RoCE port")
}

fn finding(facts: &Facts, assigned: &Assigned, names: &[String]) -> Finding {
    let key = &assigned.key;
    let container = facts.node.container.is_some();
    let loss = severity_of_loss(facts);
    // On a host that lent a port to a pod, and in a pod that was lent another, this is as it should be.
    let severity = if loss == Severity::Error {
        loss
    } else {
        Severity::Note
    };
    let finding = Finding::new(
        severity,
        key,
        format!(
            "its routable GIDs belong to other network namespaces (netdev {})",
            joined(names)
        ),
    );
    let rows = facts.node.port(key).map_or(&[][..], |(_, p)| p.gid_rows());
    let finding = rows
        .iter()
        .filter(|r| judge_row(facts.node, r) == RowVerdict::Foreign && r.ndev.is_ok())
        .take(1)
        .fold(finding, |f, row| with_ndev(with_row(f, key, row), key, row));
    if container {
        finding.fix(ASK_FOR_NETDEV)
    } else {
        finding.fix(format!(
            "run the job in the network namespace that has {}",
            joined(names)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::FOREIGN_NAMESPACE;
    use crate::checks::port::testing::Scene;
    use crate::model::{GidClass, Unread, Why};

    fn scene(change: fn(&mut crate::model::GidRow)) -> Scene {
        Scene::of("a100-8gpu-roce").port("mlx5_1", |p| {
            let table = p.gids.as_mut().unwrap();
            table.rows.retain(|r| r.gid.class() == GidClass::Ipv4);
            table.rows.iter_mut().for_each(change);
        })
    }

    #[test]
    fn rows_of_a_netdev_that_is_not_here_are_foreign() {
        let scene = scene(|row| row.ndev = Ok("ens99".into()));
        let found = scene.found(&FOREIGN_NAMESPACE);
        assert!(found[0].message.ends_with("(netdev ens99)"));
        assert_eq!(scene.short(&FOREIGN_NAMESPACE), ["note mlx5_1/1"]);
    }

    #[test]
    fn rows_whose_netdev_cannot_be_read_are_unknown() {
        let scene = scene(|row| {
            row.ndev = Err(Unread::new("ndevs", Why::Errno(5)));
            row.gid.0[15] ^= 0x55;
        });
        assert!(scene.is_unknown(&FOREIGN_NAMESPACE));
        assert!(Scene::of("a100-8gpu-roce").passes(&FOREIGN_NAMESPACE));
    }
}
