//! What `lint --format json` says NCCL would do, against records of NCCL itself: every release on every recorded node.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::lint::{Analysis, Sources};
use crate::model::Node;
use crate::nccl::oracle_records::{NodeRecord, Run, lines, records};
use crate::nccl::release::Release;
use crate::report::lint::prediction_json;
use crate::roles::{Rules, decide};

/// The record's environment and files as sources.
fn sources(run: &Run) -> Sources {
    let mut environment = run.env.clone();
    environment
        .entry("HOME".into())
        .or_insert_with(|| "/root".into());
    let mut sources = Sources {
        environment,
        home: Some("/root".into()),
        ..Sources::default()
    };
    for (path, text) in &run.conf {
        sources
            .files
            .insert(path.replacen('~', "/root", 1), text.clone());
    }
    sources
}

/// Ports, GIDs and interfaces of one answer, in the records' form.
fn ours(answer: &Value) -> Value {
    let devices = answer["devices"].as_array().unwrap().iter();
    let interfaces = answer["interfaces"].as_array().unwrap().iter();
    json!({
        "ib_usable": answer["ib_usable"],
        "devs": devices
            .map(|d| json!([d["name"], d["port"], d["link"], d["gid_index"], d["gid"]]))
            .collect::<Vec<_>>(),
        "ifs": interfaces.map(|i| i["name"].clone()).collect::<Vec<_>>(),
        "bootstrap": answer["bootstrap"]["interface"]["name"],
    })
}

fn theirs(result: &Value) -> Value {
    let devices = result["devs"].as_array().unwrap().iter();
    let gid = |d: &Value| match d.get("gid_value") {
        Some(Value::String(text)) => {
            json!(text.parse::<std::net::Ipv6Addr>().unwrap().to_string())
        }
        _ => Value::Null,
    };
    json!({
        "ib_usable": result["ib_usable"],
        "devs": devices
            .map(|d| json!([d["name"], d["port"], d["link"], d["gid"], gid(d)]))
            .collect::<Vec<_>>(),
        "ifs": result["ifs"],
        "bootstrap": result["bootstrap"]["name"],
    })
}

#[test]
fn json_says_what_nccl_did() {
    let mut counts: BTreeMap<Release, (usize, usize)> = BTreeMap::new();
    let mut differences = Vec::new();
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
            let rules = Rules::default();
            let decision = decide(node, &rules);
            let sources = sources(&run);
            let releases: Vec<Release> = run.results.keys().map(|r| r.parse().unwrap()).collect();
            let analysis = Analysis::predict_only(node, &decision, &sources, &releases);
            for judged in &analysis.judged {
                let result = run.result(&judged.release.to_string());
                let answer = serde_json::to_value(prediction_json(&analysis, judged)).unwrap();
                let same = if result.get("crash").is_some() {
                    !answer["crash"].is_null()
                } else {
                    answer["crash"].is_null() && ours(&answer) == theirs(result)
                };
                let count = counts.entry(judged.release).or_default();
                count.0 += usize::from(same);
                count.1 += 1;
                if !same {
                    differences.push(format!("{} {}/{}", judged.release, run.topology, run.netns));
                }
            }
        }
    }
    for (release, (agree, all)) in &counts {
        println!("{release}: {agree} / {all}");
    }
    assert!(
        differences.is_empty(),
        "{:?}",
        differences.iter().take(20).collect::<Vec<_>>()
    );
}
