//! The checks of the family `lib`.

mod nccl;
mod net_plugin;
mod provider;
mod verbs;

use super::Check;

/// The family's checks, in the order in which they are reported.
pub(crate) const ALL: &[&Check] = &[
    &verbs::VERBS,
    &provider::PROVIDER,
    &nccl::NCCL,
    &net_plugin::NET_PLUGIN,
];
