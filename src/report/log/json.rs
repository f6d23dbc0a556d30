//! The answer of `log` as JSON, schema 1.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;

use super::Answer;
use crate::checks::Finding;
use crate::joblog::{Group, LogFinding, Setting};
use crate::report::json as frame;

#[derive(Debug, Serialize)]
struct Body<'a> {
    messages: u64,
    releases: &'a [String],
    hosts: usize,
    processes: usize,
    /// Ranks of the largest communicator; null where the log does not say.
    ranks: Option<u32>,
    groups: Vec<GroupJson<'a>>,
    settings: Vec<SettingJson<'a>>,
    findings: Vec<FindingJson<'a>>,
    /// What the node at hand says; empty without one.
    node: Vec<NodeFindingJson<'a>>,
}

#[derive(Debug, Serialize)]
struct GroupJson<'a> {
    hosts: &'a [String],
    processes: usize,
    networks: &'a [String],
    /// Lists of `device:port/layer`; more than one where ranks differ.
    ports: Vec<Vec<&'a str>>,
    bootstrap: &'a [String],
    address: Option<&'a str>,
    socket_interfaces: &'a [String],
    plugins: &'a [String],
    channels: u64,
    gpudirect_channels: u64,
    socket_channels: u64,
}

#[derive(Debug, Serialize)]
struct SettingJson<'a> {
    name: &'a str,
    value: &'a str,
    hosts: usize,
}

#[derive(Debug, Serialize)]
struct FindingJson<'a> {
    id: &'static str,
    severity: &'static str,
    subject: &'a str,
    message: &'a str,
    why: &'a str,
    count: u64,
    hosts: &'a [String],
    devices: &'a [String],
    ranks: &'a [u32],
    peers: &'a [String],
    evidence: Vec<EvidenceJson<'a>>,
    remedy: Option<RemedyJson<'a>>,
    /// The check of `rdmactl check` that finds the cause on a node.
    check: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct NodeFindingJson<'a> {
    severity: &'static str,
    subject: &'a str,
    message: &'a str,
    evidence: Vec<EvidenceJson<'a>>,
    remedy: Option<RemedyJson<'a>>,
}

#[derive(Debug, Serialize)]
struct EvidenceJson<'a> {
    source: &'a str,
    value: &'a str,
}

#[derive(Debug, Serialize)]
struct RemedyJson<'a> {
    text: &'a str,
    command: Option<&'a str>,
    set: BTreeMap<&'a str, &'a str>,
}

/// Writes the answer.
pub(crate) fn json(answer: &Answer, out: &mut dyn Write) -> std::io::Result<()> {
    let summary = answer.summary;
    let body = Body {
        messages: summary.messages,
        releases: &summary.releases,
        hosts: summary.hosts,
        processes: summary.processes,
        ranks: summary.ranks,
        groups: summary.groups.iter().map(group).collect(),
        settings: summary.settings.iter().map(setting).collect(),
        findings: answer.findings.iter().map(finding).collect(),
        node: answer.here.iter().map(node_finding).collect(),
    };
    frame::write_for(answer.host, body, out)
}

/// Writes one finding as a line, for `--follow`.
pub(crate) fn write_finding_json(found: &LogFinding, out: &mut dyn Write) -> std::io::Result<()> {
    let text = serde_json::to_string(&finding(found)).map_err(std::io::Error::other)?;
    writeln!(out, "{text}")
}

fn group(group: &Group) -> GroupJson<'_> {
    GroupJson {
        hosts: &group.hosts,
        processes: group.processes,
        networks: &group.networks,
        ports: group.ports.iter().map(|l| l.split(' ').collect()).collect(),
        bootstrap: &group.bootstrap,
        address: group.address.as_deref(),
        socket_interfaces: &group.socket_interfaces,
        plugins: &group.plugins,
        channels: group.channels,
        gpudirect_channels: group.gdr_channels,
        socket_channels: group.socket_channels,
    }
}

fn setting(setting: &Setting) -> SettingJson<'_> {
    SettingJson {
        name: &setting.name,
        value: &setting.value,
        hosts: setting.hosts,
    }
}

fn finding(found: &LogFinding) -> FindingJson<'_> {
    let f = &found.finding;
    FindingJson {
        id: found.id,
        severity: f.severity.word(),
        subject: &f.subject,
        message: &f.message,
        why: &found.why,
        count: found.count,
        hosts: &found.hosts,
        devices: &found.devices,
        ranks: &found.ranks,
        peers: &found.peers,
        evidence: evidence(f),
        remedy: remedy(f),
        check: found.check,
    }
}

fn node_finding(f: &Finding) -> NodeFindingJson<'_> {
    NodeFindingJson {
        severity: f.severity.word(),
        subject: &f.subject,
        message: &f.message,
        evidence: evidence(f),
        remedy: remedy(f),
    }
}

fn evidence(f: &Finding) -> Vec<EvidenceJson<'_>> {
    f.evidence
        .iter()
        .map(|e| EvidenceJson {
            source: &e.source,
            value: &e.value,
        })
        .collect()
}

fn remedy(f: &Finding) -> Option<RemedyJson<'_>> {
    f.remedy.as_ref().map(|r| RemedyJson {
        text: &r.text,
        command: r.command.as_deref(),
        set: r
            .set
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_str()))
            .collect(),
    })
}
