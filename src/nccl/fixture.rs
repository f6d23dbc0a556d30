//! Nodes and settings for the tests of this module, described in a few words.

pub(crate) use crate::model::fixture::*;

use super::config::Settings;

/// Settings of an environment like `NCCL_IB_HCA==mlx5_0 NCCL_IB_GID_INDEX=3`.
pub(crate) fn settings(text: &str) -> Settings {
    let pairs = text
        .split(' ')
        .filter_map(|definition| definition.split_once('='));
    Settings::from_environment(pairs)
}
