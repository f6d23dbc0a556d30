//! `GPUDirect` RDMA: whether NCCL takes the NIC's side for able, and how far it may reach.
//!
//! Source: `ncclIbGdrSupport`, `ncclIbDmaBufSupport` (`net_ib.cc`, `net_ib/gdr.cc` from 2.29.2), `ncclTopoCheckGdr` and
//! `ncclGetLevel` (`src/graph/paths.cc`).

use super::config::Settings;
use super::number::{cut, parse};
use super::release::{Feature, Release};
use crate::model::Distance;

/// Returns the paths, without a leading slash, any of which makes a release believe in peer memory.
///
/// It is a test of existence only. A loaded `nvidia_peermem` that has not registered itself passes the newest test all the same.
pub(crate) fn peer_memory_paths(release: Release) -> Vec<&'static str> {
    [
        (None, "sys/kernel/mm/memory_peers/nv_mem/version"),
        (
            Some(Feature::PeermemByModuleName),
            "sys/kernel/mm/memory_peers/nvidia-peermem/version",
        ),
        (
            Some(Feature::PeermemNonCoherent),
            "sys/kernel/mm/memory_peers/nv_mem_nc/version",
        ),
        (
            Some(Feature::PeermemLoaded),
            "sys/module/nvidia_peermem/version",
        ),
    ]
    .into_iter()
    .filter(|(feature, _)| feature.is_none_or(|f| release.has(f)))
    .map(|(_, path)| path)
    .collect()
}

/// Returns whether a release finds peer memory, by which of its paths exist; `None` where that could not be looked at.
pub(crate) fn peer_memory(
    release: Release,
    exists: impl Fn(&'static str) -> Option<bool>,
) -> Option<bool> {
    any(peer_memory_paths(release).into_iter().map(exists))
}

/// Returns whether NCCL uses DMA-BUF, from what is known of the NIC's driver and of the GPU's.
///
/// No file tells either side: NCCL tries a registration on the NIC, and asks CUDA about the GPU.
pub(crate) fn dma_buf(settings: &Settings, nic: Option<bool>, gpu: Option<bool>) -> Option<bool> {
    let enabled = cut(settings.integer("NCCL_DMABUF_ENABLE", 1)) != 0;
    let parts = [Some(enabled), nic, gpu];
    if parts.contains(&Some(false)) {
        Some(false)
    } else if parts.contains(&None) {
        None
    } else {
        Some(true)
    }
}

/// Returns whether NCCL takes a NIC for able to do `GPUDirect`: by peer memory, or else by DMA-BUF.
pub(crate) fn nic_is_able(peer_memory: Option<bool>, dma_buf: Option<bool>) -> Option<bool> {
    any([peer_memory, dma_buf])
}

/// Yes when any is, no when all are not.
fn any(answers: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let mut result = Some(false);
    for answer in answers {
        match answer {
            Some(true) => return Some(true),
            Some(false) => {}
            None => result = None,
        }
    }
    result
}

/// A distance by NCCL's names for `NCCL_NET_GDR_LEVEL`; nearer is less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GdrLevel {
    /// `LOC`: never.
    Loc,
    /// `NVL`: `NVLink`.
    Nvl,
    /// `NVB`: `NVLink` through another GPU.
    Nvb,
    /// `C2C`: chip to chip.
    C2c,
    /// `PIX`: one switch.
    Pix,
    /// `PXB`: several switches.
    Pxb,
    /// `P2C`: PCI and chip to chip.
    P2c,
    /// `PXN`: through another GPU.
    Pxn,
    /// `PHB`: one CPU. Both PHB and NODE of `nvidia-smi` are this.
    Phb,
    /// `SYS`: any.
    Sys,
}

