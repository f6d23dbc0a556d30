//! Values that people write, and what NCCL and `lint` make of them. The long tables lie beside the project, not in it;
//! without them these tests say so and pass. A short one of our own is here.

use serde_json::Value;

use super::table::{PortRow, interfaces_node, ports_node, roles};
use super::{findings, sources};
use crate::checks::Severity;
use crate::model::Node;
use crate::nccl::number::param;
use crate::nccl::predict::predict;
use crate::nccl::release::{KNOWN, Release};
use crate::roles::Decision;

const HCA: &str = "NCCL_IB_HCA";
const IFNAME: &str = "NCCL_SOCKET_IFNAME";

#[expect(
    clippy::disallowed_methods,
    reason = "a test reads a table that is no part of any node"
)]
fn case(name: &str) -> Option<Value> {
    let path: std::path::PathBuf = [env!("CARGO_MANIFEST_DIR"), "../shared/cases", name]
        .iter()
        .collect();
    let text = std::fs::read_to_string(path).ok();
    if text.is_none() {
        println!("skipped: no tables in ../shared/cases beside the project");
    }
    text.map(|t| serde_json::from_str(&t).unwrap())
}

fn texts(value: &Value) -> Vec<String> {
    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter()
        .map(|v| v.as_str().unwrap().to_owned())
        .collect()
}

fn interface_rows(value: &Value) -> Vec<(String, bool, Vec<String>)> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let name = row[0].as_str().unwrap().to_owned();
            (name, row[1].as_bool().unwrap(), texts(&row[2]))
        })
        .collect()
}

/// The node and roles of a named set.
fn set(set: &Value) -> (Node, Decision) {
    if let Some(ports) = set["ports"].as_array() {
        let rows: Vec<PortRow> = ports
            .iter()
            .map(|p| PortRow {
                device: p[0].as_str().unwrap(),
                number: u32::try_from(p[1].as_u64().unwrap()).unwrap(),
                infiniband: p[2] == "IB",
                active: p[3] == "ACTIVE",
            })
            .collect();
        let netdevs: Vec<(&str, &str)> = set["netdevs"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(netdev, device)| (netdev.as_str(), device.as_str().unwrap()))
            .collect();
        let node = ports_node(&rows, &netdevs);
        let decision = roles(&node, &texts(&set["data"]));
        return (node, decision);
    }
    interfaces_node(&interface_rows(&set["ifs"]), set["want"].as_str().unwrap())
}

/// The worst that is found about a variable.
fn worst(
    node: &Node,
    decision: &Decision,
    env: &[(String, String)],
    about: &str,
    release: Release,
) -> Option<&'static str> {
    let found = findings(node, decision, &sources(env.iter().cloned()), &[release]);
    let concerns = |id: &str, subject: &str| {
        subject == about || about == IFNAME && id.starts_with("env.interface-")
    };
    found
        .iter()
        .filter(|(id, f)| concerns(id, &f.subject) && *id != "env.not-as-chosen")
        .map(|(_, f)| f.severity)
        .max()
        .map(Severity::word)
}

/// What a release takes.
fn selected(node: &Node, name: &str, env: &[(String, String)], release: Release) -> Vec<String> {
    let settings = sources(env.iter().cloned()).settings(release);
    let prediction = predict(node, &settings, release);
    if name == HCA {
        prediction
            .devices
            .iter()
            .map(|d| d.key.to_string())
            .collect()
    } else {
        prediction
            .interfaces
            .iter()
            .map(|i| i.name.clone())
            .collect()
    }
}

/// The newest known release before another.
fn before(text: &str) -> Release {
    let release: Release = text.parse().unwrap();
    *KNOWN.iter().rfind(|r| **r < release).unwrap()
}

fn severity(row: &Value) -> Option<&str> {
    row["severity"].as_str()
}

