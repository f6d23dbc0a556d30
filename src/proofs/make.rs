//! Makes a node of what was drawn: plain code, so that small numbers make a small node.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv6Addr};

use super::draw::{HcaDraw, HcaKind, Net, Odd, TableDraw, VARIABLES};
use super::shape::{FunctionShape, HcaShape, NetdevShape, PortShape, RowShape, Shape};
use crate::model::NetdevKind;

/// Makes a node of what was drawn.
#[derive(Default)]
pub(super) struct Maker {
    pub(super) shape: Shape,
    ifindex: u32,
}

fn function(path: String, vendor: u16, device: u16, numa_node: i32) -> FunctionShape {
    FunctionShape {
        path,
        vendor,
        device,
        numa_node,
    }
}

/// A slot of a switch; each switch has a root port of its own, two share a host bridge.
fn slot(switch: u8, device: u8) -> String {
    let domain = switch / 2;
    let bus = 0x10 + (switch % 2) * 0x60;
    format!(
        "pci{domain:04x}:10/{domain:04x}:10:{0:02x}.0/{domain:04x}:{bus:02x}:00.0/{domain:04x}:{1:02x}:{device:02x}.0/{domain:04x}:{2:02x}:00.0",
        switch % 2 + 1,
        bus + 1,
        bus + 2 + device
    )
}

impl Maker {
    pub(super) fn gpus(&mut self, count: u8) {
        for n in 1..=count {
            self.shape
                .gpus
                .push(function(slot(n, 0), 0x10de, 0x2330, i32::from(n / 4)));
        }
    }

    fn add(&mut self, name: &str, kind: NetdevKind, lowers: &[&str], addresses: &[String]) {
        if let Some(known) = self.shape.netdevs.iter_mut().find(|n| n.name == name) {
            // A second slave of a bond.
            for lower in lowers {
                if !known.lowers.iter().any(|l| l == lower) {
                    known.lowers.push((*lower).to_owned());
                }
            }
            return;
        }
        self.ifindex += 1;
        let parsed = addresses.iter().map(|text| {
            let ip: IpAddr = text.parse().unwrap();
            (ip, if ip.is_ipv4() { 24 } else { 64 })
        });
        self.shape.netdevs.push(NetdevShape {
            name: name.to_owned(),
            ifindex: self.ifindex,
            kind,
            function: None,
            dev_port: 0,
            lowers: lowers.iter().map(|l| (*l).to_owned()).collect(),
            master: None,
            addresses: parsed.collect(),
            up: true,
            running: true,
            loopback: name == "lo",
        });
    }

    fn enslave(&mut self, name: &str, master: &str) {
        for netdev in self.shape.netdevs.iter_mut().filter(|n| n.name == name) {
            netdev.master = Some(master.to_owned());
        }
    }

    /// Interfaces without RDMA, and the default route.
    pub(super) fn surroundings(&mut self, route: u8) {
        self.add(
            "lo",
            NetdevKind::Virtual,
            &[],
            &["127.0.0.1".into(), "::1".into()],
        );
        self.add("docker0", NetdevKind::Bridge, &[], &["172.17.0.1".into()]);
        if route != 5 {
            self.add(
                "mgmt",
                NetdevKind::Virtual,
                &[],
                &["10.0.0.1".into(), "fe80::99".into()],
            );
        }
        let routes4: &[(&str, u32)] = match route {
            0 | 3 => &[("mgmt", 100)],
            1 => &[("eth0", 100), ("mgmt", 200)],
            2 => &[("eth2", 100)],
            _ => &[],
        };
        let routes6: &[(&str, u32)] = if route == 3 || route == 4 {
            &[("eth0", 1024)]
        } else {
            &[]
        };
        let owned = |routes: &[(&str, u32)]| -> Vec<(String, u32)> {
            routes.iter().map(|(n, m)| ((*n).to_owned(), *m)).collect()
        };
        self.shape.routes4 = owned(routes4);
        self.shape.routes6 = owned(routes6);
    }

