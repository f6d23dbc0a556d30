//! HCAs (RDMA devices) and their ports.

use std::fmt;

use super::{GidTable, PciFunction, Reading};

/// An RDMA device of /sys/class/infiniband.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hca {
    /// Its name (`mlx5_0`).
    pub(crate) name: String,
    /// Directory below the root, without a leading slash, that its files were read from.
    pub(crate) dir: String,
    /// `node_type`.
    pub(crate) node_type: Reading<NodeType>,
    /// `node_guid`, as written.
    pub(crate) node_guid: Reading<String>,
    /// `sys_image_guid`: equal for the functions of one card.
    pub(crate) sys_image_guid: Reading<String>,
    /// `fw_ver`; absent or empty for some drivers.
    pub(crate) fw_ver: Reading<String>,
    /// `hca_type` (`MT4129`); absent for some drivers.
    pub(crate) hca_type: Reading<String>,
    /// `board_id` (PSID); absent for some drivers.
    pub(crate) board_id: Reading<String>,
    /// The PCI function it belongs to: its parent, or the parent's ancestor for a sub-function. `Ok(None)` for a
    /// device without one (Soft-RoCE, siw).
    pub(crate) pci: Reading<Option<PciFunction>>,
    /// The kernel driver of that function.
    pub(crate) driver: Option<String>,
    /// The physical function's PCI directory, when this is a virtual function.
    pub(crate) physfn: Option<String>,
    /// Its character device.
    pub(crate) uverbs: Uverbs,
    /// The kernel's registration number, which is the order of verbs lists; known from netlink only.
    pub(crate) ibdev_index: Option<u32>,
    /// Its ports, in ascending order.
    pub(crate) ports: Reading<Vec<Port>>,
}

/// The user-space side of a device: /sys/class/infiniband_verbs/uverbsN and /dev/infiniband/uverbsN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Uverbs {
    /// N, when some uverbsN names this device.
    pub(crate) number: Option<u32>,
    /// Whether /dev/infiniband/uverbsN exists; `None` where that could not be looked at.
    pub(crate) node_exists: Option<bool>,
}

impl Hca {
    /// True for Soft-RoCE and siw: no hardware behind it.
    pub(crate) fn is_software(&self) -> bool {
        matches!(self.pci, Ok(None))
    }

    /// The ports, none where they could not be listed.
    pub(crate) fn ports(&self) -> &[Port] {
        self.ports.as_deref().unwrap_or_default()
    }

    /// The PCI function, when there is one and it could be read.
    pub(crate) fn pci(&self) -> Option<&PciFunction> {
        self.pci.as_ref().ok()?.as_ref()
    }

    /// What kind of transport the device speaks.
    pub(crate) fn transport(&self) -> Transport {
        match &self.node_type {
            // A capture without the file still has ports to judge by.
            Ok(NodeType::Ca | NodeType::Switch | NodeType::Router) | Err(_)
                if self.driver.as_deref() != Some("efa") =>
            {
                Transport::Verbs
            }
            Ok(NodeType::Rnic) => Transport::Iwarp,
            Ok(NodeType::UsNic) => Transport::UsNic,
            _ if self.driver.as_deref() == Some("efa") => Transport::Efa,
            _ => Transport::Unknown,
        }
    }
}

/// What a device speaks, as far as NCCL's verbs transport is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// InfiniBand or RoCE.
    Verbs,
    /// iWARP.
    Iwarp,
    /// Cisco usNIC.
    UsNic,
    /// AWS EFA; NCCL reaches it through aws-ofi-nccl.
    Efa,
    /// The kernel says `unspecified` or something new.
    Unknown,
}

/// `node_type`, by its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NodeType {
    /// 1: CA.
    Ca,
    /// 2: switch.
    Switch,
    /// 3: router.
    Router,
    /// 4: RNIC.
    Rnic,
    /// 5 and 6: usNIC, with and without UDP.
    UsNic,
    /// 7: unspecified.
    Unspecified,
    /// Anything else, as written.
    Other(String),
}

impl NodeType {
    /// The kernel's word for it.
    pub(crate) fn word(&self) -> &str {
        match self {
            Self::Ca => "CA",
            Self::Switch => "switch",
            Self::Router => "router",
            Self::Rnic => "RNIC",
            Self::UsNic => "usNIC",
            Self::Unspecified => "unspecified",
            Self::Other(text) => text,
        }
    }
}

