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

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::{read_bridges, read_links};
    use crate::model::Why;
    use crate::sys::{Root, Scope, Tree, read_node};

    fn root(lines: &str) -> Root {
        Root::tree(
            Tree::parse(&format!("rdmactl capture 1\n{lines}")).unwrap(),
            "x",
        )
    }

    const NODE: &str = "\
        link sys/class/infiniband/mlx5_0 ../../devices/pci10000:00/10000:00:01.0/10000:01:00.0/infiniband/mlx5_0\n\
        dir sys/devices/pci10000:00/10000:00:01.0/10000:01:00.0/infiniband/mlx5_0/ports\n\
        link sys/bus/pci/devices/10000:02:00.0 ../../../devices/pci10000:00/10000:00:02.0/10000:02:00.0\n\
        sys/devices/pci10000:00/10000:00:02.0/10000:02:00.0/class = 0x030200\n\
        sys/devices/pci10000:00/10000:00:02.0/10000:02:00.0/vendor = 0x10de\n\
        sys/devices/pci10000:00/10000:00:01.0/10000:01:00.0/current_link_speed = Unknown\n\
        sys/devices/pci10000:00/10000:00:01.0/10000:01:00.0/current_link_width = 8\n\
        sys/devices/pci10000:00/10000:00:01.0/max_link_width = 16\n\
        hex sys/devices/pci10000:00/10000:00:01.0/config ";

    #[test]
    fn links_and_bridges_of_a_domain_of_five_digits() {
        let root = root(&format!("{NODE}{}\n", "00".repeat(64)));
        let node = read_node(&root, Scope::FULL);
        let links = read_links(&root, &node);
        assert_eq!(links.len(), 2);
        let nic = links
            .values()
            .find(|l| l.dir.ends_with(":01:00.0"))
            .unwrap();
        assert_eq!(nic.current_mts, Ok(None));
        assert_eq!(nic.current_width, Ok(Some(8)));
        assert_eq!(nic.slot.as_ref().unwrap().max_width, Ok(Some(16)));
        let bridges = read_bridges(&root, &node);
        assert_eq!(bridges.len(), 2);
    }

    #[test]
    fn a_space_that_was_cut_short_is_refused() {
        // The header says that there is a list of capabilities, at 0x40.
        let digits = format!(
            "{}10{}40{}",
            "00".repeat(6),
            "00".repeat(45),
            "00".repeat(11)
        );
        let root = root(&format!("{NODE}{digits}\n"));
        let bridges = read_bridges(&root, &read_node(&root, Scope::FULL));
        let cut = bridges
            .values()
            .find(|b| b.dir.ends_with(":00:01.0"))
            .unwrap();
        assert_eq!(cut.acs_control.as_ref().unwrap_err().why, Why::Denied);
    }

    /// Trees of real hosts, where they are: odd domains, old kernels, no panic.
    #[test]
    fn trees_of_real_hosts_are_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/captures/hwloc");
        let Ok(entries) = std::fs::read_dir(&folder) else {
            println!("skipped: {} is not here", folder.display());
            return;
        };
        for entry in entries.map(Result::unwrap) {
            let path = entry.path();
            if path.extension().is_none_or(|e| e != "bz2") {
                continue;
            }
            let dir = tempfile::tempdir().unwrap();
            let unpacked = Command::new("tar")
                .args(["xjf".as_ref(), path.as_os_str(), "-C".as_ref()])
                .arg(dir.path())
                .status();
            if !unpacked.is_ok_and(|s| s.success()) {
                println!("skipped: {} cannot be unpacked here", path.display());
                continue;
            }
            let inside = std::fs::read_dir(dir.path()).unwrap().next().unwrap();
            let root = Root::open(&inside.unwrap().path()).unwrap();
            let node = read_node(&root, Scope::FULL);
            let (links, bridges) = (read_links(&root, &node), read_bridges(&root, &node));
            let kernel = super::super::kernel::read(&root, &node);
            let limits = super::super::limits::read(&root);
            println!(
                "{}: {} links, {} bridges, arm {:?}, shm {:?}",
                path.display(),
                links.len(),
                bridges.len(),
                kernel.is_arm,
                limits.shared_memory
            );
            assert!(limits.lock_probe.is_none());
        }
    }
}
