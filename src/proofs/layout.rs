//! A described node as the files of a machine.

use std::fmt::Write as _;
use std::net::Ipv6Addr;

use super::shape::{FunctionShape, HcaShape, NetdevShape, PortShape, RowShape, Shape};
use crate::model::NetdevKind;
use crate::sys::{Entry, Tree};

const PCI_CLASS_NETWORK: u32 = 0x02_0000;
const PCI_CLASS_GPU: u32 = 0x03_0200;

/// Files being written.
struct Files {
    tree: Tree,
}

impl Files {
    fn file(&mut self, path: &str, content: impl std::fmt::Display) {
        self.tree
            .put(path, Entry::File(format!("{content}\n").into_bytes()));
    }

    fn link(&mut self, path: &str, target: &str) {
        self.tree.put(path, Entry::Link(format!("/{target}")));
    }

    /// A value, or the errno that reading it gives; 2 is a file that is not there.
    fn value(&mut self, path: &str, value: Result<&str, i32>) {
        match value {
            Ok(text) => self.file(path, text),
            Err(2) => {}
            Err(errno) => self.tree.put(path, Entry::Errno(errno)),
        }
    }

    fn dir(&mut self, path: &str) {
        self.tree.put(path, Entry::Dir);
    }
}

/// A GID as the kernel writes it.
fn gid_text(gid: Ipv6Addr) -> String {
    gid.segments().map(|s| format!("{s:04x}")).join(":")
}

fn dir_of(function: &str) -> String {
    format!("sys/devices/{function}")
}

impl Shape {
    /// The node's files.
    pub(super) fn tree(&self) -> Tree {
        let mut files = Files {
            tree: Tree::default(),
        };
        for dir in [
            "sys/class/net",
            "sys/class/infiniband",
            "sys/class/infiniband_verbs",
            "sys/bus/pci/devices",
        ] {
            files.dir(dir);
        }
        if self.dev_infiniband {
            files.dir("dev/infiniband");
        }
        if self.container {
            files.file(".dockerenv", "");
        }
        for gpu in &self.gpus {
            files.function(gpu, PCI_CLASS_GPU);
        }
        for hca in &self.hcas {
            files.hca(hca, self.dev_infiniband);
        }
        for netdev in &self.netdevs {
            files.netdev(netdev);
        }
        files.tables(self);
        for (path, content) in &self.files {
            files
                .tree
                .put(path, Entry::File(content.clone().into_bytes()));
        }
        files.tree.env = Some(self.env.clone());
        files.tree
    }
}

impl Files {
    fn function(&mut self, function: &FunctionShape, class: u32) {
        let dir = dir_of(&function.path);
        self.file(
            &format!("{dir}/vendor"),
            format_args!("{:#06x}", function.vendor),
        );
        self.file(
            &format!("{dir}/device"),
            format_args!("{:#06x}", function.device),
        );
        self.file(&format!("{dir}/class"), format_args!("{class:#08x}"));
        self.file(&format!("{dir}/numa_node"), function.numa_node);
        let address = function.path.rsplit('/').next().unwrap();
        self.link(&format!("sys/bus/pci/devices/{address}"), &dir);
    }

    fn hca(&mut self, hca: &HcaShape, nodes: bool) {
        let dir = match &hca.function {
            Some(function) => {
                self.function(function, PCI_CLASS_NETWORK);
                let parent = dir_of(&function.path);
                let dir = format!("{parent}/infiniband/{}", hca.name);
                self.link(&format!("{dir}/device"), &parent);
                self.link(
                    &format!("{parent}/driver"),
                    &format!("sys/bus/pci/drivers/{}", hca.driver),
                );
                if let Some(physfn) = &hca.physfn {
                    self.link(&format!("{parent}/physfn"), &dir_of(physfn));
                }
                dir
            }
            None => format!("sys/devices/virtual/infiniband/{}", hca.name),
        };
        self.link(&format!("sys/class/infiniband/{}", hca.name), &dir);
        self.file(&format!("{dir}/node_type"), hca.node_type);
        self.file(&format!("{dir}/sys_image_guid"), &hca.sys_image_guid);
        if let Some(parent) = &hca.parent {
            self.file(&format!("{dir}/parent"), parent);
        }
        self.dir(&format!("{dir}/ports"));
        for (number, port) in &hca.ports {
            self.port(&format!("{dir}/ports/{number}"), port);
        }
        if let Some(number) = hca.uverbs {
            self.file(
                &format!("sys/class/infiniband_verbs/uverbs{number}/ibdev"),
                &hca.name,
            );
            if nodes && hca.uverbs_node {
                self.file(&format!("dev/infiniband/uverbs{number}"), "");
            }
        }
    }

