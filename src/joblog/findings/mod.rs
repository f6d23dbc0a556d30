//! Causes: what is wrong with the job, why, and what to do. One file a subject.

mod completion;
mod failures;
mod gdr;
mod modify_qp;
mod network;
mod notes;
mod ports;
mod sockets;

use super::state::Job;
use super::tally::{HostId, Place, Tally};
use crate::checks::{Finding, Severity};
use crate::model::order::natural;

/// Something the log says about the job.
#[derive(Debug, Clone)]
pub(crate) struct LogFinding {
    /// What kind it is; permanent.
    pub(crate) id: &'static str,
    /// The check of `rdmactl check` that finds the cause on a node, when there is one.
    pub(crate) check: Option<&'static str>,
    /// Severity, subject, message, evidence and remedy.
    pub(crate) finding: Finding,
    /// Why that is so, in plain words.
    pub(crate) why: String,
    /// Messages that say so.
    pub(crate) count: u64,
    /// Hosts that say so.
    pub(crate) hosts: Vec<String>,
    /// Devices that are named.
    pub(crate) devices: Vec<String>,
    /// Ranks that say so.
    pub(crate) ranks: Vec<u32>,
    /// Addresses of other sides that are named.
    pub(crate) peers: Vec<String>,
    /// The first line that says so.
    first: Option<Place>,
}

impl LogFinding {
    fn new(id: &'static str, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            id,
            check: None,
            finding: Finding::new(severity, "", message),
            why: String::new(),
            count: 0,
            hosts: Vec::new(),
            devices: Vec::new(),
            ranks: Vec::new(),
            peers: Vec::new(),
            first: None,
        }
    }

    fn check(mut self, id: &'static str) -> Self {
        self.check = Some(id);
        self
    }

    fn why(mut self, why: impl Into<String>) -> Self {
        self.why = why.into();
        self
    }

    fn fix(mut self, text: impl Into<String>) -> Self {
        self.finding = self.finding.fix(text);
        self
    }

    fn command(mut self, command: impl Into<String>) -> Self {
        self.finding = self.finding.command(command);
        self
    }

    fn setting(mut self, name: &str, value: &str) -> Self {
        self.finding = self.finding.setting(name, value);
        self
    }

    /// The fix of whatever has to do with GIDs: the node is asked.
    fn fix_gid(self, text: &str) -> Self {
        self.fix(format!(
            "{text}; `rdmactl gids` lists the rows, and `rdmactl env` on each node prints the NCCL_IB_GID_INDEX that is \
             right on every port, or unsets it"
        ))
        .command("eval \"$(rdmactl env)\"")
    }

    /// Takes over who says so and where.
    fn of(self, job: &Job, tally: &Tally) -> Self {
        let hosts: Vec<HostId> = tally.hosts.keys().copied().collect();
        self.of_hosts(job, tally, &hosts)
    }

    /// The same for some of the hosts.
    fn of_hosts(mut self, job: &Job, tally: &Tally, hosts: &[HostId]) -> Self {
        for on in hosts.iter().filter_map(|h| tally.hosts.get(h)) {
            self.count += on.count;
            for device in &on.devices {
                let device = job.names.get(*device);
                if !self.devices.iter().any(|d| d == device) {
                    self.devices.push(device.to_owned());
                }
            }
        }
        self = self.on(job, hosts);
        self.devices.sort_by(|a, b| natural(a, b));
        for rank in &tally.ranks {
            if !self.ranks.contains(rank) {
                self.ranks.push(*rank);
            }
        }
        for peer in &tally.peers {
            if !self.peers.contains(peer) {
                self.peers.push(peer.clone());
            }
        }
        self.at(job, tally.first, &tally.sample)
    }

    /// Adds hosts.
    fn on(mut self, job: &Job, hosts: &[HostId]) -> Self {
        for name in hosts.iter().map(|h| job.host_name(*h)) {
            if !name.is_empty() && !self.hosts.iter().any(|h| h == name) {
                self.hosts.push(name.to_owned());
            }
        }
        self.hosts.sort_by(|a, b| natural(a, b));
        self
    }

    /// Adds a place of the log and what stands there.
    fn at(mut self, job: &Job, place: Place, text: &str) -> Self {
        let file = job.files.get(place.file).map_or("log", String::as_str);
        self.finding = self
            .finding
            .evidence(format!("{file}:{}", place.line), text);
        self.first = self.first.or(Some(place));
        self
    }

    /// The subject: devices, else hosts.
    fn finish(mut self) -> Self {
        let list = if self.devices.is_empty() {
            &self.hosts
        } else {
            &self.devices
        };
        self.finding.subject = shortened(list, 8);
        self
    }
}

