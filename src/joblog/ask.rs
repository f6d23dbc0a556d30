//! What findings ask of a job.

use std::collections::BTreeSet;

use super::event::Kind;
use super::state::Job;
use super::tally::{HostId, Tally};
use crate::model::GidClass;

impl Job {
    /// A host's name.
    pub(super) fn host_name(&self, id: HostId) -> &str {
        self.hosts.get(id).map_or("", |h| h.name.as_str())
    }

    /// The ports of a host, `mlx5_0:1/RoCE`, over all its lists.
    pub(super) fn ports_of(&self, id: HostId) -> BTreeSet<&str> {
        self.hosts
            .get(id)
            .into_iter()
            .flat_map(|h| &h.ports)
            .flat_map(|list| self.names.get(*list).split(' '))
            .collect()
    }

    /// Values of a variable, in the order in which they were seen.
    pub(super) fn values_of(&self, name: &str) -> Vec<&str> {
        self.settings
            .iter()
            .filter(|s| self.names.get(s.name) == name)
            .map(|s| self.names.get(s.value))
            .collect()
    }

    /// The tallies of a kind.
    pub(super) fn tallies(&self, of: impl Fn(Kind) -> bool) -> impl Iterator<Item = &Tally> {
        self.tallies.iter().filter(move |t| of(t.kind))
    }

    /// True where some message's own GID, or that of a connection, is link-local or empty.
    pub(super) fn has_link_local_connection(&self) -> bool {
        self.hosts.iter().flat_map(|h| &h.connections).any(|c| {
            matches!(
                c.gid.class(),
                GidClass::LinkLocal | GidClass::Ipv4LinkLocal | GidClass::Empty
            )
        })
    }
}