    fn port(&mut self, dir: &str, port: &PortShape) {
        const EINVAL: i32 = 22;
        self.file(&format!("{dir}/state"), &port.state);
        self.file(&format!("{dir}/link_layer"), &port.link_layer);
        let rate = port.rate.as_deref().ok_or(EINVAL);
        self.value(&format!("{dir}/rate"), rate);
        self.file(&format!("{dir}/lid"), format_args!("{:#x}", port.lid));
        self.tree.put(&format!("{dir}/gids"), Entry::Rows(port.len));
        for (index, row) in &port.rows {
            match row {
                RowShape::Holds { gid, kind, ndev } => {
                    let attributes = format!("{dir}/gid_attrs");
                    self.file(&format!("{dir}/gids/{index}"), gid_text(*gid));
                    let text = |value: &Result<String, i32>| value.clone();
                    let (kind, ndev) = (text(kind), text(ndev));
                    self.value(
                        &format!("{attributes}/types/{index}"),
                        kind.as_deref().map_err(|e| *e),
                    );
                    self.value(
                        &format!("{attributes}/ndevs/{index}"),
                        ndev.as_deref().map_err(|e| *e),
                    );
                }
                RowShape::Fails(errno) => {
                    self.value(&format!("{dir}/gids/{index}"), Err(*errno));
                }
            }
        }
    }

    fn netdev(&mut self, netdev: &NetdevShape) {
        let name = &netdev.name;
        let dir = match &netdev.function {
            Some(function) => format!("{}/net/{name}", dir_of(function)),
            None => format!("sys/devices/virtual/net/{name}"),
        };
        self.link(&format!("sys/class/net/{name}"), &dir);
        self.file(&format!("{dir}/ifindex"), netdev.ifindex);
        self.file(&format!("{dir}/dev_port"), netdev.dev_port);
        if let Some(function) = &netdev.function {
            self.link(&format!("{dir}/device"), &dir_of(function));
        }
        if let Some(master) = &netdev.master {
            self.link(
                &format!("{dir}/master"),
                &format!("sys/devices/virtual/net/{master}"),
            );
        }
        for lower in &netdev.lowers {
            self.link(
                &format!("{dir}/lower_{lower}"),
                &format!("sys/class/net/{lower}"),
            );
        }
        match netdev.kind {
            NetdevKind::Bond => {
                self.file(&format!("{dir}/bonding/mode"), "802.3ad 4");
                self.file(&format!("{dir}/bonding/slaves"), netdev.lowers.join(" "));
            }
            NetdevKind::Bridge => self.file(&format!("{dir}/bridge/bridge_id"), "8000"),
            NetdevKind::Vlan | NetdevKind::Macvlan | NetdevKind::Ipvlan => self.file(
                &format!("{dir}/uevent"),
                format_args!("DEVTYPE={}\nINTERFACE={name}", netdev.kind.word()),
            ),
            NetdevKind::Physical | NetdevKind::Virtual => {}
        }
    }

    /// What the network namespace and the commands say.
    fn tables(&mut self, shape: &Shape) {
        let mut routes =
            "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n".to_owned();
        for (interface, metric) in &shape.routes4 {
            let _ = writeln!(
                routes,
                "{interface}\t00000000\tFE00000A\t0003\t0\t0\t{metric}\t00000000"
            );
        }
        let mut routes6 = String::new();
        let zero = "0".repeat(32);
        for (interface, metric) in &shape.routes6 {
            let _ = writeln!(
                routes6,
                "{zero} 00 {zero} 00 {zero} {metric:08x} 00000001 00000000 00000003 {interface}"
            );
        }
        self.file("proc/net/route", routes.trim_end());
        self.file("proc/net/ipv6_route", routes6.trim_end());
        self.file("proc/self/status", "Name:\tproof\nUid:\t0\t0\t0\t0");
        self.file("proc/sys/kernel/hostname", "node");
        let interfaces: Vec<_> = shape.netdevs.iter().map(ip_addr).collect();
        self.file("commands/ip-addr.json", serde_json::Value::from(interfaces));
        if shape.order_known {
            let devices: Vec<_> = shape
                .hcas
                .iter()
                .map(|h| serde_json::json!({"ifindex": h.ibdev_index, "ifname": h.name}))
                .collect();
            self.file("commands/rdma-dev.json", serde_json::Value::from(devices));
        }
    }
}

/// A network device as `ip -j addr` shows it.
fn ip_addr(netdev: &NetdevShape) -> serde_json::Value {
    let mut flags = Vec::new();
    if netdev.loopback {
        flags.push("LOOPBACK");
    }
    if netdev.up {
        flags.push("UP");
        flags.push(if netdev.running {
            "LOWER_UP"
        } else {
            "NO-CARRIER"
        });
    }
    let addresses: Vec<_> = netdev
        .addresses
        .iter()
        .map(|(ip, prefix)| {
            serde_json::json!({
                "family": if ip.is_ipv4() { "inet" } else { "inet6" },
                "local": ip, "prefixlen": prefix, "label": netdev.name,
            })
        })
        .collect();
    serde_json::json!({
        "ifindex": netdev.ifindex, "ifname": netdev.name, "flags": flags, "addr_info": addresses,
    })
}
