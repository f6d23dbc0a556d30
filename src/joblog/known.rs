//! What is kept of a process, a host and a setting.

use std::collections::BTreeSet;

use super::intern::Name;
use super::tally::{HostId, Place};
use crate::model::Gid;

/// A process of NCCL.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) host: HostId,
    pub(super) rank: Option<u32>,
    /// Ranks of the largest communicator it is in.
    pub(super) ranks: u32,
    pub(super) network: Option<Name>,
}

/// A host.
#[derive(Debug, Default)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) processes: usize,
    pub(super) networks: Vec<Name>,
    /// Port lists, each as one name with blanks between the ports.
    pub(super) ports: Vec<Name>,
    pub(super) bootstraps: Vec<(Name, String)>,
    /// Interfaces through which connections of the InfiniBand transport are arranged.
    pub(super) out_of_band: Vec<Name>,
    pub(super) socket_interfaces: Vec<Name>,
    pub(super) plugins: Vec<Name>,
    pub(super) plugin_missing: bool,
    pub(super) gdr_on: Vec<Name>,
    pub(super) gdr_off: Vec<Name>,
    pub(super) gdr_too_far: Vec<Name>,
    /// Channels to other nodes; those with GPUDirect; those over sockets.
    pub(super) channels: u64,
    pub(super) gdr_channels: u64,
    pub(super) socket_channels: u64,
    pub(super) connections: Vec<Connection>,
}

/// The GID that a RoCE connection has on this side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Connection {
    /// Number in NCCL's list of ports.
    pub(super) device: u32,
    pub(super) index: i32,
    pub(super) gid: Gid,
}

/// A variable and a value that NCCL reports.
#[derive(Debug)]
pub(super) struct SettingSeen {
    pub(super) name: Name,
    pub(super) value: Name,
    pub(super) first: Place,
    pub(super) hosts: BTreeSet<HostId>,
}
