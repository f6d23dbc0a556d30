//! RDMA ports as a table, as JSON, and in the lines of `ibdev2netdev`.

use std::fmt::Write as _;
use std::io::Write;

use serde::Serialize;

use super::json::{self, known};
use super::style::{Style, escape};
use super::table::{Align, Table};
use crate::model::{Hca, Node, Port};
use crate::roles::{Assigned, Decision, Role};

/// The table, and a line that sums it up.
pub(crate) fn text(node: &Node, decision: &Decision, style: Style) -> String {
    if decision.ports.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[
        ("DEVICE", Align::Left),
        ("PORT", Align::Right),
        ("NETDEV", Align::Left),
        ("ROLE", Align::Left),
        ("STATE", Align::Left),
        ("LINK", Align::Left),
        ("RATE", Align::Right),
        ("PCI", Align::Left),
        ("NUMA", Align::Right),
        ("GPU", Align::Left),
        ("GID", Align::Right),
        ("WHY", Align::Left),
    ]);
    for (hca, port, assigned) in rows(node, decision) {
        table.row([
            hca.name.clone(),
            port.number.to_string(),
            shown_netdev(port, assigned),
            assigned.role.word().to_owned(),
            or_unknown(port.state.as_ref().ok()),
            or_unknown(port.link_layer.as_ref().ok()),
            rate(port),
            hca.pci()
                .map_or_else(|| "-".to_owned(), |f| f.address.to_string()),
            numa(hca).map_or_else(|| "-".to_owned(), |n| n.to_string()),
            nearest(assigned),
            assigned
                .gid
                .as_ref()
                .map_or_else(|| "-".to_owned(), |g| g.index.to_string()),
            assigned.reason.to_string(),
        ]);
    }
    let mut out = paint_roles(&table.text(), style);
    let count = |role: Role| decision.ports.iter().filter(|p| p.role == role).count();
    let _ = writeln!(
        out,
        "\n{} data, {} main, {} other, {} unusable",
        count(Role::Data),
        count(Role::Main),
        count(Role::Other),
        count(Role::Unusable)
    );
    out
}

/// Colours whole lines by role: what is not used steps back.
fn paint_roles(table: &str, style: Style) -> String {
    if !style.is_colored() {
        return table.to_owned();
    }
    let mut out = String::new();
    for (i, line) in table.lines().enumerate() {
        let role = line.split_whitespace().nth(3).unwrap_or_default();
        let _ = match role {
            _ if i == 0 => writeln!(out, "{}", style.bold(line)),
            "data" => writeln!(out, "{}", style.good(line)),
            "unusable" => writeln!(out, "{}", style.warning(line)),
            _ => writeln!(out, "{}", style.dim(line)),
        };
    }
    out
}

fn rows<'a>(
    node: &'a Node,
    decision: &'a Decision,
) -> impl Iterator<Item = (&'a Hca, &'a Port, &'a Assigned)> {
    decision.ports.iter().filter_map(|assigned| {
        let (hca, port) = node.port(&assigned.key)?;
        Some((hca, port, assigned))
    })
}

fn shown_netdev(port: &Port, assigned: &Assigned) -> String {
    let own: Vec<&str> = port.netdevs.iter().map(String::as_str).collect();
    let of_gid = assigned.gid.as_ref().and_then(|g| g.ndev.as_ref().ok());
    match (of_gid, own.as_slice()) {
        (Some(ndev), _) => ndev.clone(),
        (None, []) => assigned
            .netdevs
            .iter()
            .next()
            .cloned()
            .unwrap_or_else(|| "-".to_owned()),
        (None, names) => names.join(","),
    }
}

fn or_unknown(value: Option<&impl ToString>) -> String {
    value.map_or_else(|| "?".to_owned(), ToString::to_string)
}

/// A port's rate as people say it; only an ACTIVE port's means something.
fn rate(port: &Port) -> String {
    match &port.rate {
        Ok(rate) if port.is_active() && rate.mbps % 1000 == 0 => format!("{}G", rate.mbps / 1000),
        Ok(rate) if port.is_active() => format!("{}.{}G", rate.mbps / 1000, rate.mbps % 1000 / 100),
        Ok(_) => "-".to_owned(),
        Err(_) => "?".to_owned(),
    }
}