impl GdrLevel {
    /// Reads a level: an exact word, or a number in the old numbering. Other text is ignored, which is `None`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "LOC" => Self::Loc,
            "NVL" => Self::Nvl,
            "NVB" => Self::Nvb,
            "C2C" => Self::C2c,
            "PIX" => Self::Pix,
            "PXB" => Self::Pxb,
            "P2C" => Self::P2c,
            "PXN" => Self::Pxn,
            "PHB" => Self::Phb,
            "SYS" => Self::Sys,
            _ if text.starts_with(|c: char| c.is_ascii_digit()) => match cut(parse(text).value) {
                0 => Self::Loc,
                1 => Self::Pix,
                2 => Self::Pxb,
                3 => Self::Phb,
                _ => Self::Sys,
            },
            _ => return None,
        })
    }

    /// The level in effect.
    pub(crate) fn of(settings: &Settings, release: Release) -> Self {
        let set = settings.get("NCCL_NET_GDR_LEVEL").and_then(Self::parse);
        let across_c2c =
            release.has(Feature::GdrAcrossC2c) && cut(settings.integer("NCCL_NET_GDR_C2C", 1)) == 1;
        set.unwrap_or(if across_c2c { Self::P2c } else { Self::Pxb })
    }

    /// True where a GPU and a NIC at this distance are near enough.
    pub(crate) fn allows(self, distance: Distance) -> bool {
        let level = match distance {
            Distance::Pix => Self::Pix,
            Distance::Pxb => Self::Pxb,
            Distance::Phb | Distance::Node => Self::Phb,
            Distance::Sys => Self::Sys,
        };
        level <= self
    }
}

#[cfg(test)]
mod tests {
    use super::{GdrLevel, dma_buf, nic_is_able, peer_memory, peer_memory_paths};
    use crate::model::Distance;
    use crate::nccl::fixture::settings;
    use crate::nccl::release::Release;
    use proptest::prelude::*;

    const NEW: Release = Release::new(2, 27, 7);

    #[test]
    fn the_paths_change_with_the_release() {
        let names = |minor, patch| -> Vec<_> {
            peer_memory_paths(Release::new(2, minor, patch))
                .into_iter()
                .filter_map(|p| p.split('/').nth_back(1))
                .collect()
        };
        assert_eq!(names(18, 5), ["nv_mem", "nvidia-peermem"]);
        assert_eq!(names(21, 5), ["nv_mem", "nvidia-peermem"]);
        assert_eq!(names(22, 3), ["nv_mem", "nv_mem_nc"]);
        assert_eq!(names(23, 4), ["nv_mem", "nv_mem_nc", "nvidia_peermem"]);
    }

    #[test]
    fn one_path_is_enough_and_an_unseen_one_leaves_it_open() {
        let module = |path: &str| Some(path == "sys/module/nvidia_peermem/version");
        assert_eq!(peer_memory(NEW, module), Some(true));
        assert_eq!(peer_memory(Release::new(2, 22, 3), module), Some(false));
        let unseen = |path: &str| path.contains("nc").then_some(false);
        assert_eq!(peer_memory(NEW, unseen), None);
    }

    #[test]
    fn dma_buf_needs_both_sides_and_the_setting() {
        let on = settings("");
        assert_eq!(dma_buf(&on, Some(true), Some(true)), Some(true));
        assert_eq!(dma_buf(&on, Some(true), None), None);
        assert_eq!(dma_buf(&on, None, Some(false)), Some(false));
        let off = settings("NCCL_DMABUF_ENABLE=0");
        assert_eq!(dma_buf(&off, Some(true), Some(true)), Some(false));
        assert_eq!(nic_is_able(Some(false), Some(true)), Some(true));
        assert_eq!(nic_is_able(Some(false), None), None);
    }

    #[test]
    fn levels_are_exact_words_or_old_numbers() {
        assert_eq!(GdrLevel::parse("PHB"), Some(GdrLevel::Phb));
        assert_eq!(GdrLevel::parse("2"), Some(GdrLevel::Pxb));
        assert_eq!(GdrLevel::parse("9"), Some(GdrLevel::Sys));
        for text in ["phb", "NODE", "on", "", " PHB", "-1"] {
            assert_eq!(GdrLevel::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_default_reaches_over_switches() {
        let level = |environment: &str, release| GdrLevel::of(&settings(environment), release);
        assert_eq!(level("", NEW), GdrLevel::Pxb);
        assert_eq!(level("", Release::new(2, 29, 2)), GdrLevel::P2c);
        assert_eq!(
            level("NCCL_NET_GDR_C2C=0", Release::new(2, 29, 2)),
            GdrLevel::Pxb
        );
        assert_eq!(level("NCCL_NET_GDR_LEVEL=NODE", NEW), GdrLevel::Pxb);
        assert!(level("", NEW).allows(Distance::Pxb));
        assert!(!level("", NEW).allows(Distance::Node));
        assert!(level("NCCL_NET_GDR_LEVEL=PHB", NEW).allows(Distance::Node));
        assert!(!level("NCCL_NET_GDR_LEVEL=LOC", NEW).allows(Distance::Pix));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            GdrLevel::parse(&text);
        }
    }
}