    pub(super) fn hca(&mut self, number: u8, draw: &HcaDraw) {
        let name = format!("mlx5_{number}");
        let software = draw.kind == HcaKind::Software;
        let previous = self.shape.hcas.last().and_then(|h| h.function.clone());
        let parent = previous.filter(|f| draw.virtual_one && !software && f.path.ends_with(".0"));
        let path = match (&parent, draw.switch) {
            (Some(physical), _) => format!("{}.2", physical.path.strip_suffix(".0").unwrap()),
            (None, 0) => format!(
                "pci{:04x}:00/{0:04x}:00:01.0/{0:04x}:01:00.0",
                0x20 + u16::from(number)
            ),
            (None, switch) => slot(switch, number + 1),
        };
        let device = [0x1021, 0x101d][usize::from(draw.model)];
        let own = (!software).then(|| function(path.clone(), 0x15b3, device, 0));
        let ports = if draw.two_ports && !software { 2 } else { 1 };
        let mut made = BTreeMap::new();
        let mut soft_parent = None;
        for port in 0..ports {
            let netdev = format!("eth{}", u16::from(number) * 2 + u16::from(port));
            let infiniband = draw.kind == HcaKind::InfiniBand;
            let rows = if infiniband {
                vec![(
                    Ok("IB/RoCE v1".to_owned()),
                    "fe80::7".parse().unwrap(),
                    None,
                )]
            } else {
                let addresses = self.net(
                    number,
                    port,
                    &netdev,
                    draw.nets,
                    (!software).then_some(&path),
                );
                soft_parent = software.then(|| netdev.clone());
                rows_of(&draw.table, &addresses)
            };
            made.insert(u32::from(port) + 1, self::port(draw, infiniband, rows));
        }
        self.shape.hcas.push(HcaShape {
            name,
            function: own,
            physfn: parent.map(|p| p.path),
            node_type: match draw.kind {
                HcaKind::Iwarp => "4: RNIC",
                HcaKind::Efa => "7: unspecified",
                _ => "1: CA",
            },
            driver: if draw.kind == HcaKind::Efa {
                "efa"
            } else {
                "mlx5_core"
            },
            sys_image_guid: format!("946d:ae03:00{:02x}:0000", number / 2),
            uverbs: (draw.uverbs != 2).then_some(u32::from(number)),
            uverbs_node: draw.uverbs != 1,
            ibdev_index: u32::from(12 - number),
            parent: soft_parent,
            ports: made,
        });
    }