fn numa(hca: &Hca) -> Option<i32> {
    hca.pci()?.numa_node.as_ref().ok().copied()
}

/// `PIX 0,1`: the distance to the nearest GPUs and their indexes.
fn nearest(assigned: &Assigned) -> String {
    match assigned.nearest() {
        Some(distance) if distance.is_near() => {
            let gpus: Vec<String> = assigned
                .nearest_gpus()
                .iter()
                .map(ToString::to_string)
                .collect();
            format!("{distance} {}", gpus.join(","))
        }
        Some(distance) => distance.to_string(),
        None => "-".to_owned(),
    }
}

/// The lines of `ibdev2netdev`; (Up) or (Down) is the interface's state, not the port's.
pub(crate) fn ibdev2netdev(node: &Node) -> String {
    let mut out = String::new();
    for (hca, port) in node.ports() {
        for name in &port.netdevs {
            let up = node
                .netdev(name)
                .is_some_and(|n| n.operstate.as_deref().is_ok_and(|s| s == "up"));
            let state = if up { "Up" } else { "Down" };
            let _ = writeln!(
                out,
                "{} port {} ==> {} ({state})",
                escape(&hca.name),
                port.number,
                escape(name)
            );
        }
    }
    out
}

#[derive(Debug, Serialize)]
struct Body<'a> {
    ports: Vec<PortJson<'a>>,
}

#[derive(Debug, Serialize)]
struct PortJson<'a> {
    device: &'a str,
    port: u32,
    role: &'static str,
    reason: &'static str,
    why: String,
    state: Option<String>,
    phys_state: Option<String>,
    link_layer: Option<String>,
    /// Mbit/s.
    rate_mbps: Option<u64>,
    lid: Option<u32>,
    netdevs: Vec<&'a str>,
    gid: Option<GidJson<'a>>,
    pci: Option<String>,
    numa_node: Option<i32>,
    nearest_distance: Option<&'static str>,
    nearest_gpus: Vec<usize>,
    uverbs: Option<u32>,
    uverbs_present: Option<bool>,
    node_type: Option<String>,
    node_guid: Option<&'a str>,
    sys_image_guid: Option<&'a str>,
    firmware: Option<&'a str>,
    hca_type: Option<&'a str>,
    board_id: Option<&'a str>,
    driver: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct GidJson<'a> {
    index: u32,
    gid: String,
    ipv4: Option<String>,
    netdev: Option<&'a str>,
}

/// The ports as JSON.
pub(crate) fn json(node: &Node, decision: &Decision, out: &mut dyn Write) -> std::io::Result<()> {
    let ports = rows(node, decision)
        .map(|(hca, port, assigned)| PortJson {
            device: &hca.name,
            port: port.number,
            role: assigned.role.word(),
            reason: assigned.reason.word(),
            why: assigned.reason.to_string(),
            state: known(&port.state).map(ToString::to_string),
            phys_state: known(&port.phys_state).map(ToString::to_string),
            link_layer: known(&port.link_layer).map(ToString::to_string),
            rate_mbps: known(&port.rate).map(|r| r.mbps),
            lid: known(&port.lid).copied(),
            netdevs: assigned.netdevs.iter().map(String::as_str).collect(),
            gid: assigned.gid.as_ref().map(|g| GidJson {
                index: g.index,
                gid: g.gid.to_string(),
                ipv4: g.gid.ipv4().map(|ip| ip.to_string()),
                netdev: known(&g.ndev).map(String::as_str),
            }),
            pci: hca.pci().map(|f| f.address.to_string()),
            numa_node: numa(hca),
            nearest_distance: assigned.nearest().map(crate::model::Distance::word),
            nearest_gpus: assigned.nearest_gpus(),
            uverbs: hca.uverbs.number,
            uverbs_present: hca.uverbs.node_exists,
            node_type: known(&hca.node_type).map(|t| t.word().to_owned()),
            node_guid: known(&hca.node_guid).map(String::as_str),
            sys_image_guid: known(&hca.sys_image_guid).map(String::as_str),
            firmware: known(&hca.fw_ver).map(String::as_str),
            hca_type: known(&hca.hca_type).map(String::as_str),
            board_id: known(&hca.board_id).map(String::as_str),
            driver: hca.driver.as_deref(),
        })
        .collect();
    json::write(node, Body { ports }, out)
}
