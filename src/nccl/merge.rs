//! Which devices NCCL joins into one: in its transport before 2.24.3, in its topology step since.
//!
//! Source: `ncclIbFindMatchingDev` and `ncclIbInit` (`net_ib.cc`), `ncclIbMakeVDeviceInternal` (`net_ib/init.cc` from 2.29.2),
//! `ncclTopoMakeVNics` and what it calls (`src/graph/topo.cc`).

use super::config::Settings;
use super::device::{Device, Link};
use super::distance::{Place, Reach};
use super::number::cut;
use super::outcome::{Code, Crash};
use super::release::{Feature, Release};
use super::selector::Selector;
use crate::model::Node;

/// Devices the transport joins into one (`NCCL_IB_MAX_DEVS_PER_NIC` before 2.24.3).
const MAX_IN_TRANSPORT: usize = 2;

/// Devices the topology step joins into one. The transport that NCCL brings along keeps this limit when plugins may have
/// eight, because it states no plugin version (`topo.cc`, `ncclNetVer`).
const MAX_IN_TOPOLOGY: usize = 4;

/// Devices NCCL uses as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Merged {
    /// The names, joined by `+`.
    pub(crate) name: String,
    /// Sum of the speeds in Mbit/s.
    pub(crate) speed_mbps: u64,
    /// Positions in the list of devices.
    pub(crate) members: Vec<usize>,
}

impl Merged {
    fn of(members: Vec<usize>, devices: &[Device<'_>]) -> Self {
        let of = |index: &usize| devices.get(*index);
        let names: Vec<_> = members
            .iter()
            .filter_map(of)
            .map(|d| d.hca.name.as_str())
            .collect();
        Self {
            name: names.join("+"),
            speed_mbps: members
                .iter()
                .filter_map(of)
                .map(Device::speed_mbps)
                .fold(0, u64::saturating_add),
            members,
        }
    }
}

/// How joining ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Merging {
    /// The joined devices, in the order in which they are made.
    pub(crate) merged: Vec<Merged>,
    /// The topology step's result; anything but success and NCCL cannot start.
    pub(crate) result: Code,
}

impl Merging {
    fn of(merged: Vec<Merged>) -> Self {
        Self {
            merged,
            result: Code::Success,
        }
    }
}

/// Returns which devices are joined, or how NCCL dies on the way.
pub(crate) fn merge(
    devices: &[Device<'_>],
    node: &Node,
    settings: &Settings,
    release: Release,
) -> Result<Merging, Crash> {
    if release.has(Feature::TransportMerge) {
        in_transport(devices, settings, release).map(Merging::of)
    } else if release.has(Feature::TopologyMerge) && !devices.is_empty() {
        Topology::of(devices, node, settings, release).merge(settings)
    } else {
        Ok(Merging::of(Vec::new()))
    }
}

fn may_merge(settings: &Settings) -> bool {
    cut(settings.integer("NCCL_IB_MERGE_NICS", 1)) != 0
}

/// Joins each device to the first with the same path, image GUID and link that has room.
///
/// Each comparison is one of paths, and the process dies where one of them is missing.
fn in_transport(
    devices: &[Device<'_>],
    settings: &Settings,
    release: Release,
) -> Result<Vec<Merged>, Crash> {
    if !may_merge(settings) {
        return Ok(Vec::new());
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, device) in devices.iter().enumerate() {
        let mut joined = false;
        for group in groups.iter_mut().filter(|g| g.len() < MAX_IN_TRANSPORT) {
            let Some(first) = group.first().and_then(|i| devices.get(*i)) else {
                continue;
            };
            let (Some(card), Some(other)) = (&device.card, &first.card) else {
                return Err(Crash::NoDevicePath);
            };
            let same_image =
                device.hca.sys_image_guid.as_ref().ok() == first.hca.sys_image_guid.as_ref().ok();
            if card == other && same_image && device.link == first.link {
                group.push(index);
                joined = true;
                break;
            }
        }
        if !joined {
            groups.push(vec![index]);
        }
    }
    let first_len = groups.first().map_or(0, Vec::len);
    if release.has(Feature::MixStopsMerge) && groups.iter().any(|g| g.len() != first_len) {
        return Ok(Vec::new());
    }
    Ok(groups
        .into_iter()
        .filter(|g| g.len() > 1)
        .map(|g| Merged::of(g, devices))
        .collect())
}

/// The topology step's view of the devices.
struct Topology<'a> {
    devices: &'a [Device<'a>],
    places: Vec<Place>,
    /// Devices that are in a virtual device, or stay alone.
    placed: Vec<bool>,
    /// Whether the transport agrees to join anything.
    may_merge: bool,
    /// Only devices of one rail are joined.
    by_rail: bool,
    release: Release,
}