    /// Adds the network devices of a port; returns its addresses with the name that stands in their rows.
    fn net(
        &mut self,
        number: u8,
        port: u8,
        netdev: &str,
        net: Net,
        function: Option<&String>,
    ) -> Vec<(String, String)> {
        let v4 = format!("10.{}.{port}.1", number + 1);
        let more4 = format!("192.168.{number}.{}", port + 1);
        let v6 = format!("fd00:{number:x}::{}", port + 1);
        let local = format!("fe80::{number:x}:{}", port + 1);
        let vlan = format!("{netdev}.100");
        let bond = format!("bond{}", number / 2);
        let at = |address: &String, name: &str| (address.clone(), name.to_owned());
        let (own, rows): (Vec<String>, Vec<(String, String)>) = match net {
            Net::Own4 | Net::Down => (vec![v4.clone()], vec![at(&v4, netdev)]),
            Net::Two4 => (
                vec![v4.clone(), more4.clone()],
                vec![at(&v4, netdev), at(&more4, netdev)],
            ),
            Net::Own6 => (vec![v6.clone()], vec![at(&v6, netdev)]),
            Net::Both => (
                vec![v4.clone(), v6.clone()],
                vec![at(&v6, netdev), at(&v4, netdev)],
            ),
            Net::Bare => (Vec::new(), Vec::new()),
            Net::OwnAndVlan | Net::OwnAndMacvlan => {
                (vec![v4.clone()], vec![at(&more4, &vlan), at(&v4, netdev)])
            }
            Net::OnlyVlan | Net::OnlyMacvlan => (Vec::new(), vec![at(&more4, &vlan)]),
            Net::Bridged => (Vec::new(), vec![at(&v4, &format!("br{number}"))]),
            Net::Bonded => (Vec::new(), vec![at(&bond_address(number), &bond)]),
            Net::BondedSlaveName => (Vec::new(), vec![at(&bond_address(number), netdev)]),
            Net::BondedVlan => (
                Vec::new(),
                vec![
                    at(&more4, &format!("{bond}.100")),
                    at(&bond_address(number), &bond),
                ],
            ),
            Net::SameAddressTwice => (vec![v4.clone()], vec![at(&v4, &vlan), at(&v4, netdev)]),
            Net::Away => return vec![at(&v4, &format!("pod{number}"))],
            Net::SameNameAway => (
                vec![v4.clone()],
                vec![at(&"10.200.0.7".to_owned(), netdev), at(&v4, netdev)],
            ),
            Net::SameNameBare => (Vec::new(), vec![at(&"10.200.0.7".to_owned(), netdev)]),
        };
        let addresses: Vec<String> = own.into_iter().chain([local.clone()]).collect();
        self.add(netdev, NetdevKind::Physical, &[], &addresses);
        if let Some(added) = self.shape.netdevs.iter_mut().find(|n| n.name == netdev) {
            added.function = function.cloned();
            added.dev_port = u32::from(port);
            if function.is_none() {
                added.kind = NetdevKind::Virtual;
            }
            (added.up, added.running) = (net != Net::Down, net != Net::Down);
        }
        self.stack(number, netdev, net, [&v4, &more4]);
        let mut all = vec![at(&local, netdev)];
        all.extend(rows);
        all
    }

    /// Adds what sits on a port's network device.
    fn stack(&mut self, number: u8, netdev: &str, net: Net, [v4, more4]: [&str; 2]) {
        let vlan = format!("{netdev}.100");
        let bond = format!("bond{}", number / 2);
        let second = |text: &str| vec![text.to_owned()];
        match net {
            Net::OwnAndVlan | Net::OnlyVlan => {
                self.add(&vlan, NetdevKind::Vlan, &[netdev], &second(more4));
            }
            Net::OwnAndMacvlan | Net::OnlyMacvlan => {
                self.add(&vlan, NetdevKind::Macvlan, &[netdev], &second(more4));
            }
            Net::SameAddressTwice => self.add(&vlan, NetdevKind::Vlan, &[netdev], &second(v4)),
            Net::Bridged => {
                let bridge = format!("br{number}");
                self.add(&bridge, NetdevKind::Bridge, &[netdev], &second(v4));
                self.enslave(netdev, &bridge);
            }
            Net::Bonded | Net::BondedSlaveName | Net::BondedVlan => {
                self.add(
                    &bond,
                    NetdevKind::Bond,
                    &[netdev],
                    &second(&bond_address(number)),
                );
                self.enslave(netdev, &bond);
                if net == Net::BondedVlan {
                    self.add(
                        &format!("{bond}.100"),
                        NetdevKind::Vlan,
                        &[&bond],
                        &second(more4),
                    );
                }
            }
            _ => {}
        }
    }

    pub(super) fn settings(&mut self, settings: &[(usize, usize, u8)]) {
        for (variable, value, place) in settings {
            let (name, values) = VARIABLES[*variable];
            let value = values[value % values.len()];
            let file = match place {
                0 => {
                    self.shape.env.insert(name.to_owned(), value.to_owned());
                    continue;
                }
                1 => "root/.nccl.conf",
                _ => "etc/nccl.conf",
            };
            let content = self.shape.files.entry(file.to_owned()).or_default();
            let _ = writeln!(content, "{name}={value}");
        }
    }
}

fn bond_address(number: u8) -> String {
    format!("10.99.{}.1", number / 2)
}

