//! The checks of the family `net`.

mod bond_degraded;
mod data_port_no_address;
#[cfg(test)]
pub(in crate::checks) mod fixture;
mod mtu_differs;
mod mtu_small;
mod no_socket_interface;
mod rails_share_subnet;

use super::{Check, Facts};
use crate::model::{Netdev, NetdevKind};
use crate::roles::{Assigned, Fabric};

/// The family's checks, in the order in which they are reported.
pub(crate) const ALL: &[&Check] = &[
    &no_socket_interface::NO_SOCKET_INTERFACE,
    &data_port_no_address::DATA_PORT_NO_ADDRESS,
    &bond_degraded::BOND_DEGRADED,
    &mtu_small::MTU_SMALL,
    &mtu_differs::MTU_DIFFERS,
    &rails_share_subnet::RAILS_SHARE_SUBNET,
];

/// The data ports that speak RoCE.
fn roce_data<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a Assigned> {
    facts
        .decision
        .data()
        .filter(|port| port.fabric == Some(Fabric::Roce))
}

/// The network device whose MTU decides a RoCE port's active one: the bond above the port's own, or its own. `None` where
/// it is in another network namespace.
fn own_netdev<'a>(facts: &Facts<'a>, port: &Assigned) -> Option<&'a Netdev> {
    let (_, read) = facts.node.port(&port.key)?;
    let own = read.netdevs.iter().find_map(|n| facts.node.netdev(n))?;
    let bond = own
        .master
        .as_deref()
        .and_then(|master| facts.node.netdev(master))
        .filter(|master| master.kind == NetdevKind::Bond);
    Some(bond.unwrap_or(own))
}

/// The network device that the port's chosen GID belongs to, where it is another one: a VLAN, macvlan or ipvlan.
fn child_netdev<'a>(facts: &Facts<'a>, port: &Assigned) -> Option<&'a Netdev> {
    let name = port.gid.as_ref()?.ndev.as_deref().ok()?;
    let child = facts.node.netdev(name)?;
    let own = own_netdev(facts, port);
    own.is_none_or(|own| own.name != child.name)
        .then_some(child)
}
