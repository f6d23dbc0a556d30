//! The checks of the family `hca`.

use super::Check;

/// The family's checks, in the order in which they are reported.
pub(crate) const ALL: &[&Check] = &[];