/// A port of an HCA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Port {
    /// Number, from 1.
    pub(crate) number: u32,
    /// Logical state.
    pub(crate) state: Reading<PortState>,
    /// Physical state.
    pub(crate) phys_state: Reading<PhysState>,
    /// InfiniBand or Ethernet.
    pub(crate) link_layer: Reading<LinkLayer>,
    /// Link rate. Only meaning something while the port is ACTIVE.
    pub(crate) rate: Reading<Rate>,
    /// Local identifier; 0 or 0xffff where no subnet manager has given one.
    pub(crate) lid: Reading<u32>,
    /// The subnet manager's identifier.
    pub(crate) sm_lid: Reading<u32>,
    /// GID table; `None` where it was not asked for.
    pub(crate) gids: Reading<GidTable>,
    /// Network devices of the port's own function, from device/net, by `dev_port`.
    pub(crate) netdevs: Vec<String>,
}

impl Port {
    /// True where the state is 4: ACTIVE, the only one NCCL takes.
    pub(crate) fn is_active(&self) -> bool {
        self.state == Ok(PortState::Active)
    }

    /// The rate in Mbit/s; 0 where it is unknown.
    pub(crate) fn rate_mbps(&self) -> u64 {
        self.rate.as_ref().map_or(0, |r| r.mbps)
    }

    /// Rows of the GID table that hold something.
    pub(crate) fn gid_rows(&self) -> &[super::GidRow] {
        self.gids.as_ref().map_or(&[], |t| &t.rows)
    }
}

/// `ports/N/state`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PortState {
    /// 0.
    Nop,
    /// 1.
    Down,
    /// 2: the link is up and no subnet manager has configured it.
    Init,
    /// 3.
    Armed,
    /// 4.
    Active,
    /// 5.
    ActiveDefer,
    /// Anything else, as written.
    Other(String),
}

impl fmt::Display for PortState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Nop => "NOP",
            Self::Down => "DOWN",
            Self::Init => "INIT",
            Self::Armed => "ARMED",
            Self::Active => "ACTIVE",
            Self::ActiveDefer => "ACTIVE_DEFER",
            Self::Other(text) => text,
        })
    }
}

/// `ports/N/phys_state`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PhysState {
    /// 1.
    Sleep,
    /// 2: looking for a partner, so a cable or the other end is missing.
    Polling,
    /// 3: switched off by an administrator or the driver.
    Disabled,
    /// 4.
    Training,
    /// 5.
    LinkUp,
    /// 6.
    ErrorRecovery,
    /// 7.
    PhyTest,
    /// Anything else, as written.
    Other(String),
}

impl fmt::Display for PhysState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Sleep => "Sleep",
            Self::Polling => "Polling",
            Self::Disabled => "Disabled",
            Self::Training => "PortConfigurationTraining",
            Self::LinkUp => "LinkUp",
            Self::ErrorRecovery => "LinkErrorRecovery",
            Self::PhyTest => "Phy Test",
            Self::Other(text) => text,
        })
    }
}

/// `ports/N/link_layer`: the one test that tells RoCE from InfiniBand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinkLayer {
    /// `InfiniBand`.
    InfiniBand,
    /// `Ethernet`: RoCE on a CA.
    Ethernet,
    /// Anything else, as written.
    Other(String),
}

impl fmt::Display for LinkLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::InfiniBand => "InfiniBand",
            Self::Ethernet => "Ethernet",
            Self::Other(text) => text,
        })
    }
}

/// `ports/N/rate`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rate {
    /// Mbit/s: 2.5 Gb/sec is 2500.
    pub(crate) mbps: u64,
    /// Lanes, from `4X`.
    pub(crate) lanes: Option<u32>,
    /// Speed name (`NDR`); empty on old kernels.
    pub(crate) generation: Option<String>,
}

/// Which port of which device: `mlx5_0/1` in messages.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PortKey {
    /// The device's name.
    pub(crate) hca: String,
    /// The port's number, from 1.
    pub(crate) port: u32,
}

impl fmt::Display for PortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/{}", self.hca, self.port))
    }
}
