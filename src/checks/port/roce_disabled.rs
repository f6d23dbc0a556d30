//! `port.roce-disabled`: an mlx5 Ethernet port whose driver does no RoCE.

use super::shared::{key, port_file, severity_of_loss, with_state};
use crate::checks::{Collector, Facts, Finding, Verdict, declare_check};
use crate::model::{Hca, LinkLayer, Node, Port};

declare_check! {
    ROCE_DISABLED = "port" / "roce-disabled",
    title: "RoCE is switched off on an mlx5 function",
    severity: Error,
    since: "0.1.0",
    subject: Port,
    reads: [
        "sys/class/infiniband/*/ports/*/link_layer",
        "sys/class/infiniband/*/ports/*/gids",
    ],
    run: run,
}

const MELLANOX: u16 = 0x15b3;

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    for (hca, port) in facts.node.ports().filter(|(h, p)| is_mlx5_ethernet(h, p)) {
        match &port.gids {
            Err(unread) if unread.is_absent() && has_another_table(facts.node, hca) => {}
            Err(unread) => {
                collector.unread(unread);
                continue;
            }
            Ok(table) if table.len == Some(0) => {}
            Ok(_) => {
                collector.look();
                continue;
            }
        }
        collector.find(finding(facts, hca, port));
    }
    collector.verdict("no ACTIVE Ethernet port of an mlx5 device")
}

/// True for a port this check is about.
fn is_mlx5_ethernet(hca: &Hca, port: &Port) -> bool {
    let mlx5 = hca.driver.as_deref() == Some("mlx5_core")
        || hca.driver.is_none() && hca.pci().is_some_and(|f| f.vendor == Ok(MELLANOX));
    mlx5 && port.is_active() && port.link_layer == Ok(LinkLayer::Ethernet)
}

/// True where another device's tables were found, so that this one's is not merely missing from a copy of the files.
fn has_another_table(node: &Node, hca: &Hca) -> bool {
    node.ports()
        .any(|(other, port)| other.name != hca.name && port.gids.is_ok())
}

/// True for the ports this check reports, which the checks of GIDs leave to it.
pub(in crate::checks) fn is_disabled(node: &Node, hca: &Hca, port: &Port) -> bool {
    is_mlx5_ethernet(hca, port)
        && match &port.gids {
            Ok(table) => table.len == Some(0),
            Err(unread) => unread.is_absent() && has_another_table(node, hca),
        }
}

fn finding(facts: &Facts, hca: &Hca, port: &Port) -> Finding {
    let key = key(hca, port);
    let finding = Finding::new(
        severity_of_loss(facts),
        &key,
        "ACTIVE without a GID table: RoCE is switched off on this function (devlink enable_roce)",
    );
    let finding =
        with_state(finding, &key, port).file(&port_file(&key, "link_layer"), LinkLayer::Ethernet);
    match hca.pci() {
        Some(function) => {
            let address = function.address;
            finding
                .fix(format!(
                    "switch RoCE on and reload the function: devlink dev reload pci/{address} (its link goes down for that)"
                ))
                .command(format!(
                    "devlink dev param set pci/{address} name enable_roce value true cmode driverinit"
                ))
        }
        None => finding
            .fix("switch RoCE on: devlink parameter enable_roce, cmode driverinit, then reload"),
    }
}

#[cfg(test)]
mod tests {
    use super::ROCE_DISABLED;
    use crate::checks::port::testing::Scene;
    use crate::model::{GidTable, Unread, Why};

    #[test]
    fn a_table_without_rows_is_found_and_one_of_empty_rows_is_not() {
        let scene = |len: u32| {
            Scene::of("a100-8gpu-roce").port("mlx5_1", |p| {
                p.gids = Ok(GidTable {
                    len: Some(len),
                    ..GidTable::default()
                });
            })
        };
        assert_eq!(scene(0).short(&ROCE_DISABLED), ["warning mlx5_1/1"]);
        assert!(scene(256).passes(&ROCE_DISABLED));
    }

    #[test]
    fn tables_that_are_missing_everywhere_say_nothing() {
        let without = |n: &mut crate::model::Node| {
            for port in n
                .hcas
                .as_mut()
                .unwrap()
                .iter_mut()
                .flat_map(|h| h.ports.as_mut().unwrap())
            {
                port.gids = Err(Unread::new("gids", Why::Absent));
            }
        };
        assert!(
            Scene::of("a100-8gpu-roce")
                .node(without)
                .is_unknown(&ROCE_DISABLED)
        );
        assert!(
            Scene::of("h100-8gpu-infiniband")
                .port("mlx5_0", |_| {})
                .is_not_applicable(&ROCE_DISABLED)
                || Scene::of("h100-8gpu-infiniband").passes(&ROCE_DISABLED)
        );
    }
}
