//! `gid.none`: an ACTIVE RoCE port whose GID table is empty here.

use crate::checks::port::roce_disabled::is_disabled;
use crate::checks::port::shared::{
    ASK_FOR_NETDEV, judged_by_gid, port_file, severity_of_loss, with_state,
};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::roles::{Assigned, NoGid, Reason};

declare_check! {
    NONE = "gid" / "none",
    title: "an ACTIVE RoCE port has no GID",
    severity: Error,
    since: "0.1.0",
    subject: Port,
    reads: ["sys/class/infiniband/*/ports/*/gids/*"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    for assigned in judged_by_gid(facts) {
        match &assigned.reason {
            Reason::NoGid(NoGid::Unread(unread)) => collector.unread(unread),
            Reason::NoGid(NoGid::Empty) => {
                collector.look();
                let off = facts
                    .node
                    .port(&assigned.key)
                    .is_some_and(|(hca, port)| is_disabled(facts.node, hca, port));
                if !off {
                    collector.find(finding(facts, assigned));
                }
            }
            _ => collector.look(),
        }
    }
    collector.verdict("no ACTIVE RoCE port")
}

fn finding(facts: &Facts, assigned: &Assigned) -> Finding {
    let key = &assigned.key;
    let container = facts.node.container.is_some();
    let loss = severity_of_loss(facts);
    // A pod that was given some of the host's cards sees the others too.
    let severity = if container && loss == Severity::Warning {
        Severity::Note
    } else {
        loss
    };
    let message = if container {
        "ACTIVE without any GID in this network namespace: the container has no netdev of this card"
    } else if assigned.netdevs.is_empty() {
        "ACTIVE without any GID: it has no netdev in this network namespace"
    } else {
        "ACTIVE without any GID: its netdev is down or was never set up"
    };
    let mut finding = Finding::new(severity, key, message);
    if let Some((_, port)) = facts.node.port(key) {
        finding = with_state(finding, key, port);
        let rows = port.gids.as_ref().ok().and_then(|t| t.len);
        if rows.is_some_and(|n| n > 0) {
            finding = finding.file(
                &port_file(key, "gids/0"),
                "0000:0000:0000:0000:0000:0000:0000:0000",
            );
        }
    }
    if container {
        return finding.fix(ASK_FOR_NETDEV);
    }
    match assigned.netdevs.iter().next() {
        Some(name) => finding
            .fix(format!("switch {name} on and give it an address"))
            .command(format!("ip link set dev {name} up")),
        None => finding
            .fix("move the card's netdev back into this network namespace, or run where it is"),
    }
}

#[cfg(test)]
mod tests {
    use super::NONE;
    use crate::checks::port::testing::Scene;
    use crate::model::GidTable;

    fn empty(scene: Scene, names: &[&str]) -> Scene {
        names.iter().fold(scene, |scene, name| {
            scene.port(name, |p| {
                p.gids = Ok(GidTable {
                    len: Some(256),
                    ..GidTable::default()
                });
            })
        })
    }

    #[test]
    fn severity_follows_what_is_left() {
        let scene = || Scene::of("a100-8gpu-roce");
        assert!(scene().passes(&NONE));
        assert_eq!(
            empty(scene(), &["mlx5_1"]).short(&NONE),
            ["warning mlx5_1/1"]
        );
        let pod = scene().node(|n| n.container = Some("/.dockerenv".into()));
        assert_eq!(empty(pod, &["mlx5_1"]).short(&NONE), ["note mlx5_1/1"]);
        assert!(Scene::of("no-rdma-gpus").is_not_applicable(&NONE));
    }
}
