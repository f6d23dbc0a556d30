//! Network devices, addresses and routes of this network namespace.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::{Bdf, Reading};

/// A network device of /sys/class/net.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Netdev {
    /// Its name.
    pub(crate) name: String,
    /// Directory below the root that its files were read from.
    pub(crate) dir: String,
    /// What it is.
    pub(crate) kind: NetdevKind,
    /// Kernel index.
    pub(crate) ifindex: Reading<u32>,
    /// Index of the device it sits on; of another namespace in a pod.
    pub(crate) iflink: Reading<u32>,
    /// MTU in bytes.
    pub(crate) mtu: Reading<u32>,
    /// `up`, `down`, `unknown`, ...
    pub(crate) operstate: Reading<String>,
    /// Speed in Mbit/s; fails with EINVAL while the link is down, -1 where unknown.
    pub(crate) speed_mbps: Reading<i64>,
    /// Port of its PCI function, from 0.
    pub(crate) dev_port: Reading<u32>,
    /// Bond, bridge or other device it is enslaved to.
    pub(crate) master: Option<String>,
    /// Devices it sits on: a VLAN's or macvlan's parent, a bond's slaves, a bridge's ports.
    pub(crate) lowers: Vec<String>,
    /// Filled for bonds.
    pub(crate) bond: Option<Bond>,
    /// PCI function behind it.
    pub(crate) pci: Option<Bdf>,
}

/// The names of some network devices, of their masters, and of everything that sits on one of these.
pub(crate) fn stack_of<'a>(netdevs: &'a [Netdev], own: &'a [String]) -> BTreeSet<&'a str> {
    let mut names: BTreeSet<&str> = own.iter().map(String::as_str).collect();
    loop {
        let before = names.len();
        for netdev in netdevs {
            if netdev.lowers.iter().any(|l| names.contains(l.as_str())) {
                names.insert(&netdev.name);
            }
            if let (true, Some(master)) = (names.contains(netdev.name.as_str()), &netdev.master) {
                names.insert(master);
            }
        }
        if names.len() == before {
            return names;
        }
    }
}

/// What a network device is, from uevent's DEVTYPE, its directory and /proc/net/vlan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NetdevKind {
    /// Has a device behind it.
    Physical,
    /// A bond.
    Bond,
    /// A VLAN.
    Vlan,
    /// A bridge.
    Bridge,
    /// macvlan or macvtap.
    Macvlan,
    /// ipvlan.
    Ipvlan,
    /// Anything else without hardware: lo, veth, dummy, tunnels.
    Virtual,
}

impl NetdevKind {
    /// The word for it in output.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Physical => "physical",
            Self::Bond => "bond",
            Self::Vlan => "vlan",
            Self::Bridge => "bridge",
            Self::Macvlan => "macvlan",
            Self::Ipvlan => "ipvlan",
            Self::Virtual => "virtual",
        }
    }
}

/// A bond's own files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bond {
    /// `bonding/mode`, for example `802.3ad 4`.
    pub(crate) mode: Reading<String>,
    /// `bonding/slaves`.
    pub(crate) slaves: Vec<String>,
}

/// An interface with its addresses, in the order in which the kernel lists them (which NCCL follows).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interface {
    /// Its name.
    pub(crate) name: String,
    /// Kernel index.
    pub(crate) ifindex: u32,
    /// `IFF_UP`.
    pub(crate) up: bool,
    /// `IFF_RUNNING`: up and with carrier.
    pub(crate) running: bool,
    /// `IFF_LOOPBACK`.
    pub(crate) loopback: bool,
    /// Addresses in the kernel's order, IPv4 first.
    pub(crate) addresses: Vec<Address>,
}

/// An address of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// The address.
    pub(crate) ip: IpAddr,
    /// Prefix length.
    pub(crate) prefix: u8,
    /// Label of an IPv4 address (`eth0:1`), the interface's name otherwise.
    pub(crate) label: String,
}

impl Address {
    /// True for addresses that do not leave the link: fe80::/10 and 169.254/16.
    pub(crate) fn is_link_local(&self) -> bool {
        match self.ip {
            IpAddr::V4(ip) => ip.is_link_local(),
            IpAddr::V6(ip) => ip.is_unicast_link_local(),
        }
    }

    /// True where the other address lies in this one's network.
    pub(crate) fn network_contains(&self, other: IpAddr) -> bool {
        match (self.ip, other) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                let shift = 32u32.saturating_sub(u32::from(self.prefix));
                u32::from(a).checked_shr(shift).unwrap_or(0)
                    == u32::from(b).checked_shr(shift).unwrap_or(0)
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => {
                let shift = 128u32.saturating_sub(u32::from(self.prefix));
                u128::from(a).checked_shr(shift).unwrap_or(0)
                    == u128::from(b).checked_shr(shift).unwrap_or(0)
            }
            _ => false,
        }
    }
}

/// A route of the main table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    /// Outgoing interface.
    pub(crate) interface: String,
    /// Destination network.
    pub(crate) destination: IpAddr,
    /// Its prefix length; 0 is the default route.
    pub(crate) prefix: u8,
    /// Gateway, when there is one.
    pub(crate) gateway: Option<IpAddr>,
    /// Metric; lower wins.
    pub(crate) metric: u32,
}

impl Route {
    /// True for 0.0.0.0/0 and ::/0.
    pub(crate) fn is_default(&self) -> bool {
        self.prefix == 0 && self.destination.is_unspecified()
    }
}
