//! The checks of the family `gpu`.

pub(in crate::checks) mod answer;
#[cfg(test)]
mod case_tests;
mod count;
mod ecc;
#[cfg(test)]
pub(in crate::checks) mod fixture;
mod mig;
mod missing;
mod persistence;

use super::Check;

/// The family's checks, in the order in which they are reported.
pub(crate) const ALL: &[&Check] = &[
    &missing::MISSING,
    &count::COUNT,
    &ecc::ECC,
    &mig::MIG,
    &persistence::PERSISTENCE,
];
