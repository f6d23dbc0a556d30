//! The two ways to `GPUDirect` RDMA as the node's files tell of them: peer memory, and DMA-BUF.

use crate::checks::driver::version::version_of;
use crate::checks::{Facts, Version};
use crate::model::health::Answer;
use crate::model::{Hca, Transport, Unread, Why};
use crate::nccl::gdr;
use crate::nccl::release::Release;

/// The first branch of the driver whose open modules export GPU memory as DMA-BUF (that of CUDA 11.7).
const FIRST_DMA_BUF_BRANCH: u32 = 515;
/// The first kernel whose verbs take a DMA-BUF.
const FIRST_DMA_BUF_KERNEL: &str = "5.12";

/// RDMA devices that NCCL's verbs transport could use.
pub(super) fn verbs_devices<'a>(facts: &Facts<'a>) -> Vec<&'a Hca> {
    let hcas = facts.node.hcas().iter();
    hcas.filter(|h| h.transport() == Transport::Verbs && !h.is_software())
        .collect()
}

/// Whether a release finds peer memory; the error is the first path that could not be looked at and would decide.
pub(super) fn peer_memory(facts: &Facts, release: Release) -> Result<bool, Unread> {
    let known = &facts.health.kernel.peer_memory;
    let found = gdr::peer_memory(release, |path| {
        known.get(path).and_then(|r| r.as_ref().ok().copied())
    });
    found.ok_or_else(|| {
        gdr::peer_memory_paths(release)
            .into_iter()
            .find_map(|path| known.get(path)?.as_ref().err().cloned())
            .unwrap_or_else(|| Unread::new("sys/module/nvidia_peermem/version", Why::NotAsked))
    })
}

/// The modules that give peer memory and are loaded.
pub(super) fn loaded_modules(facts: &Facts) -> Vec<&'static str> {
    const MODULES: [&str; 2] = ["nvidia_peermem", "nv_peer_mem"];
    const VERSION: &str = "sys/module/nvidia_peermem/version";
    let kernel = &facts.health.kernel;
    MODULES
        .into_iter()
        .filter(|name| {
            let listed = kernel.modules.as_ref().is_ok_and(|m| m.contains(*name));
            let versioned =
                *name == "nvidia_peermem" && kernel.peer_memory.get(VERSION) == Some(&Ok(true));
            listed || versioned
        })
        .collect()
}

/// Whether the GPU's driver exports DMA-BUF; `None` where its version could not be read.
pub(super) fn gpu_exports(facts: &Facts) -> Option<bool> {
    let driver = facts.health.kernel.nvidia_version.as_ref().ok()?;
    Some(driver.open && driver.branch() >= FIRST_DMA_BUF_BRANCH)
}

/// Whether the NICs take DMA-BUF, as far as the kernel's release tells. An installed stack brings its own modules, and
/// not every driver takes part, so that no more is claimed.
pub(super) fn nic_takes(facts: &Facts) -> Option<bool> {
    let release = version_of(facts.health.kernel.release.as_deref().ok()?)?;
    let first: Version = FIRST_DMA_BUF_KERNEL.parse().ok()?;
    let is_mlx5 = |h: &&Hca| h.driver.as_deref() == Some("mlx5_core");
    let own_stack = matches!(facts.health.vendor.ofed, Answer::Given { .. });
    if release.compare_prefix(&first).is_lt() {
        (!own_stack).then_some(false)
    } else {
        verbs_devices(facts).iter().any(is_mlx5).then_some(true)
    }
}

/// Whether NCCL would use DMA-BUF, as far as files tell.
pub(super) fn dma_buf(facts: &Facts) -> Option<bool> {
    gdr::dma_buf(facts.settings, nic_takes(facts), gpu_exports(facts))
}