/// `a, b, c and 5 more`.
pub(crate) fn shortened(list: &[String], most: usize) -> String {
    let shown = list
        .iter()
        .take(most)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    match list.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Everything that is found, worst first, then in the order of the log.
pub(crate) fn findings(job: &Job) -> Vec<LogFinding> {
    let mut found = Vec::new();
    network::find(job, &mut found);
    ports::find(job, &mut found);
    notes::find(job, &mut found);
    modify_qp::find(job, &mut found);
    completion::find(job, &mut found);
    failures::find(job, &mut found);
    sockets::find(job, &mut found);
    gdr::find(job, &mut found);
    // Where a link-local row made something fail, that is said with the failure.
    let has_failed = |f: &LogFinding| {
        matches!(
            f.id,
            "log.retries-link-local" | "log.gid-link-local" | "log.gid-empty"
        )
    };
    if found.iter().any(has_failed) {
        found.retain(|f| f.id != "log.connection-link-local");
    }
    let mut found: Vec<LogFinding> = found.into_iter().map(LogFinding::finish).collect();
    found.sort_by(|a, b| {
        (b.finding.severity.cmp(&a.finding.severity))
            // What stands nowhere in particular comes after what can be looked up.
            .then_with(|| a.first.is_none().cmp(&b.first.is_none()))
            .then_with(|| a.first.cmp(&b.first))
    });
    found
}

/// What carries a host's data, as far as the log says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    InfiniBand,
    RoCE,
    Unknown,
}

/// The link layer of devices: by the port lists of the hosts, else by what all of a host's ports have.
fn link_of(job: &Job, tally: &Tally) -> Link {
    let mut seen = [false; 2];
    let mut note = |port: &str| {
        if port.contains("/IB") {
            seen[0] = true;
        } else if port.contains("/RoCE") {
            seen[1] = true;
        }
    };
    for (host, on) in &tally.hosts {
        let ports = job.ports_of(*host);
        let mut known = false;
        for device in on.devices.iter().map(|d| device_name(job.names.get(*d))) {
            for port in ports.iter().filter(|p| device_name(p) == device) {
                note(port);
                known = true;
            }
        }
        if !known {
            for port in &ports {
                note(port);
            }
        }
    }
    match seen {
        [true, false] => Link::InfiniBand,
        [false, true] => Link::RoCE,
        _ if tally.gids.0.is_some() || tally.gids.1.is_some() => Link::RoCE,
        _ => Link::Unknown,
    }
}

/// `mlx5_0` of `mlx5_0:1` and of `mlx5_0:1/RoCE`.
fn device_name(port: &str) -> &str {
    port.split([':', '/']).next().unwrap_or(port)
}

/// `NCCL_IB_GID_INDEX=3 was set` or that it was not seen.
fn index_words(job: &Job, tally: Option<&Tally>) -> String {
    let values = job.values_of("NCCL_IB_GID_INDEX");
    if !values.is_empty() {
        return format!("NCCL_IB_GID_INDEX={} is set", values.join(" and "));
    }
    match tally.and_then(|t| t.indexes.first()) {
        Some(index) => format!("GID index {index} was used"),
        None => "the log shows no NCCL_IB_GID_INDEX".to_owned(),
    }
}

/// `1 device`, `3 devices`.
fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