#[test]
fn values_select_what_they_select_and_are_judged() {
    let Some(table) = case("083-whitespace-quotes-lint.json") else {
        return;
    };
    let (mut agree, mut all) = (0, 0);
    let mut differences = Vec::new();
    for row in table["rows"].as_array().unwrap() {
        let (name, value) = (
            row["name"].as_str().unwrap(),
            row["value"].as_str().unwrap(),
        );
        let env = vec![(name.to_owned(), value.to_owned())];
        let named = row["set"].as_str().unwrap_or("one");
        let (node, decision) = set(&table["sets"][named]);
        let mut cases = vec![(Release::NEWEST, row)];
        for (release, other) in row["before"].as_object().into_iter().flatten() {
            cases.push((before(release), other));
        }
        for (release, row) in cases {
            all += 1;
            let found = worst(&node, &decision, &env, name, release);
            let wanted = severity(row);
            let taken = selected(&node, name, &env, release);
            let right = match row.get("reads") {
                Some(reads) => reads.as_i64().unwrap_or(-1) == param(Some(value), -1),
                None => taken == texts(&row["selects"]),
            };
            if found == wanted && right {
                agree += 1;
            } else {
                differences.push(format!(
                    "{release} {name}={value:?} on {named}: {found:?}, wanted {wanted:?}; takes {taken:?}"
                ));
            }
        }
    }
    println!("{agree} of {all} rows agree");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn the_bootstrap_interface_is_foreseen_and_judged() {
    let Some(table) = case("037-nccl-913-veth-169254-virbr.json") else {
        return;
    };
    let (mut agree, mut all) = (0, 0);
    let mut differences = Vec::new();
    for row in table["rows"].as_array().unwrap() {
        let env: Vec<(String, String)> = row["env"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(n, v)| (n.clone(), v.as_str().unwrap().to_owned()))
            .collect();
        let want = row["want"].as_str().unwrap();
        let (node, decision) = interfaces_node(&interface_rows(&row["ifs"]), want);
        let mut cases = vec![(Release::NEWEST, row["first"].as_str().unwrap())];
        for (release, first) in row["first_before"].as_object().into_iter().flatten() {
            cases.push((before(release), first.as_str().unwrap()));
        }
        for (release, first) in cases {
            all += 1;
            let found = worst(&node, &decision, &env, IFNAME, release);
            // The table's severity is that of the release whose choice is not the wanted one.
            let wanted = if first == want { None } else { severity(row) };
            let taken = selected(&node, IFNAME, &env, release);
            if found == wanted && taken.first().map(String::as_str) == Some(first) {
                agree += 1;
            } else {
                differences.push(format!(
                    "{release} {}: {found:?}, wanted {wanted:?}; takes {taken:?}, wanted {first}",
                    row["ifs"]
                ));
            }
        }
    }
    println!("{agree} of {all} rows agree");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn eight() -> (Node, Decision) {
    let names: Vec<String> = (0..=11).map(|n| format!("mlx5_{n}")).collect();
    let rows: Vec<PortRow> = names
        .iter()
        .map(|device| PortRow {
            device,
            number: 1,
            infiniband: false,
            active: true,
        })
        .collect();
    let node = ports_node(&rows, &[("ens1", "mlx5_1")]);
    let data: Vec<String> = (0..=9).map(|n| format!("mlx5_{n}/1")).collect();
    let decision = roles(&node, &data);
    (node, decision)
}

#[test]
fn our_own_short_table() {
    let (node, decision) = eight();
    for (value, wanted) in [
        (
            "=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8,mlx5_9",
            None,
        ),
        ("^=mlx5_10,mlx5_11", None),
        ("^mlx5_10,mlx5_11", Some("note")),
        ("^mlx5_1", Some("warning")),
        ("mlx5_1", Some("warning")),
        ("ens1", Some("error")),
        ("mlx5_0;mlx5_1", Some("error")),
        ("'mlx5_0'", Some("error")),
        ("^", Some("error")),
        ("=", Some("warning")),
    ] {
        let env = vec![(HCA.to_owned(), value.to_owned())];
        let found = worst(&node, &decision, &env, HCA, Release::NEWEST);
        assert_eq!(found, wanted, "{value}");
    }
}

#[test]
fn reasons_are_named() {
    let (node, decision) = eight();
    for (value, words) in [
        ("ens1", "its RDMA device is mlx5_1"),
        ("MLX5_1", "case-sensitive"),
        ("mlx5_0 mlx5_1", "does not separate"),
        ("mlx5_[0-3]", "no patterns"),
        ("\"mlx5_0\"", "quotes"),
        ("=^mlx5_0", "in front of the whole list"),
        ("mlx5_0:0", "port 0"),
        ("mlx6", "no RDMA device is called mlx6"),
    ] {
        let env = [(HCA.to_owned(), value.to_owned())];
        let found = findings(&node, &decision, &sources(env), &[Release::NEWEST]);
        assert!(
            found
                .iter()
                .any(|(id, f)| *id == "env.selector-matches-nothing" && f.message.contains(words)),
            "{value}: {found:?}"
        );
    }
}
