//! Each rule of the roles by itself, on nodes described in a few words.

mod choice;
mod fabric;
mod gid;
mod main_port;
mod socket;
mod unusable;

use super::{Decision, Refusal, Rules, decide};
use crate::model::fixture::{absent, function, hca, interface, node, port};
use crate::model::{Gpu, GpuVendor, Hca, LinkLayer, Netdev, NetdevKind, Node, Port, Route, order};

/// Where a function sits: a slot of a switch. Slot 0 is the GPU's by convention; switches are on host bridges of their own.
fn at(switch: u8, slot: u8) -> String {
    let bus = |n: u8| format!("{:02x}", switch * 16 + n);
    format!(
        "pci0000:{0}/0000:{0}:01.0/0000:{1}:00.0/0000:{2}:{slot:02x}.0/0000:{3}:00.0",
        bus(0),
        bus(1),
        bus(2),
        bus(3 + slot)
    )
}

/// A node that is put together part by part.
struct Setup {
    node: Node,
}

impl Setup {
    fn new() -> Self {
        let mut node = node(Vec::new(), Vec::new());
        (node.netdevs, node.gpus) = (Ok(Vec::new()), Ok(Vec::new()));
        (node.routes4, node.routes6) = (Ok(Vec::new()), Ok(Vec::new()));
        Self { node }
    }

    /// The usual GPU node: `gpus` switches with a GPU and a RoCE device each, and `mlx5_0` under the default route.
    fn usual(gpus: u8) -> Self {
        let mut setup = Self::new().roce("mlx5_0", &at(15, 1), "eth0").route("eth0");
        for n in 1..=gpus {
            setup = setup
                .gpu(&at(n, 0))
                .roce(&format!("mlx5_{n}"), &at(n, 1), &format!("eth{n}"));
        }
        setup
    }

    fn gpu(mut self, path: &str) -> Self {
        let gpus = self.node.gpus.as_mut().unwrap();
        gpus.push(Gpu {
            index: u32::try_from(gpus.len()).unwrap(),
            pci: function(path, 0),
            vendor: GpuVendor::Nvidia,
            information: absent(),
        });
        self
    }

    fn device(mut self, device: Hca) -> Self {
        let hcas = self.node.hcas.as_mut().unwrap();
        hcas.push(device);
        hcas.sort_by(|a, b| order::natural(&a.name, &b.name));
        self
    }

    /// A RoCE device with a network device; its number N gives the address 10.N.0.1, which row 3 holds.
    fn roce(self, name: &str, path: &str, netdev: &str) -> Self {
        let mut device = hca(name, Some(path));
        let address = address_of(&device);
        device.ports = Ok(vec![Port {
            netdevs: vec![netdev.into()],
            ..port(1, LinkLayer::Ethernet, &[])
        }]);
        self.device(device)
            .netdev(netdev, NetdevKind::Physical, &[])
            .address(netdev, &[&format!("{address}/24")])
            .rows(
                name,
                &[
                    &format!("0 fe80::1 v1 {netdev}"),
                    &format!("1 fe80::1 v2 {netdev}"),
                    &format!("2 ::ffff:{address} v1 {netdev}"),
                    &format!("3 ::ffff:{address} v2 {netdev}"),
                ],
            )
    }

    /// An `InfiniBand` device with a LID.
    fn ib(self, name: &str, path: &str) -> Self {
        let mut device = hca(name, Some(path));
        device.ports = Ok(vec![Port {
            lid: Ok(7),
            ..port(1, LinkLayer::InfiniBand, &["0 fe80::7 v1"])
        }]);
        self.device(device)
    }

    /// A network device; `lowers` are the devices it sits on, which get it for their master where it is a bond or bridge.
    fn netdev(mut self, name: &str, kind: NetdevKind, lowers: &[&str]) -> Self {
        let netdevs = self.node.netdevs.as_mut().unwrap();
        if matches!(kind, NetdevKind::Bond | NetdevKind::Bridge) {
            for lower in netdevs.iter_mut().filter(|n| lowers.contains(&&*n.name)) {
                lower.master = Some(name.into());
            }
        }
        netdevs.push(Netdev {
            name: name.into(),
            dir: format!("sys/devices/virtual/net/{name}"),
            kind,
            ifindex: absent(),
            iflink: absent(),
            mtu: absent(),
            operstate: absent(),
            speed_mbps: absent(),
            dev_port: absent(),
            master: None,
            lowers: lowers.iter().map(|l| (*l).to_owned()).collect(),
            bond: None,
            pci: None,
        });
        self
    }

    /// An interface that is up; given anew, it replaces the old one.
    fn address(mut self, name: &str, addresses: &[&str]) -> Self {
        let interfaces = self.node.interfaces.as_mut().unwrap();
        interfaces.retain(|i| i.name != name);
        let index = u32::try_from(interfaces.len()).unwrap() + 1;
        interfaces.push(interface(name, index, addresses));
        self
    }

