//! Nodes for tests, described in a few words.

use super::{
    Address, Bdf, Gid, GidRow, GidTable, GidType, Hca, Interface, LinkLayer, Node, NodeType,
    PciFunction, PciPath, Port, PortState, Rate, Unread, Uverbs, Why,
};

/// A reading of a file that does not exist.
pub(crate) fn absent<T>() -> Result<T, Unread> {
    Err(Unread::new("", Why::Absent))
}

/// A GID by its text.
pub(crate) fn gid(text: &str) -> Gid {
    Gid(text.parse::<std::net::Ipv6Addr>().unwrap().octets())
}

/// A table of 16 rows from texts like `3 ::ffff:10.0.0.1 v2`; a kind of `?` is one that fails with EINVAL.
pub(crate) fn table(rows: &[&str]) -> GidTable {
    let row = |text: &&str| {
        let fields: Vec<_> = text.split(' ').collect();
        GidRow {
            index: fields[0].parse().unwrap(),
            gid: gid(fields[1]),
            kind: match fields[2] {
                "v1" => Ok(GidType::V1),
                "v2" => Ok(GidType::V2),
                "?" => Err(Unread::new("types", Why::Errno(22))),
                "!" => Err(Unread::new("types", Why::Denied)),
                other => Ok(GidType::Other(other.into())),
            },
            ndev: absent(),
        }
    };
    GidTable {
        rows: rows.iter().map(row).collect(),
        unread: Vec::new(),
        len: Some(16),
    }
}

/// An ACTIVE port of 100 Gb/s.
pub(crate) fn port(number: u32, link_layer: LinkLayer, rows: &[&str]) -> Port {
    Port {
        number,
        state: Ok(PortState::Active),
        phys_state: absent(),
        link_layer: Ok(link_layer),
        rate: Ok(Rate {
            mbps: 100_000,
            lanes: Some(4),
            generation: None,
        }),
        lid: absent(),
        sm_lid: absent(),
        gids: Ok(table(rows)),
        netdevs: Vec::new(),
    }
}

/// A PCI function by its path from the host bridge.
pub(crate) fn function(path: &str, numa_node: i32) -> PciFunction {
    let address = path.rsplit('/').next().unwrap();
    let fields: Vec<u32> = address
        .split([':', '.'])
        .map(|f| u32::from_str_radix(f, 16).unwrap())
        .collect();
    PciFunction {
        address: Bdf {
            domain: fields[0],
            bus: u8::try_from(fields[1]).unwrap(),
            device: u8::try_from(fields[2]).unwrap(),
            function: u8::try_from(fields[3]).unwrap(),
        },
        dir: format!("sys/devices/{path}"),
        path: PciPath(path.split('/').map(str::to_owned).collect()),
        vendor: absent(),
        device: absent(),
        class: absent(),
        numa_node: Ok(numa_node),
    }
}

/// A device with one RoCE port, on PCI where a path is given. Its uverbs number is what follows the last `_`.
pub(crate) fn hca(name: &str, path: Option<&str>) -> Hca {
    let number: u32 = name.rsplit('_').next().unwrap().parse().unwrap_or(0);
    let parent = path.map_or_else(
        || "sys/devices/virtual".to_owned(),
        |path| format!("sys/devices/{path}"),
    );
    Hca {
        name: name.into(),
        dir: format!("{parent}/infiniband/{name}"),
        node_type: Ok(NodeType::Ca),
        node_guid: absent(),
        sys_image_guid: Ok("same".into()),
        fw_ver: absent(),
        hca_type: absent(),
        board_id: absent(),
        pci: Ok(path.map(|path| function(path, 0))),
        driver: None,
        physfn: None,
        uverbs: Uverbs {
            number: Some(number),
            node_exists: Some(true),
        },
        ibdev_index: None,
        ports: Ok(vec![port(
            1,
            LinkLayer::Ethernet,
            &["0 fe80::1 v2", "1 ::ffff:10.0.0.1 v2"],
        )]),
    }
}

/// An interface that is up, with addresses like `10.0.0.1/24`.
pub(crate) fn interface(name: &str, ifindex: u32, addresses: &[&str]) -> Interface {
    let address = |text: &&str| {
        let (ip, prefix) = text.split_once('/').unwrap();
        Address {
            ip: ip.parse().unwrap(),
            prefix: prefix.parse().unwrap(),
            label: name.into(),
        }
    };
    Interface {
        name: name.into(),
        ifindex,
        up: true,
        running: true,
        loopback: name == "lo",
        addresses: addresses.iter().map(address).collect(),
    }
}

/// A node of these parts.
pub(crate) fn node(hcas: Vec<Hca>, interfaces: Vec<Interface>) -> Node {
    Node {
        hostname: absent(),
        hcas: Ok(hcas),
        netdevs: absent(),
        interfaces: Ok(interfaces),
        routes4: absent(),
        routes6: absent(),
        gpus: absent(),
        container: None,
        dev_infiniband: Ok(true),
    }
}
