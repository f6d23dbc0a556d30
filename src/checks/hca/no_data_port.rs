//! `hca.no-data-port`: RDMA devices, and none of them can carry NCCL's traffic.

use crate::checks::port::shared::{
    brief, counted, device_file, is_candidate, joined, port_file, some_of, with_row, with_state,
};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::{PortKey, Transport};
use crate::roles::{Assigned, Reason, Refusal, Role};

declare_check! {
    NO_DATA_PORT = "hca" / "no-data-port",
    title: "no RDMA port can carry NCCL's traffic",
    severity: Error,
    since: "0.1.0",
    subject: Port,
    reads: [
        "sys/class/infiniband/*/node_type",
        "sys/class/infiniband/*/ports/*/state",
        "sys/class/infiniband/*/ports/*/link_layer",
        "sys/class/infiniband/*/ports/*/lid",
        "sys/class/infiniband/*/ports/*/gids/*",
        "dev/infiniband",
        "proc/net/route",
    ],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    if let Err(unread) = &facts.node.hcas
        && !unread.is_absent()
    {
        collector.unread(unread);
    }
    for hca in facts.node.hcas() {
        if let Err(unread) = &hca.ports {
            collector.unread(unread);
        }
    }
    let ports = &facts.decision.ports;
    let data = facts.decision.data().count();
    if data > 0 {
        // Without the routes the port of the host's ordinary traffic may be one of them.
        let routes = facts.node.routes4.as_ref().err();
        if let Some(unread) = routes.filter(|u| !u.is_absent()) {
            return Verdict::Unknown(vec![unread.clone()]);
        }
        // What could not be read of another device does not take these away.
        return Verdict::Passed(data);
    }
    if !ports.is_empty()
        && ports
            .iter()
            .all(|p| p.reason == Reason::Transport(Transport::Efa))
    {
        collector.look();
        if facts.health.libraries.net_plugins.is_empty() {
            collector.find(without_plugin(facts));
        }
    } else if !ports.is_empty() {
        for assigned in ports {
            if let Reason::StateUnread(unread) = &assigned.reason {
                collector.unread(unread);
            }
        }
        collector.find(finding(facts));
    }
    collector.verdict("no RDMA device")
}

/// EFA is none of NCCL's own transports, and no fault where the plugin for it is there.
fn without_plugin(facts: &Facts) -> Finding {
    let names = facts.node.hcas().iter().map(|h| &h.name);
    let finding = Finding::new(
        Severity::Warning,
        joined(names.clone()),
        format!(
            "EFA only ({}): NCCL needs the aws-ofi-nccl plugin, and no libnccl-net.so was found",
            brief(names)
        ),
    );
    facts
        .node
        .hcas()
        .iter()
        .filter_map(|h| h.pci())
        .fold(finding, |f, function| {
            f.file(&format!("{}/driver", function.dir), "efa")
        })
        .fix("run jobs in an image with aws-ofi-nccl and libfabric")
}

fn finding(facts: &Facts) -> Finding {
    let ports = &facts.decision.ports;
    let all: Vec<&PortKey> = ports.iter().map(|p| &p.key).collect();
    let finding = if let Some(Refusal::BetterPortsBroken(broken)) = &facts.decision.refusal {
        let main = ports
            .iter()
            .filter(|p| p.role == Role::Main)
            .map(|p| &p.key);
        Finding::new(
            Severity::Error,
            joined(&all),
            format!(
                "no data port: {} carries the host's traffic, and better ones are broken: {}",
                brief(main),
                brief(broken)
            ),
        )
        .fix("repair these ports; `rdmactl env --allow-main` trains over the main one meanwhile")
    } else {
        let message = match ports.as_slice() {
            [only] => format!("no data port: {}: {}", only.key, only.reason),
            _ => format!(
                "no data port: none of {} ({}) can be used",
                counted(ports.len(), "port"),
                some_of(&all)
            ),
        };
        Finding::new(Severity::Error, joined(&all), message)
            .fix("see why each port is out, and the findings about it")
            .command("rdmactl devices")
    };
    ports.iter().fold(finding, |f, p| with_reason(f, facts, p))
}

/// Adds the file that keeps a port from being used.
fn with_reason(finding: Finding, facts: &Facts, assigned: &Assigned) -> Finding {
    let key = &assigned.key;
    let Some((hca, port)) = facts.node.port(key) else {
        return finding;
    };
    match &assigned.reason {
        Reason::NoLid(lid) => finding.file(&port_file(key, "lid"), format!("{lid:#x}")),
        Reason::NoUverbs(Some(number)) => finding.file(
            &format!("sys/class/infiniband_verbs/uverbs{number}/ibdev"),
            &hca.name,
        ),
        Reason::NoGid(_) => match port.gid_rows().first() {
            Some(row) => with_row(finding, key, row),
            None => with_state(finding, key, port),
        },
        Reason::Transport(_) if !is_candidate(hca) => match &hca.node_type {
            Ok(kind) => finding.file(&device_file(&hca.name, "node_type"), kind.word()),
            Err(_) => finding,
        },
        _ => with_state(finding, key, port),
    }
}

#[cfg(test)]
mod tests {
    use super::NO_DATA_PORT;
    use crate::checks::Severity;
    use crate::checks::port::testing::{Scene, only};
    use crate::model::PortState;

    #[test]
    fn every_port_is_named() {
        let scene = Scene::of("bond-only").port("mlx5_bond_0", |p| p.state = Ok(PortState::Down));
        let found = scene.found(&NO_DATA_PORT);
        assert!(
            only(&found)
                .1
                .starts_with("no data port: mlx5_bond_0/1: state is DOWN")
        );
        let found = Scene::of("main-only-better-broken-init").found(&NO_DATA_PORT);
        assert!(
            only(&found).1.contains("better ones are broken"),
            "{found:?}"
        );
        let found = Scene::of("cloud-efa-only").found(&NO_DATA_PORT);
        assert_eq!(only(&found).0, Severity::Warning);
        assert!(Scene::of("a100-8gpu-roce").passes(&NO_DATA_PORT));
        assert!(Scene::of("no-rdma-gpus").is_not_applicable(&NO_DATA_PORT));
    }
}
