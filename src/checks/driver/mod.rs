//! The checks of the family `driver`.

mod nvidia;
mod ofed;
mod rdma_modules;
pub(in crate::checks) mod version;

use super::Check;

/// The family's checks, in the order in which they are reported.
pub(crate) const ALL: &[&Check] = &[&ofed::OFED, &rdma_modules::RDMA_MODULES, &nvidia::NVIDIA];
