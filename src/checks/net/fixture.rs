//! A node for the tests of checks, described in a few words.

use std::net::Ipv6Addr;

use crate::checks::{Check, Expectations, Facts, Finding, Thresholds, Verdict};
use crate::model::health::{Health, Limits};
use crate::model::{
    Address, Bdf, Bond, Gid, GidRow, GidTable, GidType, Gpu, GpuVendor, Hca, Interface, LinkLayer,
    Netdev, NetdevKind, Node, NodeType, PciFunction, PciPath, Port, PortState, Rate, Route, Unread,
    Uverbs, Why,
};
use crate::nccl::config::Settings;
use crate::roles::{Rules, decide};

/// A reading of a file that does not exist.
pub(in crate::checks) fn absent<T>(path: &str) -> Result<T, Unread> {
    Err(Unread::new(path, Why::Absent))
}

/// A reading that was refused.
pub(in crate::checks) fn denied<T>(path: &str) -> Result<T, Unread> {
    Err(Unread::new(path, Why::Denied))
}

/// A node and what was read beside it.
pub(in crate::checks) struct Bench {
    pub(in crate::checks) node: Node,
    pub(in crate::checks) health: Health,
    pub(in crate::checks) thresholds: Thresholds,
}

impl Bench {
    /// A node with nothing but `lo` and `eth0`, which has the default route.
    pub(in crate::checks) fn new() -> Self {
        let node = Node {
            hostname: Ok("node".into()),
            hcas: Ok(Vec::new()),
            netdevs: Ok(Vec::new()),
            interfaces: Ok(Vec::new()),
            routes4: Ok(vec![Route {
                interface: "eth0".into(),
                destination: "0.0.0.0".parse().unwrap(),
                prefix: 0,
                gateway: None,
                metric: 0,
            }]),
            routes6: Ok(Vec::new()),
            gpus: Ok(Vec::new()),
            container: None,
            dev_infiniband: Ok(true),
        };
        let health = Health {
            limits: Limits {
                user_namespace: Ok(false),
                ..Limits::default()
            },
            ..Health::default()
        };
        let mut bench = Self {
            node,
            health,
            thresholds: Thresholds::default(),
        };
        bench.netdev("lo", &["127.0.0.1/8"]);
        bench.netdev("eth0", &["10.10.0.1/24"]);
        bench
    }

    /// Adds a network device that is up, with addresses.
    pub(in crate::checks) fn netdev(&mut self, name: &str, addresses: &[&str]) -> &mut Netdev {
        let interfaces = self.node.interfaces.as_mut().unwrap();
        interfaces.push(Interface {
            name: name.into(),
            ifindex: u32::try_from(interfaces.len()).unwrap() + 1,
            up: true,
            running: true,
            loopback: name == "lo",
            addresses: addresses
                .iter()
                .map(|text| {
                    let (ip, prefix) = text.split_once('/').unwrap();
                    Address {
                        ip: ip.parse().unwrap(),
                        prefix: prefix.parse().unwrap(),
                        label: name.into(),
                    }
                })
                .collect(),
        });
        let dir = format!("sys/devices/virtual/net/{name}");
        let netdevs = self.node.netdevs.as_mut().unwrap();
        netdevs.push(Netdev {
            name: name.into(),
            kind: NetdevKind::Physical,
            ifindex: Ok(0),
            iflink: Ok(0),
            mtu: Ok(9000),
            operstate: Ok("up".into()),
            speed_mbps: Ok(100_000),
            dev_port: Ok(0),
            master: None,
            lowers: Vec::new(),
            bond: None,
            pci: None,
            dir,
        });
        netdevs.last_mut().unwrap()
    }

    /// Changes a network device that was added.
    pub(in crate::checks) fn edit(&mut self, name: &str) -> &mut Netdev {
        let netdevs = self.node.netdevs.as_mut().unwrap();
        netdevs.iter_mut().find(|n| n.name == name).unwrap()
    }

    /// Changes an interface that was added.
    pub(in crate::checks) fn interface(&mut self, name: &str) -> &mut Interface {
        let interfaces = self.node.interfaces.as_mut().unwrap();
        interfaces.iter_mut().find(|n| n.name == name).unwrap()
    }

    /// Makes a network device the bond of others.
    pub(in crate::checks) fn bond(&mut self, name: &str, slaves: &[&str]) {
        for slave in slaves {
            self.edit(slave).master = Some(name.into());
        }
        let bond = self.edit(name);
        bond.kind = NetdevKind::Bond;
        bond.bond = Some(Bond {
            mode: Ok("802.3ad 4".into()),
            slaves: slaves.iter().map(|s| (*s).to_owned()).collect(),
        });
    }

