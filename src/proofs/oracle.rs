//! The records of NCCL itself, each node laid out as files and read by the real readers.
//!
//! The records lie beside the project, not in it; without them the tests say so and pass.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::Value;

use super::planning;
use super::shape::{FunctionShape, HcaShape, NetdevShape, PortShape, RowShape, Shape};
use crate::model::{NetdevKind, Node};
use crate::nccl::oracle_records::{Run, lines, records};
use crate::nccl::predict::{Prediction, predict};
use crate::nccl::release::Release;
use crate::roles::{Rules, decide};
use crate::sys::{Root, Scope, read_node};

/// The releases that were recorded.
const RECORDED: [&str; 5] = ["2.18.5", "2.21.5", "2.23.4", "2.27.7", "2.30.7"];

#[derive(Deserialize)]
struct Record {
    topology: String,
    netns: String,
    node: Description,
}

#[derive(Deserialize)]
struct Description {
    hcas: Vec<HcaRecord>,
    netdevs: Vec<NetdevRecord>,
    #[serde(default)]
    gpus: Vec<FunctionRecord>,
    #[serde(default)]
    routes: Vec<RouteRecord>,
}

#[derive(Deserialize)]
struct RouteRecord {
    dst: String,
    dev: String,
    #[serde(default)]
    metric: u32,
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
struct HcaRecord {
    name: String,
    #[serde(flatten)]
    function: FunctionRecord,
    sys_image_guid: String,
    uverbs_index: u32,
    ibdev_order: u32,
    rxe_netdev: Option<String>,
    ports: BTreeMap<u32, PortRecord>,
}

#[derive(Deserialize)]
struct PortRecord {
    state: String,
    rate: String,
    link_layer: String,
    lid: Option<String>,
    gid_table_len: u32,
    gids: Vec<Vec<Value>>,
}

#[derive(Deserialize)]
struct NetdevRecord {
    name: String,
    ifindex: u32,
    ipflags: Vec<String>,
    addrs: Vec<String>,
    kind: Option<String>,
    hca: Option<String>,
    #[serde(default)]
    dev_port: u32,
    #[serde(default)]
    lower: Vec<String>,
    master: Option<String>,
}

impl FunctionRecord {
    fn shape(&self, vendor: u16, device: u16) -> Option<FunctionShape> {
        let address = self.pci.as_ref()?;
        let mut path = self.parents.clone();
        path.push(address.clone());
        Some(FunctionShape {
            path: path.join("/"),
            vendor,
            device,
            numa_node: self.numa_node,
        })
    }
}

impl PortRecord {
    fn shape(&self, soft: bool) -> PortShape {
        let row = |row: &Vec<Value>| {
            let text = |i: usize| row.get(i).and_then(Value::as_str).map(str::to_owned);
            let kind = match text(2).unwrap().as_str() {
                "v1" | "ib" => "IB/RoCE v1".to_owned(),
                "v2" => "RoCE v2".to_owned(),
                other => other.to_owned(),
            };
            let index = u32::try_from(row[0].as_u64().unwrap()).unwrap();
            let holds = RowShape::Holds {
                gid: text(1).unwrap().parse().unwrap(),
                kind: Ok(kind),
                ndev: text(3).ok_or(2),
            };
            (index, holds)
        };
        PortShape {
            state: self.state.clone(),
            link_layer: self.link_layer.clone(),
            rate: Some(self.rate.clone()),
            lid: self.lid.as_ref().map_or(7, |l| {
                u32::from_str_radix(l.trim_start_matches("0x"), 16).unwrap()
            }),
            // The kernel's Soft-RoCE table has 1024 rows, whatever the record shortens it to.
            len: if soft { 1024 } else { self.gid_table_len },
            rows: self.gids.iter().map(row).collect(),
        }
    }
}

impl Record {
    fn shape(&self) -> Shape {
        let hcas: Vec<HcaShape> = self
            .node
            .hcas
            .iter()
            .map(|h| HcaShape {
                name: h.name.clone(),
                function: h.function.shape(0x15b3, 0x1021),
                physfn: None,
                node_type: "1: CA",
                driver: "mlx5_core",
                sys_image_guid: h.sys_image_guid.clone(),
                uverbs: Some(h.uverbs_index),
                uverbs_node: true,
                ibdev_index: h.ibdev_order,
                parent: h.rxe_netdev.clone(),
                ports: h
                    .ports
                    .iter()
                    .map(|(n, p)| (*n, p.shape(h.rxe_netdev.is_some())))
                    .collect(),
            })
            .collect();
        let path_of = |name: &String| {
            let hca = hcas.iter().find(|h| h.name == *name)?;
            Some(hca.function.as_ref()?.path.clone())
        };
        let netdevs = self
            .node
            .netdevs
            .iter()
            .map(|n| n.shape(&path_of))
            .collect();
        let routes = |text: &str| -> Vec<(String, u32)> {
            let wanted = self.node.routes.iter().filter(|r| r.dst == text);
            wanted.map(|r| (r.dev.clone(), r.metric)).collect()
        };
        Shape {
            routes4: routes("default"),
            routes6: routes("default6"),
            netdevs,
            gpus: self
                .node
                .gpus
                .iter()
                .filter_map(|g| g.shape(0x10de, 0x2330))
                .collect(),
            dev_infiniband: true,
            order_known: true,
            env: BTreeMap::from([("HOME".to_owned(), "/root".to_owned())]),
            hcas,
            ..Shape::default()
        }
    }
}

impl NetdevRecord {
    fn shape(&self, path_of: &dyn Fn(&String) -> Option<String>) -> NetdevShape {
        let flag = |name: &str| self.ipflags.iter().any(|f| f == name);
        let function = self.hca.as_ref().and_then(path_of);
        let addresses = self.addrs.iter().map(|text| {
            let (ip, prefix) = text.split_once('/').unwrap();
            (ip.parse().unwrap(), prefix.parse().unwrap())
        });
        NetdevShape {
            name: self.name.clone(),
            ifindex: self.ifindex,
            kind: match self.kind.as_deref() {
                Some("bond") => NetdevKind::Bond,
                Some("bridge") => NetdevKind::Bridge,
                Some("vlan") => NetdevKind::Vlan,
                Some("macvlan") => NetdevKind::Macvlan,
                Some("ipvlan") => NetdevKind::Ipvlan,
                _ if function.is_some() => NetdevKind::Physical,
                _ => NetdevKind::Virtual,
            },
            function,
            dev_port: self.dev_port,
            lowers: self.lower.clone(),
            master: self.master.clone(),
            addresses: addresses.collect(),
            up: flag("UP"),
            running: flag("UP") && !flag("NO-CARRIER"),
            loopback: flag("LOOPBACK"),
        }
    }
}

const FILES: [(&str, &str); 2] = [
    ("nodes.jsonl", "runs.jsonl"),
    ("synthetic-nodes.jsonl", "synthetic.jsonl"),
];

/// The recorded nodes by topology and namespace, and the runs on them.
type Nodes = BTreeMap<(String, String), (Shape, Node)>;

/// Everything that is recorded, read once for all tests; `None` where there are no records.
fn recorded() -> Option<&'static (Nodes, Vec<Run>)> {
    static RECORDED: OnceLock<Option<(Nodes, Vec<Run>)>> = OnceLock::new();
    RECORDED.get_or_init(read_records).as_ref()
}

