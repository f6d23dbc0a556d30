//! Nodes for the tables: ports and interfaces in a few words, with their roles given.

use crate::model::{LinkLayer, Node, PhysState, PortState, Route};
use crate::nccl::fixture::{absent, hca, interface, node, port};
use crate::roles::{Assigned, Decision, Fabric, Reason, Role};

/// A port: device, number, InfiniBand or not, ACTIVE or not.
pub(super) struct PortRow<'a> {
    pub(super) device: &'a str,
    pub(super) number: u32,
    pub(super) infiniband: bool,
    pub(super) active: bool,
}

/// A node of these ports, each device on a card of its own, with one interface `eth0`.
pub(super) fn ports_node(rows: &[PortRow], netdevs: &[(&str, &str)]) -> Node {
    let mut hcas = Vec::new();
    for row in rows {
        let layer = if row.infiniband {
            LinkLayer::InfiniBand
        } else {
            LinkLayer::Ethernet
        };
        let mut made = port(row.number, layer, &["0 fe80::1 v1", "1 ::ffff:10.0.0.1 v2"]);
        if !row.active {
            made.state = Ok(PortState::Down);
        }
        made.netdevs = netdevs
            .iter()
            .filter(|(_, device)| *device == row.device)
            .map(|(netdev, _)| (*netdev).to_owned())
            .collect();
        if hcas
            .last()
            .is_none_or(|h: &crate::model::Hca| h.name != row.device)
        {
            let bus = hcas.len() + 1;
            let path = format!("pci0000:00/0000:00:{bus:02x}.0/0000:{bus:02x}:00.0");
            let mut device = hca(row.device, Some(&path));
            device.ports = Ok(Vec::new());
            hcas.push(device);
        }
        if let Some(Ok(ports)) = hcas.last_mut().map(|h| &mut h.ports) {
            ports.push(made);
        }
    }
    let mut made = node(hcas, vec![interface("eth0", 2, &["10.1.0.5/24"])]);
    made.routes4 = Ok(vec![default_route("eth0")]);
    made
}

pub(super) fn default_route(interface: &str) -> Route {
    Route {
        interface: interface.to_owned(),
        destination: std::net::Ipv4Addr::UNSPECIFIED.into(),
        prefix: 0,
        gateway: Some(std::net::Ipv4Addr::new(10, 0, 0, 254).into()),
        metric: 0,
    }
}

/// Roles as a table gives them: data ports by name, down ones, another link layer, the host's own.
pub(super) fn roles(node: &Node, data: &[String]) -> Decision {
    let is_ib = |p: &crate::model::Port| p.link_layer == Ok(LinkLayer::InfiniBand);
    let data_ib = node
        .ports()
        .any(|(h, p)| is_ib(p) && data.contains(&format!("{}/{}", h.name, p.number)));
    let ports = node
        .ports()
        .map(|(h, p)| {
            let key = crate::model::PortKey {
                hca: h.name.clone(),
                port: p.number,
            };
            let (role, reason) = if data.contains(&key.to_string()) {
                (Role::Data, Reason::Chosen)
            } else if !p.is_active() {
                (
                    Role::Unusable,
                    Reason::Down(PortState::Down, Some(PhysState::Polling)),
                )
            } else if data_ib && !is_ib(p) {
                (Role::Other, Reason::OtherFabric(Fabric::InfiniBand))
            } else {
                (Role::Main, Reason::Main("eth0".into()))
            };
            Assigned {
                key,
                role,
                reason,
                fabric: Some(if is_ib(p) {
                    Fabric::InfiniBand
                } else {
                    Fabric::Roce
                }),
                gid: None,
                netdevs: std::collections::BTreeSet::new(),
                distances: Vec::new(),
                main_netdev: None,
            }
        })
        .collect();
    Decision {
        ports,
        refusal: None,
        fabric: Some(if data_ib {
            Fabric::InfiniBand
        } else {
            Fabric::Roce
        }),
    }
}

/// A node with one RoCE port and these interfaces (name, running, addresses), the last argument under the default route.
pub(super) fn interfaces_node(
    rows: &[(String, bool, Vec<String>)],
    wanted: &str,
) -> (Node, Decision) {
    let row = PortRow {
        device: "mlx5_0",
        number: 1,
        infiniband: false,
        active: true,
    };
    let mut made = ports_node(&[row], &[]);
    let interfaces = (1..)
        .zip(rows)
        .map(|(index, (name, running, addresses))| {
            let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
            let mut made = interface(name, index, &addresses);
            made.running = *running;
            made
        })
        .collect();
    made.interfaces = Ok(interfaces);
    made.routes4 = Ok(vec![default_route(wanted)]);
    made.netdevs = absent();
    let decision = roles(&made, &["mlx5_0/1".to_owned()]);
    (made, decision)
}
