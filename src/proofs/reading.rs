//! The readers give what is there, and quick reading leads to the same answer as full reading.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::draw::shape;
use super::planning::plan;
use super::shape::{RowShape, Shape};
use super::{CASES, FEW_CASES, config, program};
use crate::model::{GidDepth, Node, order};
use crate::nccl::release::{KNOWN, Release};
use crate::plan::Policy;
use crate::roles::{Rules, decide};
use crate::sys::{Root, Scope, read_node};

/// What a description says of a node, a line for each part.
fn described(shape: &Shape) -> String {
    let mut out = String::new();
    let mut hcas: Vec<_> = shape.hcas.iter().collect();
    hcas.sort_by(|a, b| order::natural(&a.name, &b.name));
    for hca in hcas {
        let path = hca.function.as_ref().map(|f| f.path.clone());
        let order = shape.order_known.then_some(hca.ibdev_index);
        let nodes_known = shape.dev_infiniband || shape.container;
        let node_exists = hca
            .uverbs
            .filter(|_| nodes_known)
            .map(|_| shape.dev_infiniband && hca.uverbs_node);
        let _ = writeln!(
            out,
            "{} {path:?} {:?} {:?} {order:?} {node_exists:?}",
            hca.name, hca.physfn, hca.uverbs
        );
        for (number, port) in &hca.ports {
            let mut netdevs: Vec<&str> = match (&hca.function, &hca.parent) {
                // It may name one of another namespace.
                (None, parent) => parent
                    .iter()
                    .map(String::as_str)
                    .filter(|p| shape.netdevs.iter().any(|n| n.name == **p))
                    .collect(),
                (Some(function), _) => shape
                    .netdevs
                    .iter()
                    .filter(|n| n.function.as_ref() == Some(&function.path))
                    .filter(|n| hca.ports.len() == 1 || n.dev_port + 1 == *number)
                    .map(|n| n.name.as_str())
                    .collect(),
            };
            netdevs.sort_by(|a, b| order::natural(a, b));
            let _ = writeln!(out, " {number} {netdevs:?} {} {}", port.lid, port.len);
            for (index, row) in &port.rows {
                let _ = match row {
                    RowShape::Holds { gid, ndev, .. } => {
                        writeln!(out, "  {index} {gid} {:?}", ndev.as_deref().ok())
                    }
                    RowShape::Fails(errno) => writeln!(out, "  {index} fails {errno}"),
                };
            }
        }
    }
    let mut netdevs: Vec<_> = shape.netdevs.iter().collect();
    netdevs.sort_by(|a, b| order::natural(&a.name, &b.name));
    for netdev in netdevs {
        let mut lowers = netdev.lowers.clone();
        lowers.sort_by(|a, b| order::natural(a, b));
        let _ = writeln!(
            out,
            "{} {} {:?} {lowers:?}",
            netdev.name,
            netdev.kind.word(),
            netdev.master
        );
    }
    for netdev in &shape.netdevs {
        let ips: Vec<_> = netdev.addresses.iter().map(|(ip, _)| *ip).collect();
        let _ = writeln!(
            out,
            "{} {} {} {} {ips:?}",
            netdev.name, netdev.ifindex, netdev.up, netdev.running
        );
    }
    let gpus: Vec<_> = shape.gpus.iter().map(|g| g.path.clone()).collect();
    let _ = writeln!(
        out,
        "{gpus:?} {:?} {:?} {} {}",
        shape.routes4, shape.routes6, shape.container, shape.dev_infiniband
    );
    out
}

/// The same of a node that was read.
fn read(node: &Node) -> String {
    let mut out = String::new();
    for hca in node.hcas() {
        let path = hca.pci().map(|f| f.path.0.join("/"));
        let physfn = hca
            .physfn
            .as_ref()
            .map(|f| f.trim_start_matches("sys/devices/").to_owned());
        let _ = writeln!(
            out,
            "{} {path:?} {physfn:?} {:?} {:?} {:?}",
            hca.name, hca.uverbs.number, hca.ibdev_index, hca.uverbs.node_exists
        );
        for port in hca.ports() {
            let table = port.gids.as_ref().unwrap();
            let _ = writeln!(
                out,
                " {} {:?} {} {}",
                port.number,
                port.netdevs,
                port.lid.as_ref().unwrap(),
                table.len.unwrap()
            );
            let fails = table.unread.iter().map(|(index, unread)| {
                let errno = unread.errno().unwrap();
                (*index, format!("  {index} fails {errno}\n"))
            });
            let holds = table.rows.iter().map(|row| {
                let ndev = row.ndev.as_deref().ok();
                (
                    row.index,
                    format!("  {} {} {ndev:?}\n", row.index, as_v6(row)),
                )
            });
            let mut rows: Vec<_> = fails.chain(holds).collect();
            rows.sort();
            out.extend(rows.into_iter().map(|(_, text)| text));
        }
    }
    for netdev in node.netdevs() {
        let _ = writeln!(
            out,
            "{} {} {:?} {:?}",
            netdev.name,
            netdev.kind.word(),
            netdev.master,
            netdev.lowers
        );
    }
    for interface in node.interfaces() {
        let ips: Vec<_> = interface.addresses.iter().map(|a| a.ip).collect();
        let _ = writeln!(
            out,
            "{} {} {} {} {ips:?}",
            interface.name, interface.ifindex, interface.up, interface.running
        );
    }
    let gpus: Vec<_> = node.gpus().iter().map(|g| g.pci.path.0.join("/")).collect();
    let routes = |routes: &crate::model::Reading<Vec<crate::model::Route>>| -> Vec<(String, u32)> {
        let all = routes.as_ref().unwrap().iter();
        all.map(|r| (r.interface.clone(), r.metric)).collect()
    };
    let _ = writeln!(
        out,
        "{gpus:?} {:?} {:?} {} {}",
        routes(&node.routes4),
        routes(&node.routes6),
        node.container.is_some(),
        node.dev_infiniband == Ok(true)
    );
    out
}

