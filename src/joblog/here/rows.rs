//! The rows of the GID tables behind the indexes of a log.

use std::collections::BTreeSet;

use super::port;
use crate::checks::{Finding, Severity};
use crate::joblog::event::Kind;
use crate::joblog::state::Job;
use crate::model::{GidClass, GidType, LinkLayer, Node, Port};

/// The rows behind the indexes that the log speaks of.
pub(super) fn rows(
    job: &Job,
    node: &Node,
    used: &BTreeSet<(String, u32)>,
    found: &mut Vec<Finding>,
) {
    let set = job
        .values_of("NCCL_IB_GID_INDEX")
        .into_iter()
        .filter_map(|v| v.parse::<u32>().ok());
    let failed = job
        .tallies
        .iter()
        .flat_map(|t| &t.indexes)
        .filter_map(|i| u32::try_from(*i).ok());
    let connected = job
        .hosts
        .iter()
        .flat_map(|h| &h.connections)
        .filter_map(|c| u32::try_from(c.index).ok());
    let indexes: BTreeSet<u32> = set.chain(failed).chain(connected).collect();
    for index in indexes {
        let mut verdicts: Vec<Verdict> = Vec::new();
        for (device, number) in used {
            let verdict = port(node, device, *number).and_then(|p| row(node, device, p, index));
            let Some(verdict) = verdict else {
                continue;
            };
            match verdicts.iter_mut().find(|v| v.what == verdict.what) {
                Some(known) => known.ports.extend(verdict.ports),
                None => verdicts.push(verdict),
            }
        }
        found.extend(verdicts.into_iter().map(|v| v.finding(index)));
    }
    usable(job, node, used, found);
}

/// What is wrong or right with a row, and on which ports it is so.
struct Verdict {
    severity: Severity,
    what: &'static str,
    /// Port and address.
    ports: Vec<(String, String)>,
    /// File of the first port and what it holds.
    file: (String, String),
}

impl Verdict {
    fn finding(self, index: u32) -> Finding {
        const MOST: usize = 8;
        let names: Vec<&str> = self.ports.iter().map(|(name, _)| name.as_str()).collect();
        let shown: Vec<String> = self
            .ports
            .iter()
            .take(MOST)
            .map(|(name, address)| match address.as_str() {
                "" => name.clone(),
                address => format!("{name} ({address})"),
            })
            .collect();
        let more = match self.ports.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let finding = Finding::new(
            self.severity,
            names.join(", "),
            format!("index {index} {} on {}{more}", self.what, shown.join(", ")),
        )
        .file(&self.file.0, self.file.1);
        if self.severity == Severity::Note {
            return finding;
        }
        finding
            .fix("let this node choose its rows")
            .command("eval \"$(rdmactl env)\"")
    }
}

/// Which row is usable here, where the log's trouble is about GIDs.
fn usable(job: &Job, node: &Node, used: &BTreeSet<(String, u32)>, found: &mut Vec<Finding>) {
    let about_gids = |k: Kind| {
        matches!(
            k,
            Kind::ModifyQp { .. } | Kind::GidType { .. } | Kind::Completion { status: 12, .. }
        )
    };
    if job.tallies(about_gids).next().is_none() {
        return;
    }
    let mut ports: Vec<(u32, String)> = Vec::new();
    for (device, number) in used {
        let Some(port) = port(node, device, *number) else {
            continue;
        };
        let first =
            port.gid_rows().iter().map(|r| r.index).find(|i| {
                row(node, device, port, *i).is_some_and(|v| v.severity == Severity::Note)
            });
        if let Some(index) = first {
            ports.push((index, format!("{device}/{number}")));
        }
    }
    let indexes: BTreeSet<u32> = ports.iter().map(|(i, _)| *i).collect();
    let words: Vec<String> = indexes
        .iter()
        .map(|index| {
            let names: Vec<String> = ports
                .iter()
                .filter(|(i, _)| i == index)
                .map(|(_, name)| name.clone())
                .collect();
            format!(
                "index {index} on {}",
                crate::joblog::findings::shortened(&names, 8)
            )
        })
        .collect();
    if !words.is_empty() {
        found.push(Finding::new(
            Severity::Note,
            "",
            format!("the first usable RoCE v2 rows here: {}", words.join("; ")),
        ));
    }
}

/// What the row at an index is; nothing on InfiniBand, and where it could not be read.
fn row(node: &Node, device: &str, port: &Port, index: u32) -> Option<Verdict> {
    let hca = node.hca(device)?;
    let dir = format!("{}/ports/{}", hca.dir, port.number);
    if port.link_layer == Ok(LinkLayer::InfiniBand) {
        return None;
    }
    let table = port.gids.as_ref().ok()?;
    let verdict = |severity, what, address: String, file: &str, value: String| {
        Some(Verdict {
            severity,
            what,
            ports: vec![(format!("{device}/{}", port.number), address)],
            file: (format!("{dir}/{file}/{index}"), value),
        })
    };
    let bad = Severity::Warning;
    let Some(row) = table.row(index) else {
        let unread = table.unread.iter().any(|(i, _)| *i == index);
        if !table.is_complete() || unread {
            return None;
        }
        return verdict(
            bad,
            "is an empty row",
            String::new(),
            "gids",
            "no GID".to_owned(),
        );
    };
    let shown = row.gid.address().to_string();
    match row.gid.class() {
        GidClass::Empty => verdict(
            bad,
            "is an empty row",
            String::new(),
            "gids",
            row.gid.to_string(),
        ),
        GidClass::LinkLocal | GidClass::Ipv4LinkLocal => verdict(
            bad,
            "is a link-local row",
            shown,
            "gids",
            row.gid.to_string(),
        ),
        GidClass::Ipv4 | GidClass::Ipv6 => {
            if row.kind == Ok(GidType::V1) {
                return verdict(
                    bad,
                    "is a RoCE v1 row",
                    shown,
                    "gid_attrs/types",
                    "v1".to_owned(),
                );
            }
            if let Ok(ndev) = &row.ndev
                && !ndev.is_empty()
                && node.netdevs.is_ok()
                && node.netdev(ndev).is_none()
            {
                return verdict(
                    bad,
                    "belongs to a network device outside this namespace",
                    shown,
                    "gid_attrs/ndevs",
                    ndev.clone(),
                );
            }
            if row.kind != Ok(GidType::V2) {
                return None;
            }
            verdict(
                Severity::Note,
                "is a usable RoCE v2 row",
                shown,
                "gids",
                row.gid.to_string(),
            )
        }
    }
}
