//! PCI functions from sysfs.

use super::Root;
use crate::model::{PciFunction, Reading};
use crate::parse::{parse_hex, pci_path};

/// Reads the PCI function that a sysfs directory lies in. `None`: no PCI function above it.
pub(super) fn read_function(root: &Root, dir: &str) -> Option<PciFunction> {
    let (dir, address, path) = pci_path(dir)?;
    let id = |name: &str| -> Reading<u16> {
        root.parsed(&format!("{dir}/{name}"), |t| {
            parse_hex(t)
                .ok()
                .and_then(|n| u16::try_from(n).ok())
                .ok_or(())
        })
    };
    Some(PciFunction {
        address,
        vendor: id("vendor"),
        device: id("device"),
        class: root.parsed(&format!("{dir}/class"), parse_hex),
        numa_node: root.parsed(&format!("{dir}/numa_node"), str::parse),
        path,
        dir,
    })
}
