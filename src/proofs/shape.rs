//! A node in a few words: what its files say, before it is known where they lie.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use crate::model::NetdevKind;

/// A node.
#[derive(Debug, Clone, Default)]
pub(super) struct Shape {
    pub(super) hcas: Vec<HcaShape>,
    pub(super) netdevs: Vec<NetdevShape>,
    /// Interface and metric; IPv4.
    pub(super) routes4: Vec<(String, u32)>,
    pub(super) routes6: Vec<(String, u32)>,
    pub(super) gpus: Vec<FunctionShape>,
    pub(super) container: bool,
    pub(super) dev_infiniband: bool,
    /// Whether `commands/rdma-dev.json` tells the kernel's order of devices.
    pub(super) order_known: bool,
    /// The environment of the process.
    pub(super) env: BTreeMap<String, String>,
    /// Other files: path without the leading slash, content.
    pub(super) files: BTreeMap<String, String>,
}

/// A PCI function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FunctionShape {
    /// `pci0000:10/0000:10:01.0/...` down to the function itself.
    pub(super) path: String,
    pub(super) vendor: u16,
    pub(super) device: u16,
    pub(super) numa_node: i32,
}

/// An RDMA device.
#[derive(Debug, Clone)]
pub(super) struct HcaShape {
    pub(super) name: String,
    /// `None` for Soft-RoCE.
    pub(super) function: Option<FunctionShape>,
    /// Path of the physical function of a virtual one.
    pub(super) physfn: Option<String>,
    pub(super) node_type: &'static str,
    pub(super) driver: &'static str,
    pub(super) sys_image_guid: String,
    pub(super) uverbs: Option<u32>,
    pub(super) uverbs_node: bool,
    /// Position in the kernel's own list.
    pub(super) ibdev_index: u32,
    /// The network device Soft-RoCE names itself.
    pub(super) parent: Option<String>,
    pub(super) ports: BTreeMap<u32, PortShape>,
}

/// A port.
#[derive(Debug, Clone)]
pub(super) struct PortShape {
    pub(super) state: String,
    pub(super) link_layer: String,
    /// `None`: reading it fails.
    pub(super) rate: Option<String>,
    pub(super) lid: u32,
    /// Number of rows, empty ones included.
    pub(super) len: u32,
    pub(super) rows: BTreeMap<u32, RowShape>,
}

/// A row of a GID table.
#[derive(Debug, Clone)]
pub(super) enum RowShape {
    /// It holds a GID.
    Holds {
        gid: Ipv6Addr,
        /// Text of its type, or the errno.
        kind: Result<String, i32>,
        /// Its network device, or the errno.
        ndev: Result<String, i32>,
    },
    /// Reading it fails with this errno.
    Fails(i32),
}

/// A network device with its addresses.
#[derive(Debug, Clone)]
pub(super) struct NetdevShape {
    pub(super) name: String,
    pub(super) ifindex: u32,
    pub(super) kind: NetdevKind,
    /// Path of the PCI function behind it.
    pub(super) function: Option<String>,
    pub(super) dev_port: u32,
    pub(super) lowers: Vec<String>,
    pub(super) master: Option<String>,
    /// Address and prefix length, in the kernel's order.
    pub(super) addresses: Vec<(IpAddr, u8)>,
    pub(super) up: bool,
    pub(super) running: bool,
    pub(super) loopback: bool,
}

impl Shape {
    /// The same machine with other names: RDMA devices and network devices get new names and numbers and stand in another
    /// order. Nothing else changes.
    pub(super) fn renamed(&self, new: &Renaming) -> Self {
        let mut shape = self.clone();
        for hca in &mut shape.hcas {
            hca.name = new.hca(&hca.name);
            hca.uverbs = hca.uverbs.map(|n| 63 - n);
            hca.parent = hca.parent.as_ref().map(|n| new.netdev(n));
            for row in hca.ports.values_mut().flat_map(|p| p.rows.values_mut()) {
                if let RowShape::Holds { ndev: Ok(ndev), .. } = row {
                    *ndev = new.netdev(ndev);
                }
            }
        }
        for netdev in &mut shape.netdevs {
            netdev.name = new.netdev(&netdev.name);
            netdev.ifindex = 1000 - netdev.ifindex;
            netdev.master = netdev.master.as_ref().map(|n| new.netdev(n));
            netdev.lowers = netdev.lowers.iter().map(|n| new.netdev(n)).collect();
        }
        for (interface, _) in shape.routes4.iter_mut().chain(&mut shape.routes6) {
            *interface = new.netdev(interface);
        }
        shape.hcas.reverse();
        shape.netdevs.reverse();
        shape
    }
}

/// New names for old ones: the order is turned round and begins anew somewhere in between.
#[derive(Debug)]
pub(super) struct Renaming {
    hcas: BTreeMap<String, String>,
    netdevs: BTreeMap<String, String>,
}

impl Renaming {
    pub(super) fn new(shape: &Shape, turn: usize) -> Self {
        let numbered = |names: Vec<&String>, prefix: &str| -> BTreeMap<String, String> {
            let count = names.len();
            (0..count)
                .zip(names)
                .map(|(i, name)| {
                    let place = (count - 1 - i + turn) % count;
                    (name.clone(), format!("{prefix}{place}"))
                })
                .collect()
        };
        Self {
            hcas: numbered(shape.hcas.iter().map(|h| &h.name).collect(), "rdma"),
            netdevs: numbered(shape.netdevs.iter().map(|n| &n.name).collect(), "net"),
        }
    }

    pub(super) fn hca(&self, name: &str) -> String {
        self.hcas[name].clone()
    }

    /// A network device of another namespace gets another name, too.
    fn netdev(&self, name: &str) -> String {
        match self.netdevs.get(name) {
            Some(new) => new.clone(),
            None => format!("away-{name}"),
        }
    }
}
