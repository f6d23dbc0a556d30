//! GPUs, as PCI and the NVIDIA driver's proc files show them.

use super::{PciFunction, Reading};

/// Who makes it, by PCI vendor id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GpuVendor {
    /// 0x10de.
    Nvidia,
    /// 0x1002.
    Amd,
    /// Another maker of accelerators.
    Other,
}

/// A GPU or accelerator on PCI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gpu {
    /// Position in PCI order, which is `nvidia-smi`'s index.
    pub(crate) index: u32,
    /// Where it is.
    pub(crate) pci: PciFunction,
    /// Who makes it.
    pub(crate) vendor: GpuVendor,
    /// Model and UUID from /proc/driver/nvidia/gpus/ADDRESS/information; only filled for NVIDIA.
    pub(crate) information: Reading<GpuInformation>,
}

/// What the NVIDIA driver says about a GPU.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct GpuInformation {
    /// Model, for example `NVIDIA H100 80GB HBM3`.
    pub(crate) model: Option<String>,
    /// `GPU-...`; question marks where the driver has not initialised it.
    pub(crate) uuid: Option<String>,
}

impl Gpu {
    /// The UUID, when the driver gave a whole one.
    pub(crate) fn uuid(&self) -> Option<&str> {
        let uuid = self.information.as_ref().ok()?.uuid.as_deref()?;
        (!uuid.contains('?')).then_some(uuid)
    }
}
