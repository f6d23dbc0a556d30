//! GPUs from PCI, with the NVIDIA driver's proc files where they are. No program is started.

use super::Root;
use super::pci::read_function;
use crate::model::{Gpu, GpuVendor, Reading};
use crate::parse::{parse_bdf, parse_gpu_information, parse_hex};

/// Class of a 3D controller, without its programming interface.
const CLASS_3D: u32 = 0x0302;
const NVIDIA: u16 = 0x10de;
const AMD: u16 = 0x1002;
/// Makers of accelerators of PCI class 0x12: Habana (Intel Gaudi), Huawei Ascend, Intel.
const OTHERS: [u16; 3] = [0x1da3, 0x19e5, 0x8086];

/// Lists the GPUs in PCI order: 3D and display controllers of NVIDIA and AMD, processing accelerators of known makers.
/// A server's own display controller (ASPEED, Matrox) is none.
pub(super) fn read_gpus(root: &Root) -> Reading<Vec<Gpu>> {
    const DEVICES: &str = "sys/bus/pci/devices";
    let mut gpus = Vec::new();
    for name in root.list(DEVICES)? {
        if parse_bdf(&name).is_err() {
            continue;
        }
        let entry = format!("{DEVICES}/{name}");
        let class = match root.parsed(&format!("{entry}/class"), parse_hex) {
            Ok(class) => class,
            // The driver knows its GPUs, whatever became of the class.
            Err(_) if root.exists(&format!("proc/driver/nvidia/gpus/{name}")) == Ok(true) => {
                CLASS_3D << 8
            }
            Err(_) => continue,
        };
        if !matches!(class >> 8, 0x0300 | CLASS_3D | 0x0380 | 0x1200) {
            continue;
        }
        let Some(pci) = root
            .real(&entry)
            .ok()
            .and_then(|dir| read_function(root, &dir))
        else {
            continue;
        };
        let driver_has_it = || root.exists(&format!("proc/driver/nvidia/gpus/{name}")) == Ok(true);
        let vendor = match (&pci.vendor, class >> 8) {
            (Ok(NVIDIA), _) => GpuVendor::Nvidia,
            (Err(_), _) if driver_has_it() => GpuVendor::Nvidia,
            (Ok(AMD), _) => GpuVendor::Amd,
            (Ok(id), 0x1200) if OTHERS.contains(id) => GpuVendor::Other,
            (Ok(_), CLASS_3D) => GpuVendor::Other,
            _ => continue,
        };
        gpus.push((vendor, pci));
    }
    gpus.sort_by_key(|(_, pci)| pci.address);
    Ok((0..)
        .zip(gpus)
        .map(|(index, (vendor, pci))| Gpu {
            index,
            vendor,
            information: root
                .text(&format!(
                    "proc/driver/nvidia/gpus/{}/information",
                    pci.address
                ))
                .map(|t| parse_gpu_information(&t)),
            pci,
        })
        .collect())
}
