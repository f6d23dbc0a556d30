//! Modules of the kernel, the NVIDIA driver, and PCI functions that lack what their modules make.

use std::collections::BTreeSet;

use crate::model::health::Kernel;
use crate::model::{Netdev, Node, Reading, Unread, Why};
use crate::nccl::gdr::peer_memory_paths;
use crate::nccl::release::KNOWN;
use crate::parse::{parse_bdf, parse_hex, parse_modules, parse_nvidia_driver};
use crate::sys::Root;
use crate::sys::pci::read_function;

/// Reads the part of the kernel's answers that is about modules and drivers.
pub(super) fn fill(root: &Root, node: &Node, kernel: &mut Kernel) {
    kernel.release = root.text("proc/sys/kernel/osrelease");
    kernel.modules = root.text("proc/modules").map(|text| parse_modules(&text));
    kernel.nvidia_version = root.parsed("proc/driver/nvidia/version", parse_nvidia_driver);
    for gpu in node.gpus() {
        if let Ok(driver) = driver(root, &gpu.pci.dir) {
            kernel.gpu_drivers.insert(gpu.pci.address, driver);
        }
    }
    kernel.nvidia_nodes = nvidia_nodes(root);
    read_peer_memory(root, kernel);
    read_idle_functions(root, node, kernel);
    kernel.rdma_netns_shared =
        root.parsed("sys/module/ib_core/parameters/netns_mode", |t| match t {
            "Y" | "1" => Ok(true),
            "N" | "0" => Ok(false),
            _ => Err(()),
        });
}

/// The driver a PCI function is bound to; none without a link.
fn driver(root: &Root, dir: &str) -> Reading<Option<String>> {
    match root.link(&format!("{dir}/driver")) {
        Ok(target) => Ok(target.rsplit('/').next().map(str::to_owned)),
        Err(unread) if unread.is_absent() => Ok(None),
        Err(unread) => Err(unread),
    }
}

/// A copy of a node often comes without /dev, which says nothing then.
fn nvidia_nodes(root: &Root) -> Reading<bool> {
    const MOST: u32 = 16;
    let names = (0..MOST)
        .map(|n| format!("dev/nvidia{n}"))
        .chain(["dev/nvidiactl".to_owned()]);
    for name in names {
        if root.exists(&name)? {
            return Ok(true);
        }
    }
    if root.exists("dev/null")? {
        Ok(false)
    } else {
        Err(Unread::new("dev/nvidiactl", Why::NotCaptured))
    }
}

/// Looks for every path by which some release believes in peer memory.
fn read_peer_memory(root: &Root, kernel: &mut Kernel) {
    const MODULE: &str = "sys/module/nvidia_peermem/version";
    let paths: BTreeSet<&str> = KNOWN.iter().flat_map(|r| peer_memory_paths(*r)).collect();
    let found: Vec<(&str, Reading<bool>)> =
        paths.into_iter().map(|p| (p, root.exists(p))).collect();
    // A running kernel has both directories; a copy with neither was not asked about modules at all.
    let told = ["sys/module", "sys/kernel"]
        .iter()
        .any(|dir| root.exists(dir) == Ok(true));
    for (path, exists) in found {
        let exists = match exists {
            Ok(false) if !told => match &kernel.modules {
                Ok(modules) if path == MODULE => Ok(modules.contains("nvidia_peermem")),
                _ => Err(Unread::new(path, Why::NotCaptured)),
            },
            exists => exists,
        };
        kernel.peer_memory.insert(path.to_owned(), exists);
    }
}

/// Makers whose network functions all do RDMA, with the drivers that give them an RDMA device; and drivers of other
/// makers that do it with a second module.
const NVIDIA_NETWORKING: u16 = 0x15b3;
const WITH_SECOND_MODULE: [&str; 5] = ["bnxt_en", "ice", "i40e", "ionic", "hinic3"];

