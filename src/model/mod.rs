//! What a node is: plain data and small pure methods. Nothing here reads, prints or decides.

#[cfg(test)]
pub(crate) mod fixture;
mod gid;
mod gpu;
mod hca;
pub(crate) mod health;
mod net;
mod node;
pub(crate) mod order;
mod pci;
mod reading;

pub(crate) use gid::{Gid, GidClass, GidRow, GidTable, GidType};
pub(crate) use gpu::{Gpu, GpuInformation, GpuVendor};
pub(crate) use hca::{
    Hca, LinkLayer, NodeType, PhysState, Port, PortKey, PortState, Rate, Transport, Uverbs,
};
pub(crate) use net::{Address, Bond, Interface, Netdev, NetdevKind, Route, stack_of};
pub(crate) use node::{GidDepth, Node};
pub(crate) use pci::{Bdf, Distance, PciFunction, PciPath};
pub(crate) use reading::{Reading, Unread, Why, errno_text};