    /// Adds an RDMA device with one ACTIVE port of 100 Gb/s. With a network device it is RoCE, and its GIDs are those of
    /// the device's addresses, or of another one's (`rows`).
    pub(in crate::checks) fn hca(
        &mut self,
        name: &str,
        pci: &str,
        netdev: Option<&str>,
        rows: Option<&str>,
    ) -> &mut Hca {
        let row_netdev = rows.or(netdev).unwrap_or_default();
        let addresses: Vec<Gid> = self
            .node
            .interface(row_netdev)
            .into_iter()
            .flat_map(|i| &i.addresses)
            .map(|a| match a.ip {
                std::net::IpAddr::V4(ip) => Gid(ip.to_ipv6_mapped().octets()),
                std::net::IpAddr::V6(ip) => Gid(ip.octets()),
            })
            .collect();
        let rows = (3..)
            .zip(addresses)
            .map(|(index, gid)| GidRow {
                index,
                gid,
                kind: Ok(GidType::V2),
                ndev: Ok(row_netdev.into()),
            })
            .collect();
        let hcas = self.node.hcas.as_mut().unwrap();
        let function = function(pci, 0);
        hcas.push(Hca {
            name: name.into(),
            dir: format!("{}/infiniband/{name}", function.dir),
            node_type: Ok(NodeType::Ca),
            node_guid: absent("node_guid"),
            sys_image_guid: absent("sys_image_guid"),
            fw_ver: absent("fw_ver"),
            hca_type: absent("hca_type"),
            board_id: absent("board_id"),
            pci: Ok(Some(function)),
            driver: Some("mlx5_core".into()),
            physfn: None,
            uverbs: Uverbs {
                number: Some(u32::try_from(hcas.len()).unwrap()),
                node_exists: Some(true),
            },
            ibdev_index: None,
            ports: Ok(vec![Port {
                number: 1,
                state: Ok(PortState::Active),
                phys_state: absent("phys_state"),
                link_layer: Ok(if netdev.is_some() {
                    LinkLayer::Ethernet
                } else {
                    LinkLayer::InfiniBand
                }),
                rate: Ok(Rate {
                    mbps: 100_000,
                    lanes: Some(4),
                    generation: None,
                }),
                lid: Ok(1),
                sm_lid: Ok(1),
                gids: Ok(GidTable {
                    rows,
                    unread: Vec::new(),
                    len: Some(16),
                }),
                netdevs: netdev.map(str::to_owned).into_iter().collect(),
            }]),
        });
        hcas.last_mut().unwrap()
    }

    /// Adds a GPU.
    pub(in crate::checks) fn gpu(&mut self, pci: &str, numa_node: i32) {
        let gpus = self.node.gpus.as_mut().unwrap();
        gpus.push(Gpu {
            index: u32::try_from(gpus.len()).unwrap(),
            pci: function(pci, numa_node),
            vendor: GpuVendor::Nvidia,
            information: absent("information"),
        });
    }

    /// Runs a check.
    pub(in crate::checks) fn run(&self, check: &Check) -> Verdict {
        let decision = decide(&self.node, &Rules::default());
        let facts = Facts {
            node: &self.node,
            decision: &decision,
            health: &self.health,
            releases: &[],
            settings: &Settings::from_environment([]),
            lint: None,
            expect: &Expectations::default(),
            thresholds: &self.thresholds,
        };
        let verdict = (check.run)(&facts);
        if let Verdict::Found(findings, _) = &verdict {
            for finding in findings {
                assert!(finding.severity <= check.severity, "{finding:?}");
                assert!(!finding.message.ends_with('.'), "{finding:?}");
                assert!(finding.message.chars().count() <= 110, "{finding:?}");
                assert!(!finding.evidence.is_empty(), "{finding:?}");
            }
        }
        verdict
    }

    /// Runs a check that finds something.
    pub(in crate::checks) fn findings(&self, check: &Check) -> Vec<Finding> {
        match self.run(check) {
            Verdict::Found(findings, _) => findings,
            other => panic!("{} came to {other:?}", check.id),
        }
    }
}

/// A PCI function by its path from the host bridge.
pub(in crate::checks) fn function(path: &str, numa_node: i32) -> PciFunction {
    PciFunction {
        address: bdf(path.rsplit('/').next().unwrap()),
        dir: format!("sys/devices/{path}"),
        path: PciPath(path.split('/').map(str::to_owned).collect()),
        vendor: absent("vendor"),
        device: absent("device"),
        class: absent("class"),
        numa_node: Ok(numa_node),
    }
}

/// A PCI address.
pub(in crate::checks) fn bdf(text: &str) -> Bdf {
    let fields: Vec<u32> = text
        .split([':', '.'])
        .map(|f| u32::from_str_radix(f, 16).unwrap())
        .collect();
    Bdf {
        domain: fields[0],
        bus: u8::try_from(fields[1]).unwrap(),
        device: u8::try_from(fields[2]).unwrap(),
        function: u8::try_from(fields[3]).unwrap(),
    }
}

/// A GID of a link-local address.
pub(in crate::checks) fn link_local_gid() -> Gid {
    Gid("fe80::1".parse::<Ipv6Addr>().unwrap().octets())
}