fn read_idle_functions(root: &Root, node: &Node, kernel: &mut Kernel) {
    const DEVICES: &str = "sys/bus/pci/devices";
    const CLASS_NETWORK: u32 = 0x02;
    let with_device: BTreeSet<_> = node
        .hcas()
        .iter()
        .filter_map(|h| Some(h.pci()?.address))
        .collect();
    for name in root.list(DEVICES).unwrap_or_default() {
        let Ok(address) = parse_bdf(&name) else {
            continue;
        };
        let entry = format!("{DEVICES}/{name}");
        let class = root.parsed(&format!("{entry}/class"), parse_hex);
        if !class.is_ok_and(|c| c >> 16 == CLASS_NETWORK) || with_device.contains(&address) {
            continue;
        }
        let Some(function) = root
            .real(&entry)
            .ok()
            .and_then(|dir| read_function(root, &dir))
        else {
            continue;
        };
        let Ok(driver) = driver(root, &function.dir) else {
            continue;
        };
        let capable = match &driver {
            Some(d) if WITH_SECOND_MODULE.contains(&d.as_str()) => true,
            Some(d) if d == "vfio-pci" => false,
            _ => function.vendor == Ok(NVIDIA_NETWORKING),
        };
        let is_virtual = root.exists(&format!("{}/physfn", function.dir)) == Ok(true);
        if !capable || is_virtual {
            continue;
        }
        // RDMA over a bond: one device on the first function stands for both.
        let bonded = node
            .netdevs()
            .iter()
            .any(|n| n.pci == Some(address) && is_slave(n))
            && with_device.iter().any(|other| other.same_slot(address));
        if !bonded {
            kernel
                .idle_rdma_functions
                .insert(address.to_string(), driver);
        }
    }
}

fn is_slave(netdev: &Netdev) -> bool {
    netdev.master.is_some()
}

#[cfg(test)]
mod tests {
    use super::fill;
    use crate::model::Why;
    use crate::model::health::Kernel;
    use crate::sys::{Root, Scope, Tree, read_node};

    fn kernel(lines: &str) -> Kernel {
        let tree = Tree::parse(&format!("rdmactl capture 1\n{lines}")).unwrap();
        let root = Root::tree(tree, "test");
        let node = read_node(&root, Scope::FULL);
        let mut kernel = Kernel::default();
        fill(&root, &node, &mut kernel);
        kernel
    }

    fn function(address: &str, vendor: &str, class: &str, driver: &str) -> String {
        let dir = format!("sys/devices/pci0000:17/{address}");
        format!(
            "link sys/bus/pci/devices/{address} ../../../devices/pci0000:17/{address}\n\
             {dir}/vendor = {vendor}\n{dir}/class = {class}\n\
             link {dir}/driver ../../../bus/pci/drivers/{driver}\n"
        )
    }

    #[test]
    fn functions_without_an_rdma_device_are_found() {
        let lines = [
            function("0000:17:00.0", "0x15b3", "0x020700", "mlx5_core"),
            function("0000:18:00.0", "0x15b3", "0x020000", "vfio-pci"),
            function("0000:19:00.0", "0x8086", "0x020000", "ixgbe"),
            function("0000:1a:00.0", "0x14e4", "0x020000", "bnxt_en"),
            function("0000:1b:00.0", "0x15b3", "0x020000", "mlx5_core"),
            function("0000:1c:00.0", "0x15b3", "0x080100", "mlx5_core"),
        ]
        .concat()
            + "link sys/devices/pci0000:17/0000:1b:00.0/physfn ../0000:17:00.0\n";
        let idle = kernel(&lines).idle_rdma_functions;
        let found: Vec<_> = idle
            .iter()
            .map(|(a, d)| (a.as_str(), d.as_deref()))
            .collect();
        assert_eq!(
            found,
            [
                ("0000:17:00.0", Some("mlx5_core")),
                ("0000:1a:00.0", Some("bnxt_en"))
            ]
        );
    }

    #[test]
    fn a_copy_without_modules_says_nothing_of_peer_memory() {
        let path = "sys/module/nvidia_peermem/version";
        let silent = kernel("proc/sys/kernel/hostname = n\n");
        let unread = silent.peer_memory[path].as_ref().unwrap_err();
        assert_eq!(unread.why, Why::NotCaptured);
        let listed = kernel("proc/modules = nvidia_peermem 16384 0 - Live 0x0\n");
        assert_eq!(listed.peer_memory[path], Ok(true));
        let told = kernel("dir sys/module\n");
        assert_eq!(told.peer_memory[path], Ok(false));
        assert_eq!(told.peer_memory.len(), 4);
    }

    #[test]
    fn a_gpu_without_driver_is_told_from_one_that_could_not_be_read() {
        let dir = "sys/devices/pci0000:17/0000:1d:00.0";
        let bare = format!(
            "link sys/bus/pci/devices/0000:1d:00.0 ../../../devices/pci0000:17/0000:1d:00.0\n\
             {dir}/vendor = 0x10de\n{dir}/class = 0x030200\n"
        );
        let drivers: Vec<_> = kernel(&bare).gpu_drivers.into_values().collect();
        assert_eq!(drivers, [None]);
        let denied = kernel(&format!("{bare}errno {dir}/driver EACCES\n"));
        assert!(denied.gpu_drivers.is_empty());
    }
}
