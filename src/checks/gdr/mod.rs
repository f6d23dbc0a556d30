//! The checks of the family `gdr`.

mod paths;
mod peermem_unseen;
mod unavailable;

use super::Check;

/// The family's checks, in the order in which they are reported.
pub(crate) const ALL: &[&Check] = &[&unavailable::UNAVAILABLE, &peermem_unseen::PEERMEM_UNSEEN];
