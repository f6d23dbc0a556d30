//! The network devices that carry the host's ordinary traffic: the one under the default route, followed down to the
//! physical ones and up from a slave to its bond.

use std::collections::BTreeSet;

use super::gid::{RowVerdict, is_stranger, judge_row};
use crate::model::{GidRow, NetdevKind, Node, Port};

/// Returns the main network devices: those of the default route, or those given by the user.
pub(crate) fn main_netdevs(node: &Node, given: &[String]) -> BTreeSet<String> {
    let start: Vec<String> = if given.is_empty() {
        node.default_route()
            .map(|r| r.interface.clone())
            .into_iter()
            .collect()
    } else {
        given.to_vec()
    };
    let mut found: BTreeSet<String> = start.into_iter().collect();
    loop {
        let mut more = BTreeSet::new();
        for netdev in node.netdevs() {
            if found.contains(&netdev.name) {
                more.extend(netdev.lowers.iter().cloned());
                // Up to a bond only: a bridge's other ports are other machines' traffic.
                more.extend(
                    netdev
                        .master
                        .iter()
                        .filter(|m| node.netdev(m).is_none_or(|m| m.kind == NetdevKind::Bond))
                        .cloned(),
                );
            } else if netdev.master.as_ref().is_some_and(|m| found.contains(m)) {
                more.insert(netdev.name.clone());
            }
        }
        let before = found.len();
        found.append(&mut more);
        if found.len() == before {
            return found;
        }
    }
}

/// The network devices of a port in this namespace: its own, their masters, and those its rows belong to: that of the chosen
/// one, and of the others that are no strangers'.
pub(crate) fn port_netdevs(node: &Node, port: &Port, chosen: Option<&GidRow>) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = port.netdevs.iter().cloned().collect();
    let masters: Vec<String> = names
        .iter()
        .filter_map(|n| node.netdev(n)?.master.clone())
        .collect();
    names.extend(masters);
    names.extend(
        port.gid_rows()
            .iter()
            .filter(|r| matches!(judge_row(node, r), RowVerdict::Usable | RowVerdict::V1))
            .filter(|r| !is_stranger(node, port, r))
            .chain(chosen)
            .filter_map(|r| r.ndev.clone().ok()),
    );
    names
}
