//! Kernel modules, settings and memory.

use std::collections::{BTreeMap, BTreeSet};

use super::NvidiaDriver;
use crate::model::{Bdf, Reading, Unread, Why};

/// Settings of an interface that decide about ARP and reverse-path filtering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sysctl {
    /// Path below the root (`proc/sys/net/ipv4/conf/eth1/arp_ignore`) to value.
    pub(crate) values: BTreeMap<String, Reading<i64>>,
}

/// What the kernel says about itself.
#[derive(Debug, Clone)]
pub(crate) struct Kernel {
    /// /proc/sys/kernel/osrelease.
    pub(crate) release: Reading<String>,
    /// Loaded modules, from /proc/modules.
    pub(crate) modules: Reading<BTreeSet<String>>,
    /// /proc/cmdline.
    pub(crate) cmdline: Reading<String>,
    /// /proc/sys/kernel/numa_balancing.
    pub(crate) numa_balancing: Reading<i64>,
    /// Distinct CPU frequency governors and how many policies (CPUs that change together) have each.
    pub(crate) governors: Reading<BTreeMap<String, u32>>,
    /// Kinds of the IOMMU groups (`identity`, `DMA`, `DMA-FQ`) of RDMA devices and GPUs, by PCI address.
    pub(crate) iommu_groups: BTreeMap<String, Reading<String>>,
    /// ARP and reverse-path settings, by interface; `all` is one of them.
    pub(crate) sysctl: BTreeMap<String, Sysctl>,
    /// Paths whose existence tells NCCL that peer memory is there, and whether they exist.
    pub(crate) peer_memory: BTreeMap<String, Reading<bool>>,
    /// /proc/driver/nvidia/version.
    pub(crate) nvidia_version: Reading<NvidiaDriver>,
    /// Drivers the GPUs are bound to (`nvidia`, `vfio-pci`, `nouveau`); none where a GPU has no driver.
    pub(crate) gpu_drivers: BTreeMap<Bdf, Option<String>>,
    /// Whether a device file of an NVIDIA GPU is in /dev.
    pub(crate) nvidia_nodes: Reading<bool>,
    /// An Arm machine, by /proc/sys/kernel/arch or, on kernels without it, /proc/cpuinfo.
    pub(crate) is_arm: Reading<bool>,
    /// A hypervisor is below, as x86's /proc/cpuinfo says; `None` where nothing says so or where nobody needed to know.
    pub(crate) is_guest: Option<bool>,
    /// `CmaTotal` of /proc/meminfo in kB; absent where the kernel has no such memory.
    pub(crate) cma_total_kb: Reading<u64>,
    /// `CmaFree` of /proc/meminfo in kB.
    pub(crate) cma_free_kb: Reading<u64>,
    /// `bonding_slave/mii_status` of every bond's slaves, by name.
    pub(crate) slave_status: BTreeMap<String, Reading<String>>,
    /// PCI functions that could have an RDMA device and have none: address to driver (or none). Virtual functions, the
    /// second function of a bond over one card and functions given to virtual machines are left out.
    pub(crate) idle_rdma_functions: BTreeMap<String, Option<String>>,
    /// Whether every network namespace sees every RDMA device (`rdma system`); devices of other namespaces do not show
    /// here where it is false.
    pub(crate) rdma_netns_shared: Reading<bool>,
}

impl Default for Kernel {
    fn default() -> Self {
        fn none<T>(path: &str) -> Reading<T> {
            Err(Unread::new(path, Why::NotAsked))
        }
        Self {
            release: none("proc/sys/kernel/osrelease"),
            modules: none("proc/modules"),
            cmdline: none("proc/cmdline"),
            numa_balancing: none("proc/sys/kernel/numa_balancing"),
            governors: none("sys/devices/system/cpu"),
            iommu_groups: BTreeMap::new(),
            sysctl: BTreeMap::new(),
            peer_memory: BTreeMap::new(),
            nvidia_version: none("proc/driver/nvidia/version"),
            is_arm: none("proc/sys/kernel/arch"),
            is_guest: None,
            gpu_drivers: BTreeMap::new(),
            nvidia_nodes: none("dev/nvidiactl"),
            cma_total_kb: none("proc/meminfo"),
            cma_free_kb: none("proc/meminfo"),
            slave_status: BTreeMap::new(),
            idle_rdma_functions: BTreeMap::new(),
            rdma_netns_shared: none("sys/module/ib_core/parameters/netns_mode"),
        }
    }
}