fn port(draw: &HcaDraw, infiniband: bool, rows: Vec<DrawnRow>) -> PortShape {
    let states = [
        "4: ACTIVE",
        "1: DOWN",
        "2: INIT",
        "3: ARMED",
        "5: ACTIVE_DEFER",
        "junk",
    ];
    let rates = [
        Some("400 Gb/sec (4X NDR)"),
        Some("200 Gb/sec (4X HDR)"),
        Some("100 Gb/sec (4X EDR)"),
        Some("25 Gb/sec (1X EDR)"),
        Some("2.5 Gb/sec (1X SDR)"),
        None,
    ];
    let (len, rows) = table_of(&draw.table, rows);
    PortShape {
        state: states[usize::from(draw.state)].to_owned(),
        link_layer: if infiniband { "InfiniBand" } else { "Ethernet" }.to_owned(),
        rate: rates[usize::from(draw.rate)].map(str::to_owned),
        lid: u32::from(infiniband && draw.table.at != 0) * 7,
        len,
        rows,
    }
}

/// The text of a type or its errno, a GID, and a network device.
type DrawnRow = (Result<String, i32>, Ipv6Addr, Option<String>);

/// The rows of a table in their order, without holes.
fn rows_of(draw: &TableDraw, addresses: &[(String, String)]) -> Vec<DrawnRow> {
    let gid = |text: &str| -> Ipv6Addr {
        match text.parse::<IpAddr>().unwrap() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        }
    };
    let foreign = |count: u8, third: u8| {
        (0..count).map(move |n| (format!("10.250.{third}.{}", n + 1), format!("host{n}")))
    };
    let mut all: Vec<(String, String)> = foreign(draw.foreign.0, 1)
        .chain(addresses.iter().cloned())
        .chain(foreign(draw.foreign.1, 2))
        .collect();
    if draw.odd == Odd::Ipv4LinkLocal
        && let Some((_, netdev)) = addresses.first()
    {
        all.insert(1, ("169.254.3.3".to_owned(), netdev.clone()));
    }
    let kinds: &[&str] = match draw.versions {
        0 => &["IB/RoCE v1", "RoCE v2"],
        1 => &["RoCE v2"],
        2 => &["IB/RoCE v1"],
        _ => &["RoCE v2", "IB/RoCE v1"],
    };
    let mut rows: Vec<DrawnRow> = all
        .iter()
        .flat_map(|(address, netdev)| {
            kinds
                .iter()
                .map(move |k| (Ok((*k).to_owned()), gid(address), Some(netdev.clone())))
        })
        .collect();
    let turn = usize::from(draw.turn) % rows.len().max(1);
    rows.rotate_left(turn);
    let at = usize::from(draw.at) % rows.len().max(1);
    if let Some(row) = rows.get(at).cloned() {
        match draw.odd {
            Odd::TypeInvalid => rows[at].0 = Err(22),
            Odd::TypeDenied => rows[at].0 = Err(13),
            Odd::TypeUnknown => rows[at].0 = Ok("RoCE v3".to_owned()),
            Odd::Twice => rows.push(row),
            _ => {}
        }
    }
    rows
}

/// Puts rows into a table with its holes.
fn table_of(draw: &TableDraw, rows: Vec<DrawnRow>) -> (u32, BTreeMap<u32, RowShape>) {
    let odd_at = usize::from(draw.at) % rows.len().max(1);
    let mut table = BTreeMap::new();
    let mut index = 0;
    for (n, (kind, gid, netdev)) in rows.into_iter().enumerate() {
        if draw.holes >> n.min(15) & 1 == 1 {
            index += 1;
        }
        let odd = if n == odd_at { draw.odd } else { Odd::Nothing };
        let ndev = match odd {
            Odd::NdevUnreadable => Err(22),
            Odd::NdevAbsent => Err(2),
            _ => netdev.ok_or(2),
        };
        let row = if odd == Odd::RowFails {
            RowShape::Fails(5)
        } else {
            RowShape::Holds { gid, kind, ndev }
        };
        table.insert(index, row);
        index += 1;
    }
    (index + 5, table)
}
