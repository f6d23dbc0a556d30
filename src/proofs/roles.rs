//! Roles do not depend on names, numbers or the order in which anything is listed.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::draw::shape;
use super::shape::Renaming;
use super::{CASES, FEW_CASES, config, program};
use crate::model::Node;
use crate::roles::{Rules, decide};
use crate::sys::{Entry, Root, Scope, Tree, read_node};

/// Role, reason and GID row of every port.
fn roles(node: &Node) -> BTreeMap<(String, u32), String> {
    let decision = decide(node, &Rules::default());
    decision
        .ports
        .iter()
        .map(|p| {
            let row = p.gid.as_ref().map(|g| g.index);
            (
                (p.key.hca.clone(), p.key.port),
                format!("{} {} {row:?}", p.role.word(), p.reason.word()),
            )
        })
        .collect()
}

proptest! {
    #![proptest_config(config(CASES))]

    #[test]
    fn roles_do_not_depend_on_names(shape in shape(), turn in 0..12usize) {
        let new = Renaming::new(&shape, turn);
        let before = roles(&read_node(&Root::tree(shape.tree(), ""), Scope::FULL));
        let renamed = shape.renamed(&new);
        let after = roles(&read_node(&Root::tree(renamed.tree(), ""), Scope::FULL));
        let before: BTreeMap<_, _> = before
            .into_iter()
            .map(|((hca, port), role)| ((new.hca(&hca), port), role))
            .collect();
        prop_assert_eq!(before, after);
    }

    #[test]
    fn roles_do_not_depend_on_the_order_of_parts(shape in shape(), turn in 0..12usize) {
        let mut node = read_node(&Root::tree(shape.tree(), ""), Scope::FULL);
        let before = roles(&node);
        mixed(node.hcas.as_mut().unwrap(), turn);
        mixed(node.netdevs.as_mut().unwrap(), turn);
        mixed(node.interfaces.as_mut().unwrap(), turn);
        mixed(node.gpus.as_mut().unwrap(), turn);
        prop_assert_eq!(before, roles(&node));
    }
}

proptest! {
    #![proptest_config(config(FEW_CASES))]

    /// Files with anything in them, files that are missing, and links that lead elsewhere: no panic, and `env` prints a block
    /// that a shell can read or stops it.
    #[test]
    fn nothing_panics_on_damaged_nodes(
        shape in shape(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..6u8, "\\PC{0,20}"), 1..12),
    ) {
        let tree = damaged(&shape.tree(), &damage);
        for arguments in [&["devices"][..], &["gids"], &["topo"], &["gids", "--format", "json"]] {
            program::run(&tree, arguments);
        }
        let output = program::run(&tree, &["env"]);
        if output.exit == "Fine" {
            super::planning::evaluated(&output.stdout, &BTreeMap::new());
        } else {
            prop_assert_eq!(output.stdout, "false;\n");
        }
    }
}

/// Turns a list and reverses the rest.
fn mixed<T>(list: &mut [T], turn: usize) {
    let middle = turn % list.len().max(1);
    list.rotate_left(middle);
    list[middle..].reverse();
}

/// A tree with some entries replaced.
fn damaged(tree: &Tree, damage: &[(prop::sample::Index, u8, String)]) -> Tree {
    let mut damaged = tree.clone();
    let paths: Vec<String> = tree.entries().map(|(path, _)| path.to_owned()).collect();
    for (index, kind, text) in damage {
        let path = index.get(&paths);
        damaged.remove(path);
        let entry = match kind {
            0 => continue,
            1 => Entry::Errno(13),
            2 => Entry::Link(format!("../{}", text.replace(' ', "_"))),
            3 => Entry::File(vec![0xff, 0xfe, b'4', b':']),
            4 => Entry::Dir,
            _ => Entry::File(text.clone().into_bytes()),
        };
        damaged.put(path, entry);
    }
    damaged
}
