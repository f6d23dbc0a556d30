//! PCI links and bridges of RDMA devices and GPUs.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::health::{Bridge, PciLink, Slot};
use crate::model::{Bdf, Node, PciFunction, Reading, Unread, Why};
use crate::parse::{Acs, parse_bdf, parse_link_speed, parse_link_width, parse_pci_config};
use crate::sys::Root;

/// Reads the link of each RDMA device and GPU.
pub(super) fn read_links(root: &Root, node: &Node) -> BTreeMap<Bdf, PciLink> {
    let speed =
        |dir: &str, file: &str| root.parsed(&format!("{dir}/{file}_link_speed"), parse_link_speed);
    let width =
        |dir: &str, file: &str| root.parsed(&format!("{dir}/{file}_link_width"), parse_link_width);
    functions(node)
        .map(|function| {
            let dir = &function.dir;
            let slot = bridges_above(function).pop().map(|(_, above)| Slot {
                max_mts: speed(&above, "max"),
                max_width: width(&above, "max"),
                dir: above,
            });
            let link = PciLink {
                current_mts: speed(dir, "current"),
                max_mts: speed(dir, "max"),
                current_width: width(dir, "current"),
                max_width: width(dir, "max"),
                dir: dir.clone(),
                slot,
            };
            (function.address, link)
        })
        .collect()
}

/// Reads the bridges above them, below host bridges that have both a GPU and an RDMA device: nothing else is between two.
pub(super) fn read_bridges(root: &Root, node: &Node) -> BTreeMap<Bdf, Bridge> {
    let hosts = |functions: &mut dyn Iterator<Item = &PciFunction>| -> BTreeSet<String> {
        functions
            .filter_map(|f| f.path.0.first().cloned())
            .collect()
    };
    let of_devices = hosts(&mut node.hcas().iter().filter_map(|h| h.pci()));
    let of_gpus = hosts(&mut node.gpus().iter().map(|g| &g.pci));
    let mut bridges = BTreeMap::new();
    for function in functions(node) {
        let shared = function
            .path
            .0
            .first()
            .is_some_and(|host| of_devices.contains(host) && of_gpus.contains(host));
        if !shared {
            continue;
        }
        for (address, dir) in bridges_above(function) {
            bridges
                .entry(address)
                .or_insert_with(|| read_bridge(root, dir));
        }
    }
    bridges
}

fn read_bridge(root: &Root, dir: String) -> Bridge {
    let path = format!("{dir}/config");
    let config = root.bytes(&path).and_then(|bytes| {
        parse_pci_config(&bytes).map_err(|e| Unread::malformed(path.as_str(), &e.text))
    });
    let acs_control: Reading<Option<u16>> = match &config {
        Ok(config) => match config.acs {
            Acs::Missing => Ok(None),
            Acs::Control(value) => Ok(Some(value)),
            // The kernel cuts the file short for everybody but root instead of refusing.
            Acs::BeyondReach => Err(Unread::new(path, Why::Denied)),
        },
        Err(unread) => Err(unread.clone()),
    };
    Bridge {
        acs_control,
        port_type: config.ok().and_then(|c| c.port_type),
        dir,
    }
}

/// The PCI functions of RDMA devices and GPUs.
fn functions(node: &Node) -> impl Iterator<Item = &PciFunction> {
    node.hcas()
        .iter()
        .filter_map(|h| h.pci())
        .chain(node.gpus().iter().map(|g| &g.pci))
}

/// The bridges above a function with their directories, from the host bridge down.
fn bridges_above(function: &PciFunction) -> Vec<(Bdf, String)> {
    let mut dir = function.dir.as_str();
    let mut found = Vec::new();
    while let Some((above, _)) = dir.rsplit_once('/') {
        let name = above.rsplit('/').next().unwrap_or(above);
        let Ok(address) = parse_bdf(name) else { break };
        found.push((address, above.to_owned()));
        dir = above;
    }
    found.reverse();
    found
}
