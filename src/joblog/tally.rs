//! Messages of one kind, counted; of hosts, devices and ranks so many are kept as a person can look at.

use std::collections::{BTreeMap, BTreeSet};

use super::event::{Kind, Problem};
use super::intern::Name;
use super::text::cut;
use crate::model::Gid;

/// Where a message stands: number of the input, line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) file: usize,
    pub(super) line: u64,
}

/// Number of a host in [`super::state::Job`].
pub(super) type HostId = usize;

const MOST_SAMPLE: usize = 400;
const MOST_DEVICES: usize = 40;
const MOST_RANKS: usize = 256;
const MOST_PEERS: usize = 16;
const MOST_HOSTS: usize = 2048;

/// Adds to a short list what is not in it yet.
pub(super) fn add<T: PartialEq>(list: &mut Vec<T>, item: T, most: usize) {
    if list.len() < most && !list.contains(&item) {
        list.push(item);
    }
}

/// All messages of one kind.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) kind: Kind,
    pub(super) count: u64,
    pub(super) first: Place,
    /// The first message.
    pub(super) sample: String,
    /// GIDs of the first message that shows any.
    pub(super) gids: (Option<Gid>, Option<Gid>),
    pub(super) indexes: BTreeSet<i32>,
    pub(super) peers: BTreeSet<String>,
    pub(super) ranks: BTreeSet<u32>,
    pub(super) hosts: BTreeMap<HostId, OnHost>,
}

/// A kind's messages from one host.
#[derive(Debug, Default)]
pub(super) struct OnHost {
    pub(super) count: u64,
    pub(super) devices: Vec<Name>,
}

impl Tally {
    /// Starts with the first message.
    pub(super) fn new(kind: Kind, first: Place, sample: &str) -> Self {
        Self {
            kind,
            count: 0,
            first,
            sample: cut(sample.trim(), MOST_SAMPLE).to_owned(),
            gids: (None, None),
            indexes: BTreeSet::new(),
            peers: BTreeSet::new(),
            ranks: BTreeSet::new(),
            hosts: BTreeMap::new(),
        }
    }

    /// Counts a message.
    pub(super) fn count(
        &mut self,
        problem: &Problem,
        host: HostId,
        device: Option<Name>,
        rank: Option<u32>,
    ) {
        self.count += 1;
        if self.gids == (None, None) {
            self.gids = (problem.local, problem.remote);
        }
        if let Some(index) = problem.index
            && self.indexes.len() < MOST_PEERS
        {
            self.indexes.insert(index);
        }
        if let Some(peer) = problem.peer
            && self.peers.len() < MOST_PEERS
            && !self.peers.contains(peer)
        {
            self.peers.insert(peer.to_owned());
        }
        if let Some(rank) = rank
            && self.ranks.len() < MOST_RANKS
        {
            self.ranks.insert(rank);
        }
        if self.hosts.len() < MOST_HOSTS || self.hosts.contains_key(&host) {
            let on = self.hosts.entry(host).or_default();
            on.count += 1;
            if let Some(device) = device {
                add(&mut on.devices, device, MOST_DEVICES);
            }
        }
    }
}
