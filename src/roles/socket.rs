//! Which interface carries NCCL's bootstrap and out-of-band traffic.

use std::collections::BTreeSet;

use crate::model::{Interface, Node};

/// The interface for `NCCL_SOCKET_IFNAME`, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SocketChoice {
    /// Its name.
    pub(crate) name: String,
    /// Why this one.
    pub(crate) why: &'static str,
}

/// Beginnings of names of interfaces that only lead to containers or nowhere.
const LOCAL_ONLY: [&str; 9] = [
    "lo",
    "docker",
    "veth",
    "virbr",
    "cni",
    "cali",
    "flannel",
    "kube",
    "nodelocaldns",
];

/// Chooses the interface: the default route's if it is up with an address; else by NCCL's own order without the data
/// ports' and without those that lead nowhere; else the first data port's. `data` are the data ports' network devices.
pub(crate) fn socket_interface(
    node: &Node,
    given_main: &[String],
    data: &[BTreeSet<String>],
) -> Option<SocketChoice> {
    let default_route = node.default_route().map(|r| r.interface.as_str());
    let preferred = given_main
        .first()
        .map(|n| (n.as_str(), "named by --main"))
        .or(default_route.map(|n| (n, "carries the default route")));
    if let Some((name, why)) = preferred
        && node.interface(name).is_some_and(is_usable)
    {
        return Some(SocketChoice {
            name: name.to_owned(),
            why,
        });
    }
    let is_data = |i: &Interface| data.iter().any(|names| names.contains(&i.name));
    let candidates = |allowed: &dyn Fn(&Interface) -> bool| {
        let usable = || {
            node.interfaces()
                .iter()
                .filter(|i| is_usable(i) && allowed(i))
        };
        // NCCL sees every interface's IPv4 addresses before the first IPv6 one.
        usable()
            .find(|i| {
                i.addresses
                    .iter()
                    .any(|a| a.ip.is_ipv4() && !a.is_link_local())
            })
            .or_else(|| usable().next())
            .map(|i| i.name.clone())
    };
    let outside = |i: &Interface| !is_data(i) && !LOCAL_ONLY.iter().any(|p| i.name.starts_with(p));
    if let Some(name) = candidates(&|i| outside(i) && i.name.starts_with("ib")) {
        return Some(SocketChoice {
            name,
            why: "first in NCCL's order that is no data port (no default route is usable)",
        });
    }
    if let Some(name) = candidates(&outside) {
        return Some(SocketChoice {
            name,
            why: "first in NCCL's order that is no data port (no default route is usable)",
        });
    }
    data.iter().find_map(|names| {
        let name = candidates(&|i| names.contains(&i.name))?;
        Some(SocketChoice {
            name,
            why: "the first data port's: no other interface has an address",
        })
    })
}

/// Up, running, and with an address that leaves the link.
fn is_usable(interface: &Interface) -> bool {
    interface.up
        && interface.running
        && !interface.loopback
        && interface.addresses.iter().any(|a| !a.is_link_local())
}
