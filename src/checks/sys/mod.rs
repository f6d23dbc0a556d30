//! The checks of the family `sys`.

mod cma;
mod cpu_governor;
mod numa_balancing;

use super::Check;

/// The family's checks, in the order in which they are reported.
pub(crate) const ALL: &[&Check] = &[
    &cma::CMA,
    &numa_balancing::NUMA_BALANCING,
    &cpu_governor::CPU_GOVERNOR,
];
