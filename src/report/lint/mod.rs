//! What `lint` prints: the settings in effect, what NCCL would do with them, what `env` would choose, and what was found.

mod json;
mod text;

#[cfg(test)]
pub(crate) use json::prediction_json;
pub(crate) use json::write as json;
pub(crate) use text::text;

use super::Style;
use crate::checks::Report;
use crate::lint::{Analysis, Judged, is_known_variable};
use crate::model::Distance;
use crate::nccl::config::Setting;
use crate::nccl::gdr::{GdrLevel, dma_buf, nic_is_able, peer_memory};
use crate::nccl::predict::PredictedDevice;
use crate::nccl::variables::catalogue::find;
use crate::roles::Assigned;

/// What is printed.
pub(crate) struct Lint<'a> {
    /// The settings, looked at.
    pub(crate) analysis: &'a Analysis<'a>,
    /// What was found.
    pub(crate) report: &'a Report,
    /// What the user calls the node.
    pub(crate) root: &'a str,
    /// Colour.
    pub(crate) style: Style,
}

/// The newest release's view of every setting of the libraries.
fn shown_settings<'a>(a: &'a Analysis) -> Vec<(&'a str, &'a Setting)> {
    let Some(judged) = a.judged.last() else {
        return Vec::new();
    };
    judged
        .settings
        .iter()
        .filter(|(name, _)| is_known_variable(name))
        .collect()
}

fn default_of(name: &str, a: &Analysis) -> Option<i64> {
    find(name)?.default(a.judged.last()?.release)
}

/// Whether NCCL would let this port reach GPU memory: as far as files tell.
fn gpudirect(a: &Analysis, judged: &Judged, device: &PredictedDevice) -> &'static str {
    let near = a.role(&device.key).and_then(Assigned::nearest);
    let level = GdrLevel::of(&judged.settings, judged.release);
    let allows = |distance: Distance| level.allows(distance);
    if near.is_none() {
        return "-";
    }
    if !near.is_some_and(allows) {
        return "no: too far";
    }
    let peer = peer_memory(judged.release, |p| {
        a.sources.peer_memory.get(p).copied().flatten()
    });
    match nic_is_able(peer, dma_buf(&judged.settings, None, None)) {
        Some(true) => "yes",
        Some(false) => "no",
        None => "if DMA-BUF works",
    }
}
