//! PCI links and bridges of RDMA devices and GPUs.

use std::collections::BTreeMap;

use crate::model::health::{Bridge, PciLink};
use crate::model::{Bdf, Node};
use crate::sys::Root;

/// Reads the link of each RDMA device and GPU.
pub(super) fn read_links(_root: &Root, _node: &Node) -> BTreeMap<Bdf, PciLink> {
    BTreeMap::new()
}

/// Reads the bridges above them.
pub(super) fn read_bridges(_root: &Root, _node: &Node) -> BTreeMap<Bdf, Bridge> {
    BTreeMap::new()
}
