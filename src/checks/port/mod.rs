//! The checks of the family `port`.

mod down;
mod errors;
mod flapping;
mod link_layers_mixed;
mod no_subnet_manager;
mod none;
mod pkey_limited;
pub(in crate::checks) mod roce_disabled;
pub(in crate::checks) mod shared;
mod slow;
#[cfg(test)]
pub(in crate::checks) mod testing;

use super::Check;

/// The family's checks, in the order in which they are reported.
pub(crate) const ALL: &[&Check] = &[
    &none::NONE,
    &down::DOWN,
    &no_subnet_manager::NO_SUBNET_MANAGER,
    &slow::SLOW,
    &link_layers_mixed::LINK_LAYERS_MIXED,
    &roce_disabled::ROCE_DISABLED,
    &pkey_limited::PKEY_LIMITED,
    &errors::ERRORS,
    &flapping::FLAPPING,
];