    /// Rows like `3 ::ffff:10.0.0.1 v2 eth0`; a network device of `!` is one that cannot be read.
    fn rows(self, name: &str, rows: &[&str]) -> Self {
        self.port(name, |p| {
            let short: Vec<&str> = rows.iter().map(|r| r.rsplit_once(' ').unwrap().0).collect();
            let mut table = crate::model::fixture::table(&short);
            for (row, text) in table.rows.iter_mut().zip(rows) {
                let netdev = text.rsplit_once(' ').unwrap().1;
                if netdev != "!" {
                    row.ndev = Ok(netdev.into());
                }
            }
            p.gids = Ok(table);
        })
    }

    fn route(mut self, interface: &str) -> Self {
        let metric = u32::try_from(self.node.routes4.as_ref().unwrap().len()).unwrap() + 100;
        let route = default_route(interface, "0.0.0.0", metric);
        self.node.routes4.as_mut().unwrap().push(route);
        self
    }

    fn hca(mut self, name: &str, change: impl FnOnce(&mut Hca)) -> Self {
        let hcas = self.node.hcas.as_mut().unwrap();
        change(hcas.iter_mut().find(|h| h.name == name).unwrap());
        self
    }

    /// Changes the first port of a device.
    fn port(self, name: &str, change: impl FnOnce(&mut Port)) -> Self {
        self.hca(name, |h| change(&mut h.ports.as_mut().unwrap()[0]))
    }

    fn rate(self, name: &str, mbps: u64) -> Self {
        self.port(name, |p| p.rate.as_mut().unwrap().mbps = mbps)
    }

    fn node(mut self, change: impl FnOnce(&mut Node)) -> Self {
        change(&mut self.node);
        self
    }

    fn decide(&self) -> Decision {
        decide(&self.node, &Rules::default())
    }

    /// Every port with its role and the word for the reason: `mlx5_0 main main, mlx5_1 data data`.
    fn roles_with(&self, rules: &Rules) -> String {
        words(&decide(&self.node, rules))
    }

    fn roles(&self) -> String {
        words(&self.decide())
    }

    /// The data ports' devices, with the port where it is not the first.
    fn data(&self) -> String {
        data(&self.decide())
    }

    fn data_with(&self, rules: &Rules) -> String {
        data(&decide(&self.node, rules))
    }
}

fn default_route(interface: &str, destination: &str, metric: u32) -> Route {
    Route {
        interface: interface.into(),
        destination: destination.parse().unwrap(),
        prefix: 0,
        gateway: None,
        metric,
    }
}

/// The address of a device by the number at the end of its name.
fn address_of(device: &Hca) -> String {
    format!("10.{}.0.1", device.uverbs.number.unwrap())
}

fn shown(key: &crate::model::PortKey) -> String {
    if key.port == 1 {
        key.hca.clone()
    } else {
        key.to_string()
    }
}

fn words(decision: &Decision) -> String {
    let ports: Vec<String> = decision
        .ports
        .iter()
        .map(|p| format!("{} {} {}", shown(&p.key), p.role.word(), p.reason.word()))
        .collect();
    ports.join(", ")
}

fn data(decision: &Decision) -> String {
    let names: Vec<String> = decision.data().map(|p| shown(&p.key)).collect();
    names.join(" ")
}

/// The broken ports that keep the main ones from being used.
fn broken(decision: &Decision) -> String {
    match &decision.refusal {
        Some(Refusal::BetterPortsBroken(keys)) => {
            keys.iter().map(shown).collect::<Vec<_>>().join(" ")
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn the_usual_node_uses_every_port_but_the_main_one() {
    let setup = Setup::usual(8);
    assert_eq!(
        setup.data(),
        "mlx5_1 mlx5_2 mlx5_3 mlx5_4 mlx5_5 mlx5_6 mlx5_7 mlx5_8"
    );
    assert!(setup.roles().starts_with("mlx5_0 main main, "));
    assert!(
        setup
            .decide()
            .data()
            .all(|p| p.gid.as_ref().unwrap().index == 3)
    );
}

#[test]
fn a_node_without_devices_has_nothing_usable() {
    let setup = Setup::new();
    assert_eq!(setup.roles(), "");
    assert_eq!(setup.decide().refusal, Some(Refusal::NothingUsable));
    let unlisted = Setup::new().node(|n| n.hcas = absent());
    assert_eq!(unlisted.decide().refusal, Some(Refusal::NothingUsable));
}

#[test]
fn a_device_whose_ports_cannot_be_listed_hides_no_other() {
    let setup = Setup::usual(2).hca("mlx5_1", |h| h.ports = absent());
    assert_eq!(setup.data(), "mlx5_2");
}
