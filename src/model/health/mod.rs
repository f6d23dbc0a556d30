//! What `check` looks at beside the node itself: programs' answers, limits, PCI links, kernel settings, libraries.

mod counters;
mod kernel;
mod library;
mod limits;
mod link;
mod program;
mod vendor;

pub(crate) use counters::{
    Counter, CounterGroup, CounterKind, ERROR_COUNTERS, LINK_DOWNED, PortCounters,
};
pub(crate) use kernel::{Kernel, Sysctl};
pub(crate) use library::{Libraries, NetPlugin};
pub(crate) use limits::{Limit, Limits, SharedMemory};
pub(crate) use link::{Bridge, PciLink, Slot};
pub(crate) use program::{Program, ProgramRun};
pub(crate) use vendor::{
    Answer, NoHandle, NvidiaDriver, NvidiaSmi, RdmaStack, SmiFailure, SmiGpu, StackKind, Vendor,
};

use std::collections::BTreeMap;

use super::{Bdf, PortKey, Reading};

/// Everything `check` reads beside the node. Each part says by itself what could not be read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Health {
    /// Vendor programs' answers, by name (`ofed_info`, `nvidia-smi-query`).
    pub(crate) programs: BTreeMap<&'static str, ProgramRun>,
    /// What those answers say.
    pub(crate) vendor: Vendor,
    /// Counters of each port; with `--interval` read twice.
    pub(crate) counters: BTreeMap<PortKey, PortCounters>,
    /// P_Keys of ACTIVE InfiniBand ports by index: the first, and the others where it is that of a limited member.
    pub(crate) pkeys: BTreeMap<PortKey, Reading<BTreeMap<u32, u16>>>,
    /// Whether this process may open each device's /dev/infiniband/uverbsN, by device; only asked where that means anything.
    pub(crate) uverbs_access: BTreeMap<String, Reading<()>>,
    /// Speed and width of the PCI links of RDMA devices and GPUs.
    pub(crate) links: BTreeMap<Bdf, PciLink>,
    /// PCI bridges above RDMA devices and GPUs, with their ACS control.
    pub(crate) bridges: BTreeMap<Bdf, Bridge>,
    /// Limits and capabilities of this process, and shared memory.
    pub(crate) limits: Limits,
    /// Modules, kernel settings, memory.
    pub(crate) kernel: Kernel,
    /// User-space libraries.
    pub(crate) libraries: Libraries,
}
