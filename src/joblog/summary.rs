//! What the job used: releases, ranks, and for each host network, ports, bootstrap and GPUDirect; equal hosts together.

use std::collections::BTreeMap;

use super::known::Host;
use super::state::Job;
use crate::model::order::natural;

/// The job in short.
#[derive(Debug)]
pub(crate) struct Summary {
    /// NCCL's releases, as the banner writes them.
    pub(crate) releases: Vec<String>,
    /// Hosts that spoke.
    pub(crate) hosts: usize,
    /// Processes that spoke.
    pub(crate) processes: usize,
    /// Ranks of the largest communicator, when it is said.
    pub(crate) ranks: Option<u32>,
    /// Hosts that are alike, most first.
    pub(crate) groups: Vec<Group>,
    /// What NCCL reports as set.
    pub(crate) settings: Vec<Setting>,
    /// Messages of NCCL.
    pub(crate) messages: u64,
}

/// Hosts that used the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Group {
    /// Their names.
    pub(crate) hosts: Vec<String>,
    /// Processes on all of them.
    pub(crate) processes: usize,
    /// Networks in use: `IB`, `Socket`, a plugin's name.
    pub(crate) networks: Vec<String>,
    /// Port lists; more than one where ranks of a host differ.
    pub(crate) ports: Vec<String>,
    /// Interfaces of the bootstrap, and of what arranges connections where that is another.
    pub(crate) bootstrap: Vec<String>,
    /// The bootstrap's address, of a single host.
    pub(crate) address: Option<String>,
    /// Interfaces of the socket transport.
    pub(crate) socket_interfaces: Vec<String>,
    /// Plugins that were loaded.
    pub(crate) plugins: Vec<String>,
    /// Channels to other nodes over the network, and those of them with GPUDirect.
    pub(crate) channels: u64,
    /// Those with GPUDirect.
    pub(crate) gdr_channels: u64,
    /// Channels over sockets.
    pub(crate) socket_channels: u64,
}

/// A variable that NCCL reports, with its value.
#[derive(Debug)]
pub(crate) struct Setting {
    /// Its name.
    pub(crate) name: String,
    /// Its value.
    pub(crate) value: String,
    /// Hosts that have it so.
    pub(crate) hosts: usize,
    /// Their names where not all hosts have it so.
    pub(crate) names: Vec<String>,
}

/// Makes the summary.
pub(crate) fn summary(job: &Job) -> Summary {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for host in &job.hosts {
        let group = alone(job, host);
        let key = format!(
            "{:?}",
            (
                &group.networks,
                &group.ports,
                &group.bootstrap,
                &group.socket_interfaces,
                &group.plugins,
                // Equal hosts have about as many channels; that all, some or none have GPUDirect is what counts.
                group.channels == group.gdr_channels,
                group.gdr_channels > 0,
                group.socket_channels > 0,
            )
        );
        match groups.get_mut(&key) {
            Some(known) => {
                known.hosts.extend(group.hosts);
                known.processes += group.processes;
                known.channels += group.channels;
                known.gdr_channels += group.gdr_channels;
                known.socket_channels += group.socket_channels;
                known.address = None;
            }
            None => {
                groups.insert(key, group);
            }
        }
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    for group in &mut groups {
        group.hosts.sort_by(|a, b| natural(a, b));
    }
    groups.sort_by(|a, b| {
        let first = |g: &Group| g.hosts.first().cloned().unwrap_or_default();
        (b.hosts.len().cmp(&a.hosts.len())).then_with(|| natural(&first(a), &first(b)))
    });
    Summary {
        releases: job
            .releases
            .iter()
            .map(|r| job.names.get(*r).to_owned())
            .collect(),
        hosts: job.hosts.len(),
        processes: job.processes.len(),
        ranks: job
            .processes
            .iter()
            .map(|p| p.ranks)
            .max()
            .filter(|n| *n > 0),
        groups,
        settings: settings(job),
        messages: job.messages,
    }
}

fn alone(job: &Job, host: &Host) -> Group {
    let texts = |list: &[super::intern::Name]| -> Vec<String> {
        list.iter().map(|n| job.names.get(*n).to_owned()).collect()
    };
    let mut bootstrap: Vec<String> = Vec::new();
    let interfaces = host.bootstraps.iter().map(|(n, _)| n);
    for name in interfaces.chain(&host.out_of_band) {
        super::tally::add(&mut bootstrap, job.names.get(*name).to_owned(), 8);
    }
    Group {
        hosts: vec![host.name.clone()],
        processes: host.processes,
        networks: texts(&host.networks),
        ports: texts(&host.ports),
        bootstrap,
        address: host
            .bootstraps
            .first()
            .map(|(_, address)| address.clone())
            .filter(|a| !a.is_empty()),
        socket_interfaces: texts(&host.socket_interfaces),
        plugins: texts(&host.plugins),
        channels: host.channels,
        gdr_channels: host.gdr_channels,
        socket_channels: host.socket_channels,
    }
}

fn settings(job: &Job) -> Vec<Setting> {
    const MOST_NAMES: usize = 8;
    let mut settings: Vec<Setting> = job
        .settings
        .iter()
        .map(|s| Setting {
            name: job.names.get(s.name).to_owned(),
            value: job.names.get(s.value).to_owned(),
            hosts: s.hosts.len(),
            names: if s.hosts.len() == job.hosts.len() {
                Vec::new()
            } else {
                s.hosts
                    .iter()
                    .take(MOST_NAMES)
                    .map(|h| job.host_name(*h).to_owned())
                    .collect()
            },
        })
        .collect();
    settings.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| b.hosts.cmp(&a.hosts)));
    settings
}
