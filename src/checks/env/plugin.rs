//! Whether a network plugin is in charge, and whether the built-in transport is switched off.

use super::DISABLE;
use crate::lint::{Analysis, Judged};
use crate::nccl::number::cut;

/// True where the built-in transport for InfiniBand and RoCE is off.
pub(super) fn is_disabled(j: &Judged) -> bool {
    cut(j.settings.integer(DISABLE, 0)) != 0
}

/// The plugin that is the network, and the variable that says so. One that the loader finds by its usual name counts.
pub(super) fn plugin(a: &Analysis, j: &Judged) -> Option<(&'static str, String)> {
    let own = |n: &str| n.eq_ignore_ascii_case("ib") || n.eq_ignore_ascii_case("socket");
    match j.filled("NCCL_NET") {
        Some(name) if own(name) => return None,
        Some(name) => return Some(("NCCL_NET", name.to_owned())),
        None => {}
    }
    match j.filled("NCCL_NET_PLUGIN") {
        Some("none") => None,
        Some(name) => Some(("NCCL_NET_PLUGIN", name.to_owned())),
        None => a
            .sources
            .net_plugin
            .clone()
            .map(|path| ("NCCL_NET_PLUGIN", path)),
    }
}

/// True where `NCCL_NET` names a plugin other than the one that has a copy of NCCL's own transport.
pub(super) fn has_own_rules(a: &Analysis) -> bool {
    !a.judged.is_empty()
        && a.judged.iter().all(|j| {
            plugin(a, j).is_some_and(|(variable, name)| {
                let copy = name.to_ascii_lowercase().starts_with("ibext");
                variable == "NCCL_NET" && !copy
            })
        })
}