impl<'a> Topology<'a> {
    fn of(devices: &'a [Device<'a>], node: &Node, settings: &Settings, release: Release) -> Self {
        Self {
            devices,
            places: Place::of_all(devices, node),
            placed: vec![false; devices.len()],
            may_merge: may_merge(settings),
            by_rail: release.has(Feature::MergePolicy)
                && settings
                    .get("NCCL_NET_MERGE_POLICY")
                    .is_some_and(|p| p.eq_ignore_ascii_case("RAIL")),
            release,
        }
    }

    fn merge(mut self, settings: &Settings) -> Result<Merging, Crash> {
        let mut groups = Vec::new();
        let forced = settings.get("NCCL_NET_FORCE_MERGE").unwrap_or_default();
        for group in forced.split(';').filter(|g| !g.is_empty()) {
            match self.force(group)? {
                Ok(members) if members.len() > 1 => groups.push(members),
                Ok(_) => {}
                Err(result) => {
                    return Ok(Merging {
                        merged: self.named(groups),
                        result,
                    });
                }
            }
        }
        groups.extend(self.automatic(Reach::of_level(settings.get("NCCL_NET_MERGE_LEVEL"))));
        let result = self.hang_in(&groups);
        Ok(Merging {
            merged: self.named(groups),
            result,
        })
    }

    fn named(&self, groups: Vec<Vec<usize>>) -> Vec<Merged> {
        groups
            .into_iter()
            .map(|g| Merged::of(g, self.devices))
            .collect()
    }

    /// Joins one group of `NCCL_NET_FORCE_MERGE`: every entry must match exactly one device.
    fn force(&mut self, group: &str) -> Result<Result<Vec<usize>, Code>, Crash> {
        let limit = if self.release.has(Feature::EightInGroup) {
            8
        } else {
            MAX_IN_TOPOLOGY
        };
        let selector = Selector::group(group, limit, self.release);
        if selector.entries.is_empty() {
            return Err(Crash::EmptyMergeGroup);
        }
        let members: Vec<usize> = self
            .devices
            .iter()
            .enumerate()
            .filter(|(_, d)| selector.selects(&d.hca.name, Some(d.net_port())))
            .map(|(index, _)| index)
            .collect();
        if members.len() != selector.entries.len()
            || members.len() > MAX_IN_TOPOLOGY
            || !self.can_join(&members)
        {
            return Ok(Err(Code::InvalidUsage));
        }
        for index in &members {
            self.place(*index, true);
        }
        Ok(Ok(members))
    }

    /// Joins what is left, each device with all that are near enough.
    fn automatic(&mut self, level: Reach) -> Vec<Vec<usize>> {
        let count = self.devices.len();
        let mut apart = vec![false; count * count];
        let mut groups = Vec::new();
        let mut seed = 0;
        while seed < count {
            if self.is_placed(seed) {
                seed += 1;
                continue;
            }
            let near = (0..count).filter(|other| {
                *other != seed
                    && !self.is_placed(*other)
                    && apart.get(seed * count + other) == Some(&false)
                    && self.reach(seed, *other) <= level
                    && (!self.by_rail || self.is_same_rail(seed, *other))
            });
            let members: Vec<usize> = std::iter::once(seed)
                .chain(near.take(MAX_IN_TOPOLOGY - 1))
                .collect();
            if self.can_join(&members) {
                for index in &members {
                    self.place(*index, true);
                }
                if members.len() > 1 {
                    groups.push(members);
                }
                seed += 1;
                continue;
            }
            // The pairs that failed are never tried again, and the search starts over at the second device.
            for other in members.iter().skip(1) {
                for pair in [seed * count + other, other * count + seed] {
                    if let Some(apart) = apart.get_mut(pair) {
                        *apart = true;
                    }
                }
            }
            seed = 1;
        }
        groups
    }

    /// Whether the transport makes a virtual device of these. One device alone needs none.
    fn can_join(&self, members: &[usize]) -> bool {
        let links: Vec<Link> = members
            .iter()
            .filter_map(|i| self.devices.get(*i))
            .map(|d| d.link)
            .collect();
        let mixed = links.windows(2).any(|pair| pair.first() != pair.last());
        members.len() < 2
            || (self.may_merge && !(mixed && self.release.has(Feature::MergeChecksLink)))
    }

    /// Hangs the virtual devices into the tree, which has no place for one across CPUs.
    fn hang_in(&self, groups: &[Vec<usize>]) -> Code {
        if !self.release.has(Feature::MergeWithinNuma) {
            return Code::Success;
        }
        for group in groups {
            let mut places = group.iter().filter_map(|i| self.places.get(*i));
            let Some(first) = places.next() else { continue };
            let rest: Vec<_> = places.collect();
            if rest.iter().any(|p| first.is_across_cpus(p)) {
                return Code::InvalidArgument;
            }
            let below_cpu = rest.iter().any(|p| first.reach(p) == Reach::Phb);
            if below_cpu && first.is_off_pci() {
                return Code::InternalError;
            }
        }
        Code::Success
    }

    fn reach(&self, a: usize, b: usize) -> Reach {
        match (self.places.get(a), self.places.get(b)) {
            (Some(a), Some(b)) => a.reach(b),
            _ => Reach::Disconnected,
        }
    }

    fn is_same_rail(&self, a: usize, b: usize) -> bool {
        let rail = |index: usize| self.devices.get(index).and_then(|d| d.rail);
        rail(a).is_some() && rail(a) == rail(b)
    }

    fn is_placed(&self, index: usize) -> bool {
        self.placed.get(index) == Some(&true)
    }

    fn place(&mut self, index: usize, placed: bool) {
        if let Some(slot) = self.placed.get_mut(index) {
            *slot = placed;
        }
    }
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
