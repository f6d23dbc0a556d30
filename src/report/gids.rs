//! GID tables: as a table, as JSON, and in the columns of `show_gids`.

use std::fmt::Write as _;
use std::io::Write;

use serde::Serialize;

use super::json;
use super::style::{Style, escape};
use super::table::{Align, Table};
use crate::model::{GidRow, GidType, Hca, LinkLayer, Node, Port, Unread};
use crate::roles::{RowVerdict, choose_gid, judge_row};

/// Every row that holds a GID, and whether it can be used.
pub(crate) fn text(node: &Node, wanted: &dyn Fn(&str) -> bool, style: Style) -> String {
    let mut table = Table::new(&[
        ("DEV", Align::Left),
        ("PORT", Align::Right),
        ("INDEX", Align::Right),
        ("GID", Align::Left),
        ("IPv4", Align::Left),
        ("VER", Align::Left),
        ("NETDEV", Align::Left),
        ("USE", Align::Left),
    ]);
    let mut empty = true;
    for (hca, port) in ports(node, wanted) {
        for row in port.gid_rows() {
            empty = false;
            table.row([
                hca.name.clone(),
                port.number.to_string(),
                row.index.to_string(),
                row.gid.to_string(),
                row.gid.ipv4().map(|ip| ip.to_string()).unwrap_or_default(),
                version(port, row),
                row.ndev.clone().unwrap_or_else(|_| "-".to_owned()),
                usage(node, port, row),
            ]);
        }
    }
    let mut out = if empty {
        String::new()
    } else {
        paint(&table.text(), style)
    };
    for (hca, port) in ports(node, wanted) {
        for unread in unreadable(port) {
            let _ = writeln!(
                out,
                "{}/{}: {}",
                escape(&hca.name),
                port.number,
                escape(&unread.to_string())
            );
        }
    }
    out
}

fn paint(table: &str, style: Style) -> String {
    if !style.is_colored() {
        return table.to_owned();
    }
    let mut out = String::new();
    for (i, line) in table.lines().enumerate() {
        let _ = match line {
            _ if i == 0 => writeln!(out, "{}", style.bold(line)),
            _ if line.ends_with("chosen") => writeln!(out, "{}", style.good(line)),
            _ => writeln!(out, "{line}"),
        };
    }
    out
}

fn ports<'a>(
    node: &'a Node,
    wanted: &dyn Fn(&str) -> bool,
) -> impl Iterator<Item = (&'a Hca, &'a Port)> {
    node.ports().filter(|(hca, _)| wanted(&hca.name))
}

fn unreadable(port: &Port) -> Vec<&Unread> {
    match &port.gids {
        Ok(table) => table.unread.iter().map(|(_, u)| u).collect(),
        Err(unread) => vec![unread],
    }
}

/// The kernel writes `IB/RoCE v1` for both; the link layer tells which it is.
fn version(port: &Port, row: &GidRow) -> String {
    match &row.kind {
        Ok(GidType::V1) if port.link_layer == Ok(LinkLayer::InfiniBand) => "IB".to_owned(),
        Ok(kind) => kind.to_string(),
        Err(_) => "?".to_owned(),
    }
}

/// What a row is good for: `chosen`, `usable`, or why not.
fn usage(node: &Node, port: &Port, row: &GidRow) -> String {
    if port.link_layer == Ok(LinkLayer::InfiniBand) {
        return "not used on InfiniBand".to_owned();
    }
    match judge_row(node, row) {
        RowVerdict::Usable if choose_gid(node, port).is_ok_and(|r| r.index == row.index) => {
            "chosen".to_owned()
        }
        RowVerdict::Unreadable(unread) | RowVerdict::TypeUnread(unread) => {
            format!("unreadable: {}", unread.why)
        }
        verdict => verdict.word().to_owned(),
    }
}

/// The columns of `show_gids`, for scripts that read them.
pub(crate) fn show_gids(node: &Node, wanted: &dyn Fn(&str) -> bool) -> String {
    let mut out = "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4\t\tVER\tDEV\n---\t----\t-----\t---\t\t\t\t\t------------\t---\t---\n".to_owned();
    let mut count = 0;
    for (hca, port) in ports(node, wanted) {
        for row in port.gid_rows() {
            count += 1;
            let version = match &row.kind {
                Ok(GidType::V2) => "v2",
                Ok(GidType::V1) => "v1",
                _ => "",
            };
            let bytes = row.gid.0;
            let segments: Vec<String> = bytes
                .chunks_exact(2)
                .map(|pair| format!("{:02x}{:02x}", pair[0], pair[1]))
                .collect();
            let ipv4 = row
                .gid
                .ipv4()
                .map_or_else(|| "\t".to_owned(), |ip| format!("{ip}  "));
            let _ = writeln!(
                out,
                "{}\t{}\t{}\t{}\t{ipv4}\t{version}\t{}",
                escape(&hca.name),
                port.number,
                row.index,
                segments.join(":"),
                escape(row.ndev.as_deref().unwrap_or_default())
            );
        }
    }
    let _ = writeln!(out, "n_gids_found={count}");
    out
}

#[derive(Debug, Serialize)]
struct Body {
    tables: Vec<TableJson>,
}

#[derive(Debug, Serialize)]
struct TableJson {
    device: String,
    port: u32,
    /// Rows of the table, empty ones included.
    length: Option<u32>,
    chosen: Option<u32>,
    rows: Vec<RowJson>,
    unread: Vec<String>,
}

#[derive(Debug, Serialize)]
struct RowJson {
    index: u32,
    gid: String,
    ipv4: Option<String>,
    version: String,
    netdev: Option<String>,
    usable: String,
}

/// The tables as JSON.
pub(crate) fn json(
    node: &Node,
    wanted: &dyn Fn(&str) -> bool,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let tables = ports(node, wanted)
        .map(|(hca, port)| TableJson {
            device: hca.name.clone(),
            port: port.number,
            length: port.gids.as_ref().ok().and_then(|t| t.len),
            chosen: (port.link_layer == Ok(LinkLayer::Ethernet))
                .then(|| choose_gid(node, port).ok().map(|r| r.index))
                .flatten(),
            rows: port
                .gid_rows()
                .iter()
                .map(|row| RowJson {
                    index: row.index,
                    gid: row.gid.to_string(),
                    ipv4: row.gid.ipv4().map(|ip| ip.to_string()),
                    version: version(port, row),
                    netdev: row.ndev.as_ref().ok().cloned(),
                    usable: usage(node, port, row),
                })
                .collect(),
            unread: unreadable(port).iter().map(ToString::to_string).collect(),
        })
        .collect();
    json::write(node, Body { tables }, out)
}
