//! What a message means, without the origin.

use crate::model::{Gid, GidClass};

/// A fact that a message states.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Event<'a> {
    /// NCCL's banner: `2.27.7+cuda12.9`.
    Release(&'a str),
    /// This process is rank `rank` of a communicator of `ranks`.
    Rank { rank: u32, ranks: u32 },
    /// The interface of the bootstrap, with its address.
    Bootstrap {
        interface: &'a str,
        address: &'a str,
    },
    /// A variable that NCCL found set.
    Setting { name: &'a str, value: &'a str },
    /// The ports of the InfiniBand transport, `mlx5_0:1/RoCE`, and the interface through which they are arranged.
    IbPorts {
        ports: Vec<String>,
        interface: &'a str,
    },
    /// The interfaces of the socket transport.
    SocketInterfaces(Vec<&'a str>),
    /// The network in use: `IB`, `Socket`, a plugin's name.
    Network(&'a str),
    /// A network plugin was loaded.
    PluginLoaded(&'a str),
    /// No network plugin was found.
    PluginMissing,
    /// GPUDirect of a device.
    Gdr { device: &'a str, on: bool },
    /// GPUDirect is off between a GPU and a device, which are too far apart.
    GdrTooFar { device: &'a str },
    /// A channel to another node, and whether its data goes past the host's memory. `None`: within the node.
    Channel { network: Option<&'a str>, gdr: bool },
    /// A RoCE connection's own GID: number of the device in NCCL's list, index, GID.
    Connection { device: u32, index: i32, gid: Gid },
    /// Something is wrong.
    Problem(Problem<'a>),
    /// Nothing that matters here.
    Harmless,
}

/// Something that is wrong, with all that the message says about it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Problem<'a> {
    pub(super) kind: Kind,
    /// `mlx5_0` or `mlx5_0:1`; empty where it is not said.
    pub(super) device: &'a str,
    /// GID index.
    pub(super) index: Option<i32>,
    pub(super) local: Option<Gid>,
    pub(super) remote: Option<Gid>,
    /// Address of the other side.
    pub(super) peer: Option<&'a str>,
}

impl Problem<'_> {
    /// A problem of which nothing but the kind is known.
    pub(super) fn of(kind: Kind) -> Self {
        Self {
            kind,
            device: "",
            index: None,
            local: None,
            remote: None,
            peer: None,
        }
    }
}

/// What is wrong. Messages of one kind are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `ibv_modify_qp` failed; 0 is an unknown errno. The classes are those of the GIDs that the message shows.
    ModifyQp {
        errno: i32,
        local: Option<GidClass>,
        remote: Option<GidClass>,
        /// It is tried again.
        retried: bool,
    },
    /// A work request ended badly.
    Completion {
        status: u32,
        vendor: u32,
        local: Option<GidClass>,
        /// The format of releases before 2.20, whose index is 0 unless it is set.
        old: bool,
    },
    /// Another call of libibverbs failed.
    Verbs {
        call: &'static str,
        errno: i32,
    },
    /// A device could not be opened, or a device or port not queried.
    OpenDevice,
    QueryDevice,
    QueryPort,
    /// `gid_attrs/types` could not be read, which ended the connection.
    GidType {
        errno: i32,
    },
    /// No device is left for the InfiniBand transport.
    NoDevice,
    /// The InfiniBand transport found no interface to arrange connections through.
    NoIpInterface,
    /// The bootstrap found no interface.
    NoSocketInterface,
    /// `NCCL_COMM_ID` is wrong.
    BadCommId,
    /// A socket of the bootstrap failed; `link_local`: to or from 169.254/16 or fe80::/10.
    Socket {
        errno: i32,
        link_local: bool,
    },
    /// The peer closed its socket, or sent nonsense because it had failed.
    PeerGone,
    /// An asynchronous event of a device.
    Async(AsyncEvent),
    /// InfiniBand and RoCE were to be connected.
    Incompatible,
    /// Both ends of a joined device have different numbers of ports.
    MergedCount,
    /// Ranks have different numbers of network devices.
    DeviceCount,
    /// A segment of shared memory could not be made or attached.
    SharedMemory {
        errno: i32,
    },
    /// A topology or graph file could not be used.
    Graph,
    /// Data Direct interface of a ConnectX-8.
    DataDirect,
    /// Ranks run different releases.
    Mismatch,
    /// A transport that was asked for could not be started.
    NetFailed,
    /// CUDA failed.
    Cuda,
    /// PyTorch's watchdog ended a collective that took too long.
    Watchdog,
    /// Any other warning; the number tells its text.
    Other(u32),
}

/// An asynchronous event, by what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AsyncEvent {
    /// The port went down.
    PortError,
    /// The port came back.
    PortActive,
    /// The GID table changed.
    GidChange,
    /// The subnet manager changed something: LID, P_Key, SM, a wish to register again.
    Subnet,
    /// The device or a queue is broken.
    Fatal,
    /// Any other.
    Other,
}
