//! The model against records of NCCL itself: every release on every recorded node, field by field.
//!
//! The records lie beside the project, not in it; without them the test says so and passes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::interface::{Bootstrap, SocketInterface};
use super::oracle_records::{NodeRecord, Run, lines, records};
use super::predict::{PredictedDevice, Prediction, predict};
use super::release::Release;
use crate::model::Node;

/// An address as the records write it: link-local ones with their interface.
fn address(interface: &SocketInterface) -> String {
    match interface.ip {
        std::net::IpAddr::V6(ip) if ip.is_unicast_link_local() => {
            format!("{ip}%{}", interface.name)
        }
        ip => ip.to_string(),
    }
}

fn device_field(device: &PredictedDevice, field: &str) -> Value {
    match field {
        "name" => json!(device.key.hca),
        "port" => json!(device.key.port),
        "speed" => json!(device.speed_mbps),
        "link" => json!(device.link.word()),
        "gid" => json!(device.gid.index),
        "gid_result" => json!(device.gid.result.number()),
        "gid_value" => json!(device.gid.value.map(|g| g.to_string())),
        "real_port" => json!(device.real_port),
        other => panic!("no field {other}"),
    }
}

/// The model's answer to one field of a record, in the record's form.
fn predicted(prediction: &Prediction, field: &str) -> Value {
    if let Some(of) = field.strip_prefix("devs.") {
        return prediction
            .devices
            .iter()
            .map(|d| device_field(d, of))
            .collect();
    }
    match field {
        "init" => json!(prediction.init.number()),
        "ib_usable" => json!(prediction.ib_usable),
        "merged" => prediction
            .merged
            .iter()
            .map(|m| json!({"name": m.name, "speed": m.speed_mbps, "devs": m.members}))
            .collect(),
        "topo_result" => json!(prediction.topo_result.number()),
        "bootstrap" => match &prediction.bootstrap {
            Bootstrap::Interface(i) => json!({"result": 0, "name": i.name, "addr": address(i)}),
            Bootstrap::Failed(code) => json!({"result": code.number()}),
            Bootstrap::Unknown => Value::Null,
        },
        "ifs" => prediction
            .interfaces
            .iter()
            .map(|i| json!(i.name))
            .collect(),
        "ifs_addrs" => prediction
            .interfaces
            .iter()
            .map(|i| json!(address(i)))
            .collect(),
        "crash" => json!(prediction.crash.map(|_| "SIGSEGV")),
        other => panic!("no field {other}"),
    }
}

/// A record's answer to one field; what a record leaves out is its usual value.
fn recorded(result: &Value, field: &str) -> Value {
    if let Some(of) = field.strip_prefix("devs.") {
        let usual = if of == "real_port" {
            json!(0)
        } else {
            Value::Null
        };
        let devices = result["devs"].as_array().unwrap();
        return devices
            .iter()
            .map(|d| match d.get(of) {
                Some(Value::String(gid)) if of == "gid_value" => {
                    json!(gid.parse::<std::net::Ipv6Addr>().unwrap().to_string())
                }
                Some(value) => value.clone(),
                None => usual.clone(),
            })
            .collect();
    }
    match (field, result.get(field)) {
        (_, Some(value)) => value.clone(),
        ("merged", None) => json!([]),
        ("topo_result", None) => json!(0),
        (_, None) => Value::Null,
    }
}

/// Takes the interface off every link-local address.
fn strip_scopes(value: &mut Value) {
    match value {
        Value::String(text) => text.truncate(text.find('%').unwrap_or(text.len())),
        Value::Array(values) => values.iter_mut().for_each(strip_scopes),
        Value::Object(values) => values.values_mut().for_each(strip_scopes),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

const FIELDS: &[&str] = &[
    "crash",
    "init",
    "ib_usable",
    "devs.name",
    "devs.port",
    "devs.speed",
    "devs.link",
    "devs.gid",
    "devs.gid_result",
    "devs.gid_value",
    "devs.real_port",
    "merged",
    "topo_result",
    "bootstrap",
    "ifs",
    "ifs_addrs",
];

/// Agreement and number of answers, by release and field.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<(Release, usize), (usize, usize)>,
    results: BTreeMap<Release, (usize, usize)>,
    differences: Vec<String>,
    /// Results that the model does not call guaranteed.
    unsure: usize,
}

impl Tally {
    fn compare(&mut self, run: &Run, node: &Node, text: &str) {
        let release: Release = text.parse().unwrap();
        let result = run.result(text);
        let prediction = predict(node, &run.settings(release), release);
        let died = result.get("crash").is_some();
        let fields = if died { &FIELDS[..1] } else { FIELDS };
        let mut all = true;
        for (index, field) in fields.iter().enumerate() {
            let (mut ours, mut theirs) = (predicted(&prediction, field), recorded(result, field));
            if run.topology.starts_with("syn-") {
                // The name after the percent sign is that of the recording machine's interface with this index.
                strip_scopes(&mut ours);
                strip_scopes(&mut theirs);
            }
            let same = ours == theirs;
            let count = self.counts.entry((release, index)).or_default();
            count.0 += usize::from(same);
            count.1 += 1;
            all &= same;
            if !same {
                self.differences.push(format!(
                    "{release} {}/{} {:?} {:?}\n  {field}: model {ours}, record {theirs}",
                    run.topology, run.netns, run.env, run.conf
                ));
            }
        }
        let count = self.results.entry(release).or_default();
        count.0 += usize::from(all);
        count.1 += 1;
        self.unsure += usize::from(prediction.devices.iter().any(|d| !d.gid.guaranteed));
    }

    fn report(&self) -> String {
        let mut text = String::new();
        for (release, (agree, all)) in &self.results {
            let _ = write!(text, "{release}: {agree} / {all} results;");
            for (index, field) in FIELDS.iter().enumerate() {
                let (agree, all) = self.counts[&(*release, index)];
                let _ = write!(text, " {field} {agree}/{all}");
            }
            text.push('\n');
        }
        let _ = writeln!(
            text,
            "{} results rest on something that is not certain",
            self.unsure
        );
        text
    }
}

#[test]
fn the_model_does_what_nccl_did() {
    let mut tally = Tally::default();
    for (nodes, runs) in [
        ("nodes.jsonl", "runs.jsonl"),
        ("synthetic-nodes.jsonl", "synthetic.jsonl"),
    ] {
        let (Some(nodes), Some(runs)) = (records(nodes), records(runs)) else {
            println!("skipped: no records in ../shared/oracle beside the project");
            return;
        };
        let nodes: BTreeMap<(String, String), Node> = lines::<NodeRecord>(&nodes)
            .into_iter()
            .map(|r| ((r.topology.clone(), r.netns.clone()), r.to_node()))
            .collect();
        for run in lines::<Run>(&runs) {
            let node = &nodes[&(run.topology.clone(), run.netns.clone())];
            for release in run.results.keys() {
                tally.compare(&run, node, release);
            }
        }
    }
    println!("{}", tally.report());
    let shown: Vec<_> = tally.differences.iter().take(20).cloned().collect();
    assert!(
        tally.differences.is_empty(),
        "{} differences:\n{}",
        tally.differences.len(),
        shown.join("\n")
    );
}
