//! The checks of the family `gid`.

mod foreign_namespace;
mod holes_with_old_nccl;
mod indexes_differ;
mod ipv6_only;
mod link_local_only;
mod none;
mod v1_only;

use super::Check;

/// The family's checks, in the order in which they are reported.
pub(crate) const ALL: &[&Check] = &[
    &none::NONE,
    &link_local_only::LINK_LOCAL_ONLY,
    &v1_only::V1_ONLY,
    &foreign_namespace::FOREIGN_NAMESPACE,
    &indexes_differ::INDEXES_DIFFER,
    &holes_with_old_nccl::HOLES_WITH_OLD_NCCL,
    &ipv6_only::IPV6_ONLY,
];
