//! Reads a node: calls the readers of its parts and never fails as a whole.

use super::Root;
use super::address::read_interfaces;
use super::gpu::read_gpus;
use super::infiniband::read_hcas;
use super::net::read_netdevs;
use crate::model::{GidDepth, Node, Reading, Unread, Why};
use crate::parse::{parse_ipv6_route, parse_route};

/// How much of a node is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope {
    /// How much of each GID table.
    pub(crate) gids: GidDepth,
    /// Whether what only people look at is read too: firmware, MTU, speed, GUIDs.
    pub(crate) inventory: bool,
}

impl Scope {
    /// What `env` needs at first.
    pub(crate) const SETTINGS: Self = Self {
        gids: GidDepth::Needed,
        inventory: false,
    };
    /// Everything.
    pub(crate) const FULL: Self = Self {
        gids: GidDepth::All,
        inventory: true,
    };
}

/// Files and directories whose existence tells that this is a container.
const CONTAINER_SIGNS: [&str; 4] = [
    ".dockerenv",
    "run/.containerenv",
    "var/run/secrets/kubernetes.io/serviceaccount",
    "run/secrets/kubernetes.io/serviceaccount",
];

/// Reads a node.
pub(crate) fn read_node(root: &Root, scope: Scope) -> Node {
    let container = CONTAINER_SIGNS
        .iter()
        .find(|p| root.exists(p) == Ok(true))
        .map(|p| format!("/{p}"));
    let interfaces = read_interfaces(root);
    let dev_infiniband = read_dev_infiniband(root);
    let netdevs = read_netdevs(root, scope);
    let hcas = read_hcas(
        root,
        scope,
        netdevs.as_deref().unwrap_or_default(),
        interfaces.as_deref().unwrap_or_default(),
        dev_infiniband.is_ok() || container.is_some(),
    );
    Node {
        hostname: root.text("proc/sys/kernel/hostname"),
        hcas,
        netdevs,
        interfaces,
        routes4: root.parsed("proc/net/route", parse_route),
        routes6: root.parsed("proc/net/ipv6_route", parse_ipv6_route),
        gpus: read_gpus(root),
        container,
        dev_infiniband,
    }
}

/// Tells whether /dev/infiniband exists; where it does not, only a /dev with its usual contents makes that a fact.
fn read_dev_infiniband(root: &Root) -> Reading<bool> {
    match root.exists("dev/infiniband") {
        Ok(false) if root.exists("dev/null") != Ok(true) => Err(Unread::new("dev", Why::Absent)),
        other => other,
    }
}