fn as_v6(row: &crate::model::GidRow) -> std::net::Ipv6Addr {
    row.gid.0.into()
}

/// A plan as it is compared: what is printed, and what is said.
fn shown(shape: &Shape, node: &Node, releases: &[Release]) -> (bool, String) {
    let decision = decide(node, &Rules::default());
    let result = plan(shape, node, &decision, releases);
    let settled = result
        .as_ref()
        .is_ok_and(|p| p.policy.is_none_or(|p| p == Policy::Pin));
    let text = result.map_or_else(
        |e| e.to_string(),
        |p| {
            format!(
                "{:?} {:?} {:?} {:?}",
                p.variables, p.data, p.warnings, p.notes
            )
        },
    );
    (settled, text)
}

proptest! {
    #![proptest_config(config(CASES))]

    #[test]
    fn what_is_read_is_what_is_there(shape in shape()) {
        let node = read_node(&Root::tree(shape.tree(), ""), Scope::FULL);
        prop_assert_eq!(read(&node), described(&shape));
    }

    /// The rule of `env`: an answer from quick reading counts where it pins an index or needs none.
    #[test]
    fn quick_and_full_reading_lead_to_the_same_block(shape in shape(), release in prop::sample::select(KNOWN)) {
        let root = Root::tree(shape.tree(), "");
        let quick = read_node(&root, Scope::SETTINGS);
        let full = read_node(&root, Scope::FULL);
        for releases in [&[release][..], &[]] {
            let (settled, text) = shown(&shape, &quick, releases);
            if settled {
                prop_assert_eq!(text, shown(&shape, &full, releases).1);
            }
        }
    }

    /// Rows of tables that a quick reading leaves out are never among those it gives.
    #[test]
    fn quick_reading_ends_early_and_skips_nothing_before(shape in shape()) {
        let root = Root::tree(shape.tree(), "");
        let (quick, full) = (read_node(&root, Scope::SETTINGS), read_node(&root, Scope::FULL));
        prop_assert_eq!(Scope::SETTINGS.gids, GidDepth::Needed);
        for ((_, some), (_, all)) in quick.ports().zip(full.ports()) {
            let (Ok(some), Ok(all)) = (&some.gids, &all.gids) else { continue };
            prop_assert!(all.rows.starts_with(&some.rows));
            if some.is_complete() {
                prop_assert_eq!(some, all);
            }
        }
    }
}

proptest! {
    #![proptest_config(config(FEW_CASES))]

    #[test]
    fn the_program_prints_what_full_reading_says(shape in shape()) {
        let tree = shape.tree();
        let node = read_node(&Root::tree(tree.clone(), ""), Scope::FULL);
        let decision = decide(&node, &Rules::default());
        let expected = plan(&shape, &node, &decision, &[]).map_or_else(
            |_| "false;\n".to_owned(),
            |plan| super::planning::printed(&plan, &node),
        );
        let output = program::run(&tree, &["env"]);
        prop_assert_eq!(&output.stdout, &expected, "{}", output.stderr);
        prop_assert_eq!(output.exit == "Fine", expected != "false;\n");
    }

    #[test]
    fn a_capture_replays_as_the_node_it_was_made_on(shape in shape()) {
        let tree = shape.tree();
        let capture = program::run(&tree, &["capture"]);
        prop_assert_eq!(&capture.exit, "Fine", "{}", capture.stderr);
        for arguments in [
            &["devices", "--format", "json"][..],
            &["gids", "--format", "json"],
            &["topo"],
            &["env", "--format", "json"],
        ] {
            let mut direct = program::run(&tree, arguments);
            let mut replayed = program::run_on(&capture.stdout, arguments);
            // A row whose type does not exist at all is not in a capture, and neither is the name of the file.
            (direct.stderr, replayed.stderr) = (String::new(), String::new());
            prop_assert_eq!(direct, replayed, "{:?}", arguments);
        }
    }
}
