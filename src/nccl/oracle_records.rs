//! Records of NCCL itself: their form, and a node of the model for each node in them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::config::{ConfigFile, Settings, candidates};
use super::fixture::absent;
use super::release::Release;
use crate::model::{
    Address, Bdf, Gid, GidRow, GidTable, GidType, Gpu, GpuVendor, Hca, Interface, LinkLayer, Node,
    NodeType, PciFunction, PciPath, Port, PortState, Rate, Uverbs, order,
};

/// A node as the records describe it.
#[derive(Deserialize)]
pub(crate) struct NodeRecord {
    pub(crate) topology: String,
    pub(crate) netns: String,
    node: Description,
}

#[derive(Deserialize)]
struct Description {
    hcas: Vec<HcaRecord>,
    netdevs: Vec<NetdevRecord>,
    #[serde(default)]
    gpus: Vec<FunctionRecord>,
}

#[derive(Deserialize)]
struct HcaRecord {
    name: String,
    #[serde(flatten)]
    function: FunctionRecord,
    sys_image_guid: String,
    uverbs_index: u32,
    ibdev_order: u32,
    /// Only Soft-RoCE devices have it.
    rxe_netdev: Option<String>,
    ports: BTreeMap<u32, PortRecord>,
}

#[derive(Deserialize)]
struct FunctionRecord {
    pci: Option<String>,
    #[serde(default)]
    parents: Vec<String>,
    #[serde(default)]
    numa_node: i32,
}

#[derive(Deserialize)]
struct PortRecord {
    state: String,
    rate: String,
    link_layer: String,
    gid_table_len: u32,
    gids: Vec<Vec<Value>>,
}

#[derive(Deserialize)]
struct NetdevRecord {
    name: String,
    ifindex: u32,
    ipflags: Vec<String>,
    addrs: Vec<String>,
}

/// What the releases did with a node in one environment.
#[derive(Deserialize)]
pub(crate) struct Run {
    pub(crate) topology: String,
    pub(crate) netns: String,
    pub(crate) env: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) conf: BTreeMap<String, String>,
    pub(crate) results: BTreeMap<String, Value>,
}

impl Run {
    /// The result of a release, following references to other releases.
    pub(crate) fn result(&self, release: &str) -> &Value {
        match &self.results[release] {
            Value::String(other) => self.result(other),
            result => result,
        }
    }

    pub(crate) fn settings(&self, release: Release) -> Settings {
        let mut environment = self.env.clone();
        environment
            .entry("HOME".into())
            .or_insert_with(|| "/root".into());
        let files: BTreeMap<String, &String> = self
            .conf
            .iter()
            .map(|(path, text)| (path.replacen('~', "/root", 1), text))
            .collect();
        let read: Vec<ConfigFile> = candidates(&environment, Some("/root"), release)
            .into_iter()
            .filter_map(|path| {
                let text = (*files.get(&path)?).clone();
                Some(ConfigFile { path, text })
            })
            .collect();
        Settings::resolve(&environment, &read, release)
    }
}

fn pci_function(record: &FunctionRecord) -> Option<PciFunction> {
    let address = record.pci.clone()?;
    let fields: Vec<u32> = address
        .split([':', '.'])
        .map(|f| u32::from_str_radix(f, 16).unwrap())
        .collect();
    let mut path = record.parents.clone();
    path.push(address);
    Some(PciFunction {
        address: Bdf {
            domain: fields[0],
            bus: u8::try_from(fields[1]).unwrap(),
            device: u8::try_from(fields[2]).unwrap(),
            function: u8::try_from(fields[3]).unwrap(),
        },
        dir: format!("sys/devices/{}", path.join("/")),
        path: PciPath(path),
        vendor: absent(),
        device: absent(),
        class: absent(),
        numa_node: Ok(record.numa_node),
    })
}

fn gid_row(row: &[Value]) -> GidRow {
    GidRow {
        index: u32::try_from(row[0].as_u64().unwrap()).unwrap(),
        gid: Gid(row[1]
            .as_str()
            .unwrap()
            .parse::<std::net::Ipv6Addr>()
            .unwrap()
            .octets()),
        kind: Ok(match row[2].as_str().unwrap() {
            "v1" | "ib" => GidType::V1,
            "v2" => GidType::V2,
            other => GidType::Other(other.into()),
        }),
        ndev: absent(),
    }
}