fn read_records() -> Option<(Nodes, Vec<Run>)> {
    let (mut nodes, mut runs) = (Nodes::new(), Vec::new());
    for (node_file, run_file) in FILES {
        let (Some(node_text), Some(run_text)) = (records(node_file), records(run_file)) else {
            println!("skipped: no records in ../shared/oracle beside the project");
            return None;
        };
        for record in lines::<Record>(&node_text) {
            let shape = record.shape();
            let node = read_node(&Root::tree(shape.tree(), ""), Scope::FULL);
            nodes.insert((record.topology, record.netns), (shape, node));
        }
        runs.extend(lines::<Run>(&run_text));
    }
    Some((nodes, runs))
}

/// A device as both sides write it: name and port, GID index, result of choosing it.
fn devices_of_record(result: &Value) -> Vec<String> {
    let devices = result["devs"].as_array().unwrap().iter();
    devices
        .map(|d| {
            let name = d["name"].as_str().unwrap();
            let result = d.get("gid_result").cloned().unwrap_or_else(|| 0.into());
            format!("{name}:{} {} {result}", d["port"], d["gid"])
        })
        .collect()
}

fn devices_of_model(prediction: &Prediction) -> Vec<String> {
    let devices = prediction.devices.iter();
    devices
        .map(|d| {
            let gid = d.gid.index.map_or_else(|| "null".into(), |i| i.to_string());
            format!(
                "{}:{} {gid} {}",
                d.key.hca,
                d.key.port,
                d.gid.result.number()
            )
        })
        .collect()
}

