//! The report for people: what the job used, then the causes, worst first.

use std::fmt::Write as _;
use std::io::Write;

use super::Answer;
use crate::checks::{Finding, Severity};
use crate::joblog::{Group, LogFinding, Summary};
use crate::report::table::{Align, Table};
use crate::report::{Style, escape};

/// So many names of a list are shown.
const MOST: usize = 8;
/// So many settings; NCCL has more variables than anybody sets.
const MOST_SETTINGS: usize = 40;

/// Writes the report; after `--follow` without the findings, which were printed as they came.
pub(crate) fn text(
    answer: &Answer,
    followed: bool,
    style: Style,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let mut text = head(answer.summary, style);
    hosts(answer.summary, &mut text);
    settings(answer.summary, style, &mut text);
    out.write_all(text.as_bytes())?;
    if !followed {
        for finding in answer.findings {
            write_finding(finding, style, out)?;
        }
    }
    out.write_all(node(answer, style).as_bytes())?;
    out.write_all(end(answer, style).as_bytes())
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Releases, hosts and ranks, in one line.
fn head(summary: &Summary, style: Style) -> String {
    let release = if summary.releases.is_empty() {
        "NCCL of unknown release".to_owned()
    } else {
        format!("NCCL {}", summary.releases.join(", "))
    };
    let ranks = match summary.ranks {
        Some(ranks) => format!("{} of {ranks} ranks", summary.processes),
        None => counted(summary.processes, "process").replace("processs", "processes"),
    };
    format!(
        "{}\n\n",
        style.bold(escape(&format!(
            "{release}: {ranks} on {}",
            counted(summary.hosts, "host")
        )))
    )
}

fn names(list: &[String]) -> String {
    let shown = list
        .iter()
        .take(MOST)
        .cloned()
        .collect::<Vec<_>>()
        .join(",");
    match list.len().saturating_sub(MOST) {
        0 => shown,
        more => format!("{shown} +{more}"),
    }
}

fn or_dash(text: String) -> String {
    if text.is_empty() {
        "-".to_owned()
    } else {
        text
    }
}

/// One row for hosts that are alike.
fn hosts(summary: &Summary, text: &mut String) {
    const MOST_ROWS: usize = 30;
    if summary.groups.is_empty() {
        return;
    }
    let mut table = Table::new(&[
        ("HOSTS", Align::Left),
        ("PROCESSES", Align::Right),
        ("NETWORK", Align::Left),
        ("BOOTSTRAP", Align::Left),
        ("GPUDIRECT", Align::Left),
        ("PORTS", Align::Left),
    ]);
    for group in summary.groups.iter().take(MOST_ROWS) {
        table.row([
            names(&group.hosts),
            group.processes.to_string(),
            or_dash(group.networks.join(",")),
            or_dash(bootstrap(group)),
            or_dash(gpudirect(group)),
            or_dash(ports(group)),
        ]);
    }
    text.push_str(&table.text());
    if summary.groups.len() > MOST_ROWS {
        let _ = writeln!(
            text,
            "and {} more kinds of hosts",
            summary.groups.len() - MOST_ROWS
        );
    }
    text.push('\n');
}

fn bootstrap(group: &Group) -> String {
    let names = group.bootstrap.join(",");
    match &group.address {
        Some(address) => format!("{names} {address}"),
        None => names,
    }
}

fn gpudirect(group: &Group) -> String {
    let mut parts = Vec::new();
    if group.channels > 0 {
        parts.push(format!(
            "{} of {} channels",
            group.gdr_channels, group.channels
        ));
    }
    if group.socket_channels > 0 {
        parts.push(format!("{} over sockets", group.socket_channels));
    }
    parts.join(", ")
}

/// `8 RoCE: mlx5_0 mlx5_1 ...`; port numbers only where one is not 1.
fn ports(group: &Group) -> String {
    let lists: Vec<String> = group.ports.iter().map(|list| port_list(list)).collect();
    if lists.is_empty() {
        return group.socket_interfaces.join(" ");
    }
    lists.join(" or ")
}

fn port_list(list: &str) -> String {
    let ports: Vec<(&str, &str)> = list
        .split(' ')
        .map(|p| p.split_once('/').unwrap_or((p, "")))
        .collect();
    let plain = ports.iter().all(|(p, _)| p.ends_with(":1"));
    let mut out = String::new();
    let mut layers: Vec<&str> = ports.iter().map(|(_, layer)| *layer).collect();
    layers.sort_unstable();
    layers.dedup();
    for layer in layers {
        let of: Vec<&str> = ports
            .iter()
            .filter(|(_, l)| *l == layer)
            .map(|(p, _)| if plain { p.trim_end_matches(":1") } else { p })
            .collect();
        if !out.is_empty() {
            out.push_str("; ");
        }
        let _ = write!(out, "{} {layer}: {}", of.len(), of.join(" "));
    }
    out
}

fn settings(summary: &Summary, style: Style, text: &mut String) {
    if summary.settings.is_empty() {
        return;
    }
    let _ = writeln!(text, "{}", style.bold("set, as NCCL reports it"));
    for setting in summary.settings.iter().take(MOST_SETTINGS) {
        let on = if setting.names.is_empty() || summary.hosts == setting.hosts {
            String::new()
        } else {
            format!(
                "  ({} of {} hosts: {})",
                setting.hosts,
                summary.hosts,
                names(&setting.names)
            )
        };
        let _ = writeln!(
            text,
            "  {}={}{}",
            escape(&setting.name),
            escape(&setting.value),
            style.dim(escape(&on))
        );
    }
    if summary.settings.len() > MOST_SETTINGS {
        let _ = writeln!(
            text,
            "  and {} more",
            summary.settings.len() - MOST_SETTINGS
        );
    }
    text.push('\n');
}

/// Writes one finding.
pub(crate) fn write_finding(
    finding: &LogFinding,
    style: Style,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let f = &finding.finding;
    let mut text = format!(
        "{}: {}\n",
        label(f.severity, finding.id, style),
        escape(&f.message)
    );
    let who = who(finding);
    if !who.is_empty() {
        let _ = writeln!(text, "  {}", escape(&who));
    }
    evidence(f, style, &mut text);
    if !finding.why.is_empty() {
        let _ = writeln!(text, "  why: {}", escape(&finding.why));
    }
    remedy(f, &mut text);
    if let Some(check) = finding.check {
        let _ = writeln!(
            text,
            "  {}",
            style.dim(format!(
                "found before a job by: rdmactl check --only {check}"
            ))
        );
    }
    writeln!(out, "{text}")
}

fn label(severity: Severity, id: &str, style: Style) -> String {
    let label = format!("{}[{id}]", severity.word());
    match severity {
        Severity::Error => style.error(label).to_string(),
        Severity::Warning => style.warning(label).to_string(),
        Severity::Note => style.hint(label).to_string(),
    }
}

/// Hosts, devices, ranks, and how often.
fn who(finding: &LogFinding) -> String {
    let mut parts = Vec::new();
    if !finding.hosts.is_empty() {
        parts.push(format!("on {}", names(&finding.hosts)));
    }
    if !finding.devices.is_empty() {
        parts.push(format!("devices {}", names(&finding.devices)));
    }
    if !finding.ranks.is_empty() {
        let ranks: Vec<String> = finding.ranks.iter().map(ToString::to_string).collect();
        parts.push(format!("ranks {}", names(&ranks)));
    }
    if !finding.peers.is_empty() {
        parts.push(format!("peers {}", names(&finding.peers)));
    }
    if finding.count > 1 {
        parts.push(format!("{} messages", finding.count));
    }
    parts.join("; ")
}

fn evidence(finding: &Finding, style: Style, text: &mut String) {
    for item in &finding.evidence {
        let _ = writeln!(
            text,
            "  {} {}",
            style.dim(format!("{}:", escape(&item.source))),
            escape(&item.value)
        );
    }
}

fn remedy(finding: &Finding, text: &mut String) {
    let Some(remedy) = &finding.remedy else {
        return;
    };
    let _ = writeln!(text, "  fix: {}", escape(&remedy.text));
    if let Some(command) = &remedy.command {
        let _ = writeln!(text, "     $ {}", escape(command));
    }
    for (name, value) in &remedy.set {
        let _ = writeln!(text, "     {}={}", escape(name), escape(value));
    }
}

/// Whether the node at hand agrees.
fn node(answer: &Answer, style: Style) -> String {
    let mut text = String::new();
    if answer.here.is_empty() {
        return text;
    }
    let host = answer.host.unwrap_or("this node");
    let in_log = answer.summary.groups.iter().any(|g| {
        g.hosts
            .iter()
            .any(|h| Some(h.as_str()) == host.split('.').next())
    });
    let whose = if in_log {
        String::new()
    } else {
        " (not a host of this log; devices are compared by name)".to_owned()
    };
    let _ = writeln!(text, "{}", style.bold(escape(&format!("on {host}{whose}"))));
    for finding in answer.here {
        let _ = writeln!(
            text,
            "  {}: {}",
            finding.severity.word(),
            escape(&finding.message)
        );
        let mut more = String::new();
        evidence(finding, style, &mut more);
        remedy(finding, &mut more);
        for line in more.lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    text.push('\n');
    text
}

fn end(answer: &Answer, style: Style) -> String {
    let count = |s: Severity| {
        answer
            .findings
            .iter()
            .filter(|f| f.finding.severity == s)
            .count()
    };
    let parts: Vec<String> = [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .filter(|s| count(*s) > 0)
        .map(|s| counted(count(s), s.word()))
        .collect();
    let sum = if parts.is_empty() {
        "nothing found".to_owned()
    } else {
        parts.join(", ")
    };
    let mut text = format!("{}: {sum}\n", counted_u64(answer.summary.messages));
    let unknown = answer.summary.groups.iter().all(|g| g.networks.is_empty());
    let first = answer
        .findings
        .iter()
        .find(|f| f.finding.severity > Severity::Note);
    let next = match first.and_then(|f| f.finding.remedy.as_ref()) {
        // The finding has all of it; here its first step.
        Some(remedy) => remedy
            .text
            .split("; ")
            .next()
            .map(|t| escape(t).into_owned()),
        None if unknown => {
            Some("the log does not say which network was used; NCCL_DEBUG=INFO shows it".to_owned())
        }
        None => None,
    };
    if let Some(next) = next {
        let _ = writeln!(text, "{} {next}", style.bold("next:"));
    }
    text
}

fn counted_u64(messages: u64) -> String {
    format!(
        "{messages} message{} of NCCL",
        if messages == 1 { "" } else { "s" }
    )
}