fn port(number: u32, record: &PortRecord, soft: bool) -> Port {
    // The kernel's Soft-RoCE table has 1024 rows; the records shorten it to what a hardware table has.
    let len = if soft { 1024 } else { record.gid_table_len };
    // 2.5 Gb/sec is the only rate with a fraction.
    let gbps = record.rate.split(' ').next().unwrap();
    let mbps = gbps.strip_suffix(".5").map_or_else(
        || gbps.parse::<u64>().unwrap() * 1000,
        |whole| whole.parse::<u64>().unwrap() * 1000 + 500,
    );
    Port {
        number,
        state: Ok(if record.state.starts_with('4') {
            PortState::Active
        } else {
            PortState::Down
        }),
        phys_state: absent(),
        link_layer: Ok(match record.link_layer.as_str() {
            "InfiniBand" => LinkLayer::InfiniBand,
            "Ethernet" => LinkLayer::Ethernet,
            other => LinkLayer::Other(other.into()),
        }),
        rate: Ok(Rate {
            mbps,
            lanes: None,
            generation: None,
        }),
        lid: absent(),
        sm_lid: absent(),
        gids: Ok(GidTable {
            rows: record.gids.iter().map(|r| gid_row(r)).collect(),
            unread: Vec::new(),
            len: Some(len),
        }),
        netdevs: Vec::new(),
    }
}

fn hca(record: &HcaRecord) -> Hca {
    let pci = pci_function(&record.function);
    let parent = pci
        .as_ref()
        .map_or("sys/devices/virtual", |p| p.dir.as_str());
    Hca {
        name: record.name.clone(),
        dir: format!("{parent}/infiniband/{}", record.name),
        node_type: Ok(NodeType::Ca),
        node_guid: absent(),
        sys_image_guid: Ok(record.sys_image_guid.clone()),
        fw_ver: absent(),
        hca_type: absent(),
        board_id: absent(),
        pci: Ok(pci),
        driver: None,
        physfn: None,
        uverbs: Uverbs {
            number: Some(record.uverbs_index),
            node_exists: Some(true),
        },
        ibdev_index: Some(record.ibdev_order),
        ports: Ok(record
            .ports
            .iter()
            .map(|(n, p)| port(*n, p, record.rxe_netdev.is_some()))
            .collect()),
    }
}

fn interface(record: &NetdevRecord) -> Interface {
    let flag = |name: &str| record.ipflags.iter().any(|f| f == name);
    let addresses = record.addrs.iter().map(|text| {
        let (ip, prefix) = text.split_once('/').unwrap();
        Address {
            ip: ip.parse().unwrap(),
            prefix: prefix.parse().unwrap(),
            label: record.name.clone(),
        }
    });
    Interface {
        name: record.name.clone(),
        ifindex: record.ifindex,
        up: flag("UP"),
        running: flag("UP") && !flag("NO-CARRIER"),
        loopback: flag("LOOPBACK"),
        addresses: addresses.collect(),
    }
}

impl NodeRecord {
    /// The node of the model.
    pub(crate) fn to_node(&self) -> Node {
        let description = &self.node;
        let mut hcas: Vec<Hca> = description.hcas.iter().map(hca).collect();
        hcas.sort_by(|a, b| order::natural(&a.name, &b.name));
        let gpus = description
            .gpus
            .iter()
            .enumerate()
            .map(|(index, record)| Gpu {
                index: u32::try_from(index).unwrap(),
                pci: pci_function(record).unwrap(),
                vendor: GpuVendor::Nvidia,
                information: absent(),
            });
        Node {
            hostname: absent(),
            hcas: Ok(hcas),
            netdevs: absent(),
            interfaces: Ok(description.netdevs.iter().map(interface).collect()),
            routes4: absent(),
            routes6: absent(),
            gpus: Ok(gpus.collect()),
            container: None,
            dev_infiniband: Ok(true),
        }
    }
}

/// Reads a file of one record a line.
pub(crate) fn lines<T: for<'de> Deserialize<'de>>(text: &str) -> Vec<T> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The text of a file of records, when it is there.
#[expect(
    clippy::disallowed_methods,
    reason = "a test reads records that are no part of any node"
)]
pub(crate) fn records(name: &str) -> Option<String> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../shared/oracle", name]
        .iter()
        .collect();
    std::fs::read_to_string(path).ok()
}