/// What differs between a record and the model.
fn difference(result: &Value, prediction: &Prediction) -> Option<String> {
    if result.get("crash").is_some() || prediction.crash.is_some() {
        let same = result.get("crash").is_some() == prediction.crash.is_some();
        return (!same).then(|| format!("crash: model {:?}, record {result}", prediction.crash));
    }
    let (mut ours, mut theirs) = (devices_of_model(prediction), devices_of_record(result));
    if !prediction.order_is_certain {
        ours.sort();
        theirs.sort();
    }
    if ours != theirs {
        return Some(format!("devices: model {ours:?}, record {theirs:?}"));
    }
    let ours: Vec<&str> = prediction
        .interfaces
        .iter()
        .map(|i| i.name.as_str())
        .collect();
    let theirs: Vec<&str> = result["ifs"]
        .as_array()
        .map(|a| a.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    (ours != theirs).then(|| format!("interfaces: model {ours:?}, record {theirs:?}"))
}

/// A count of agreement for each release, and what differs.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<String, (usize, usize)>,
    differences: Vec<String>,
}

impl Tally {
    fn add(&mut self, release: &str, difference: Option<String>) {
        let count = self.counts.entry(release.to_owned()).or_default();
        count.0 += usize::from(difference.is_none());
        count.1 += 1;
        self.differences.extend(difference);
    }

    fn check(&self) {
        for (release, (agree, all)) in &self.counts {
            println!("{release}: {agree} / {all}");
        }
        assert!(
            self.differences.is_empty(),
            "{} differences:\n{}",
            self.differences.len(),
            self.differences[..self.differences.len().min(20)].join("\n")
        );
    }
}

#[test]
fn the_model_on_nodes_as_read_does_what_nccl_did() {
    let Some((nodes, runs)) = recorded() else {
        return;
    };
    let mut tally = Tally::default();
    for run in runs {
        let (_, node) = &nodes[&(run.topology.clone(), run.netns.clone())];
        for text in run.results.keys() {
            let release: Release = text.parse().unwrap();
            let prediction = predict(node, &run.settings(release), release);
            let difference = difference(run.result(text), &prediction)
                .map(|d| format!("{text} {}/{} {:?}: {d}", run.topology, run.netns, run.env));
            tally.add(text, difference);
        }
    }
    tally.check();
}

/// Where there is a plan for a recorded node, the model uses exactly what it intends.
#[test]
fn plans_for_recorded_nodes_are_proved() {
    let Some((nodes, _)) = recorded() else {
        return;
    };
    let mut tally = Tally::default();
    let mut without: BTreeMap<&str, BTreeMap<String, usize>> = BTreeMap::new();
    for ((topology, netns), (shape, node)) in nodes {
        let decision = decide(node, &Rules::default());
        for text in RECORDED {
            let release: Release = text.parse().unwrap();
            match planning::plan(shape, node, &decision, &[release]) {
                Ok(plan) => {
                    let proof = planning::prove(shape, node, &decision, &plan, release);
                    let difference = proof
                        .err()
                        .map(|e| format!("{text} {topology}/{netns}: {e}"));
                    tally.add(text, difference);
                }
                Err(error) => {
                    let kind = format!("{error:?}");
                    let kind = kind.split([' ', '{']).next().unwrap().to_owned();
                    *without.entry(text).or_default().entry(kind).or_default() += 1;
                }
            }
        }
    }
    println!("without a plan: {without:?}");
    assert!(
        !without
            .values()
            .any(|kinds| kinds.contains_key("NotProved"))
    );
    tally.check();
}
