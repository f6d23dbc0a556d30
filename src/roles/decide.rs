//! Gives each port its role. The order of the rules is the order of the functions below.

use std::collections::BTreeSet;
use std::fmt;

use super::gid::{NoGid, choose_gid};
use super::main_route::{main_netdevs, port_netdevs};
use super::reason::Reason;
use crate::model::{
    Distance, GidRow, Gpu, Hca, LinkLayer, Node, Port, PortKey, PortState, Transport,
};
use crate::nccl::selector::Selector;

/// What a port is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// NCCL's traffic.
    Data,
    /// The host's ordinary traffic.
    Main,
    /// Usable, but not for this.
    Other,
    /// NCCL could not use it.
    Unusable,
}

impl Role {
    /// The word for it in output.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Main => "main",
            Self::Other => "other",
            Self::Unusable => "unusable",
        }
    }
}

/// The two kinds of networks NCCL's verbs transport knows. It cannot mix them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fabric {
    /// `InfiniBand`.
    InfiniBand,
    /// RoCE: RDMA over Ethernet.
    Roce,
}

impl fmt::Display for Fabric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::InfiniBand => "InfiniBand",
            Self::Roce => "RoCE",
        })
    }
}

/// What the user says that no file of the node does.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    /// `--hca LIST`: these ports and no other, in NCCL's grammar.
    pub(crate) hca: Option<Selector>,
    /// `--exclude LIST`: not these; exact names, with `:port` where one port is meant.
    pub(crate) exclude: Vec<String>,
    /// `--main IFNAME`: the interface of the host's ordinary traffic.
    pub(crate) main: Vec<String>,
    /// `--link-layer`.
    pub(crate) fabric: Option<Fabric>,
    /// `--allow-main`: train over the main port even if better ports are merely broken.
    pub(crate) allow_main: bool,
    /// GPUs in use, as indexes in PCI order; `None` for all.
    pub(crate) gpus: Option<Vec<u32>>,
}

/// A port with its role.
#[derive(Debug, Clone)]
pub(crate) struct Assigned {
    /// Which port.
    pub(crate) key: PortKey,
    /// What it is for.
    pub(crate) role: Role,
    /// Why.
    pub(crate) reason: Reason,
    /// Its link layer, when it is one of the two.
    pub(crate) fabric: Option<Fabric>,
    /// The right GID row of a RoCE port, when there is one.
    pub(crate) gid: Option<GidRow>,
    /// Its network devices in this namespace.
    pub(crate) netdevs: BTreeSet<String>,
    /// Distance to each GPU, by the GPU's position; empty without PCI data.
    pub(crate) distances: Vec<Distance>,
    /// The network device that puts it under the default route, when one does.
    pub(crate) main_netdev: Option<String>,
}

impl Assigned {
    /// The distance to the nearest GPU.
    pub(crate) fn nearest(&self) -> Option<Distance> {
        self.distances.iter().min().copied()
    }

    /// Positions of the GPUs at that distance.
    pub(crate) fn nearest_gpus(&self) -> Vec<usize> {
        let nearest = self.nearest();
        (0..)
            .zip(&self.distances)
            .filter(|(_, d)| Some(**d) == nearest)
            .map(|(i, _)| i)
            .collect()
    }

    fn is_near(&self) -> bool {
        self.nearest().is_some_and(Distance::is_near)
    }
}

/// Why there is no data port although ports exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Nothing is usable.
    NothingUsable,
    /// Only main ports are usable, and these better ports are merely broken.
    BetterPortsBroken(Vec<PortKey>),
}

/// Every port's role.
#[derive(Debug, Clone)]
pub(crate) struct Decision {
    /// Ports in the node's order.
    pub(crate) ports: Vec<Assigned>,
    /// Set when no port is `Data`.
    pub(crate) refusal: Option<Refusal>,
    /// The link layer of the data ports.
    pub(crate) fabric: Option<Fabric>,
}

impl Decision {
    /// The data ports in order.
    pub(crate) fn data(&self) -> impl Iterator<Item = &Assigned> {
        self.ports.iter().filter(|p| p.role == Role::Data)
    }

    /// A port's assignment.
    pub(crate) fn port(&self, key: &PortKey) -> Option<&Assigned> {
        self.ports.iter().find(|p| p.key == *key)
    }

    /// True where the data ports carry the host's ordinary traffic too.
    pub(crate) fn only_main(&self) -> bool {
        self.data().any(|p| p.reason == Reason::OnlyMain)
    }
}

/// A port while its role is being decided.
struct Candidate<'a> {
    hca: &'a Hca,
    port: &'a Port,
    assigned: Assigned,
}

impl Candidate<'_> {
    fn set(&mut self, role: Role, reason: Reason) {
        self.assigned.role = role;
        self.assigned.reason = reason;
    }

    /// Still in the running.
    fn open(&self) -> bool {
        self.assigned.role == Role::Data
    }

    /// Cards of one model have the same PCI ids and rate.
    fn model(&self) -> (Option<u16>, Option<u16>, u64) {
        let id = |get: fn(&crate::model::PciFunction) -> Option<u16>| self.hca.pci().and_then(get);
        (
            id(|f| f.vendor.as_ref().ok().copied()),
            id(|f| f.device.as_ref().ok().copied()),
            self.port.rate_mbps(),
        )
    }
}

/// Decides every port's role.
pub(crate) fn decide(node: &Node, rules: &Rules) -> Decision {
    let main = main_netdevs(node, &rules.main);
    let mut candidates: Vec<Candidate> = node
        .ports()
        .map(|(hca, port)| start(node, &main, hca, port))
        .collect();
    let hardware = node.hcas().iter().any(|h| !h.is_software());
    for candidate in candidates.iter_mut().filter(|c| c.open()) {
        if hardware && candidate.hca.is_software() {
            candidate.set(Role::Other, Reason::Software);
        }
    }
    leave_out(rules, &mut candidates);
    if rules.hca.is_none() {
        put_main_aside(&mut candidates);
    }
    keep_one_fabric(rules, &mut candidates);
    if rules.hca.is_none() {
        one_function_of_a_card(node, &mut candidates);
        drop_far(node.gpus(), &mut candidates);
        drop_slow(&mut candidates);
        drop_other_models(node.gpus(), &mut candidates);
    }
    let mut refusal = None;
    if !candidates.iter().any(Candidate::open) {
        refusal = fall_back_to_main(rules, &mut candidates);
        keep_one_fabric(rules, &mut candidates);
    }
    keep_nearest_to(node.gpus(), rules, &mut candidates);
    let ports: Vec<Assigned> = candidates.into_iter().map(|c| c.assigned).collect();
    Decision {
        fabric: ports
            .iter()
            .find(|p| p.role == Role::Data)
            .and_then(|p| p.fabric),
        ports,
        refusal,
    }
}

/// Looks at a port by itself: usable or not, and why.
fn start<'a>(node: &Node, main: &BTreeSet<String>, hca: &'a Hca, port: &'a Port) -> Candidate<'a> {
    let fabric = match port.link_layer {
        Ok(LinkLayer::InfiniBand) => Some(Fabric::InfiniBand),
        Ok(LinkLayer::Ethernet) => Some(Fabric::Roce),
        _ => None,
    };
    let gid = (fabric == Some(Fabric::Roce)).then(|| choose_gid(node, port));
    let chosen = gid.as_ref().and_then(|g| g.as_ref().ok().copied());
    let netdevs = port_netdevs(node, port, chosen);
    let (role, reason) = match unusable(node, hca, port, gid.as_ref()) {
        Some(reason) => (Role::Unusable, reason),
        None => (Role::Data, Reason::Chosen),
    };
    let distances = hca.pci().map_or_else(Vec::new, |pci| {
        node.gpus().iter().map(|g| pci.distance(&g.pci)).collect()
    });
    Candidate {
        assigned: Assigned {
            key: PortKey {
                hca: hca.name.clone(),
                port: port.number,
            },
            role,
            reason,
            fabric,
            gid: chosen.cloned(),
            main_netdev: netdevs.iter().find(|n| main.contains(*n)).cloned(),
            netdevs,
            distances,
        },
        hca,
        port,
    }
}

fn unusable(
    node: &Node,
    hca: &Hca,
    port: &Port,
    gid: Option<&Result<&GidRow, NoGid>>,
) -> Option<Reason> {
    match &port.state {
        Ok(PortState::Active) => {}
        Ok(state) => return Some(Reason::Down(state.clone(), port.phys_state.clone().ok())),
        Err(unread) => return Some(Reason::StateUnread(unread.clone())),
    }
    match hca.transport() {
        Transport::Verbs => {}
        other => return Some(Reason::Transport(other)),
    }
    match &port.link_layer {
        Ok(LinkLayer::Other(_)) => {
            return Some(Reason::UnknownLinkLayer(port.link_layer.clone().ok()?));
        }
        Ok(_) => {}
        Err(unread) => return Some(Reason::StateUnread(unread.clone())),
    }
    let must_have_node = node.dev_infiniband.is_ok() || node.container.is_some();
    let unnumbered = hca.uverbs.number.is_none();
    let missing = unnumbered || hca.uverbs.node_exists == Some(false);
    // Where others have one, the list of those is there, and verbs shows no device that is not in it.
    let unlisted = unnumbered && node.hcas().iter().any(|h| h.uverbs.number.is_some());
    if must_have_node && missing || unlisted {
        return Some(Reason::NoUverbs(hca.uverbs.number));
    }
    match gid {
        Some(Err(no_gid)) => Some(Reason::NoGid(no_gid.clone())),
        Some(Ok(_)) => None,
        None => match port.lid {
            Ok(lid @ (0 | 0xffff)) => Some(Reason::NoLid(lid)),
            _ => None,
        },
    }
}

/// `--hca` and `--exclude`.
fn leave_out(rules: &Rules, candidates: &mut [Candidate]) {
    for candidate in candidates.iter_mut().filter(|c| c.open()) {
        let key = candidate.assigned.key.clone();
        let excluded = is_excluded(rules, &key);
        let listed = rules
            .hca
            .as_ref()
            .map(|list| list.selects(&key.hca, Some(key.port)));
        if excluded || listed == Some(false) {
            candidate.set(Role::Other, Reason::LeftOut);
        } else if listed == Some(true) {
            candidate.set(Role::Data, Reason::Listed);
        }
    }
}

fn is_excluded(rules: &Rules, key: &PortKey) -> bool {
    rules
        .exclude
        .iter()
        .any(|e| *e == key.hca || *e == format!("{}:{}", key.hca, key.port))
}

fn put_main_aside(candidates: &mut [Candidate]) {
    for candidate in candidates.iter_mut().filter(|c| c.open()) {
        if let Some(netdev) = candidate.assigned.main_netdev.clone() {
            candidate.set(Role::Main, Reason::Main(netdev));
        }
    }
}

/// NCCL cannot mix link layers: keeps the one with the greater total rate near the GPUs, then overall.
fn keep_one_fabric(rules: &Rules, candidates: &mut [Candidate]) {
    let total = |fabric: Fabric, near: bool| -> u64 {
        candidates
            .iter()
            .filter(|c| c.open() && c.assigned.fabric == Some(fabric))
            .filter(|c| !near || c.assigned.is_near())
            .map(|c| c.port.rate_mbps().max(1))
            .sum()
    };
    let weight = |fabric| (total(fabric, true), total(fabric, false));
    let kept = rules.fabric.unwrap_or_else(|| {
        if weight(Fabric::InfiniBand) >= weight(Fabric::Roce) {
            Fabric::InfiniBand
        } else {
            Fabric::Roce
        }
    });
    for candidate in candidates.iter_mut().filter(|c| c.open()) {
        if candidate.assigned.fabric != Some(kept) {
            candidate.set(Role::Other, Reason::OtherFabric(kept));
        }
    }
}

/// A physical function and its virtual functions are one card, which NCCL would merge: keeps the one with an address
/// here, and the physical one when both or none have.
fn one_function_of_a_card(node: &Node, candidates: &mut [Candidate]) {
    let has_address = |c: &Candidate| {
        c.assigned
            .netdevs
            .iter()
            .filter_map(|n| node.interface(n))
            .any(|i| i.addresses.iter().any(|a| !a.is_link_local()))
    };
    let cards: BTreeSet<String> = candidates
        .iter()
        .filter(|c| c.open())
        .filter_map(|c| c.hca.physfn.clone())
        .collect();
    for card in cards {
        let of_card = |wanted: &dyn Fn(&Candidate) -> bool| -> Vec<usize> {
            (0..candidates.len())
                .filter(|i| candidates[*i].open() && wanted(&candidates[*i]))
                .collect()
        };
        let physical = of_card(&|c| c.hca.pci().is_some_and(|f| f.dir == card));
        let virtual_ones = of_card(&|c| c.hca.physfn.as_ref() == Some(&card));
        let with_address =
            |all: &[usize]| all.iter().copied().find(|i| has_address(&candidates[*i]));
        let name = |i: usize| candidates[i].assigned.key.hca.clone();
        let (out, reason) = match (with_address(&physical), with_address(&virtual_ones)) {
            (None, Some(one)) => (physical, Reason::PhysicalOfVirtual(name(one))),
            _ => match physical.first() {
                Some(one) => (virtual_ones, Reason::VirtualOfPhysical(name(*one))),
                None => continue,
            },
        };
        for i in out {
            candidates[i].set(Role::Other, reason.clone());
        }
    }
}

/// When some candidates share a switch with a GPU, the others are out, unless they are as fast and the near ones are fewer
/// than half of the GPUs.
fn drop_far(gpus: &[Gpu], candidates: &mut [Candidate]) {
    let near: Vec<u64> = candidates
        .iter()
        .filter(|c| c.open() && c.assigned.is_near())
        .map(|c| c.port.rate_mbps())
        .collect();
    let Some(fastest) = near.iter().max() else {
        return;
    };
    let few = near.len() * 2 < gpus.len();
    for candidate in candidates.iter_mut().filter(|c| c.open()) {
        if candidate.assigned.is_near() || (few && candidate.port.rate_mbps() >= *fastest) {
            continue;
        }
        if let Some(distance) = candidate.assigned.nearest() {
            candidate.set(Role::Other, Reason::Far(distance));
        }
    }
}

fn drop_slow(candidates: &mut [Candidate]) {
    let fastest = candidates
        .iter()
        .filter(|c| c.open())
        .map(|c| c.port.rate_mbps())
        .max()
        .unwrap_or_default();
    for candidate in candidates.iter_mut().filter(|c| c.open()) {
        let rate = candidate.port.rate_mbps();
        // An unknown rate is no slow one.
        if candidate.port.rate.is_ok() && rate * 2 < fastest {
            candidate.set(Role::Other, Reason::Slow(rate, fastest));
        }
    }
}

/// Where one model has a card for each GPU, dual-port cards of another model or rate are the storage or management cards
/// that some servers hang from the same switches.
fn drop_other_models(gpus: &[Gpu], candidates: &mut [Candidate]) {
    const FEWEST: usize = 2;
    let open: Vec<usize> = (0..candidates.len())
        .filter(|i| candidates[*i].open())
        .collect();
    let count = |model| {
        open.iter()
            .filter(|i| candidates[**i].model() == model)
            .count()
    };
    let Some(most) = open
        .iter()
        .map(|i| candidates[*i].model())
        .max_by_key(|m| count(*m))
    else {
        return;
    };
    if count(most) < gpus.len().max(FEWEST) {
        return;
    }
    let others: Vec<usize> = open
        .iter()
        .copied()
        .filter(|i| {
            let c = &candidates[*i];
            c.model() != most && count(c.model()) < count(most) && is_dual_port(candidates, c)
        })
        .collect();
    for i in others {
        candidates[i].set(Role::Other, Reason::OtherModel);
    }
}

/// True where the card has a second port: on the same device, or on another function of the same slot.
fn is_dual_port(all: &[Candidate], one: &Candidate) -> bool {
    all.iter().any(|other| {
        if other.assigned.key == one.assigned.key {
            return false;
        }
        match (one.hca.pci(), other.hca.pci()) {
            (Some(a), Some(b)) => a.address.same_slot(b.address),
            _ => false,
        }
    })
}

/// Only main ports are usable: they are used, unless better ports are merely broken.
fn fall_back_to_main(rules: &Rules, candidates: &mut [Candidate]) -> Option<Refusal> {
    let main: Vec<usize> = (0..candidates.len())
        .filter(|i| candidates[*i].assigned.role == Role::Main)
        .filter(|i| {
            rules
                .fabric
                .is_none_or(|f| candidates[*i].assigned.fabric == Some(f))
        })
        .collect();
    if main.is_empty() {
        return Some(Refusal::NothingUsable);
    }
    let near_gpus_of_main: BTreeSet<usize> = main
        .iter()
        .flat_map(|i| near_gpus(&candidates[*i].assigned))
        .collect();
    let broken: Vec<PortKey> = candidates
        .iter()
        .filter(|c| !is_excluded(rules, &c.assigned.key))
        .filter(|c| is_better_but_broken(c, &near_gpus_of_main))
        .map(|c| c.assigned.key.clone())
        .collect();
    if !broken.is_empty() && !rules.allow_main {
        return Some(Refusal::BetterPortsBroken(broken));
    }
    for i in main {
        candidates[i].set(Role::Data, Reason::OnlyMain);
    }
    None
}

/// Positions of the GPUs that share a switch with a port.
fn near_gpus(port: &Assigned) -> impl Iterator<Item = usize> {
    (0..)
        .zip(&port.distances)
        .filter(|(_, d)| d.is_near())
        .map(|(i, _)| i)
}

fn is_better_but_broken(candidate: &Candidate, near_gpus_of_main: &BTreeSet<usize>) -> bool {
    let near_another_gpu =
        || near_gpus(&candidate.assigned).any(|g| !near_gpus_of_main.contains(&g));
    match &candidate.assigned.reason {
        Reason::Down(PortState::Init | PortState::Armed, _)
            if candidate.assigned.fabric == Some(Fabric::InfiniBand) =>
        {
            true
        }
        Reason::Down(..) | Reason::StateUnread(_) | Reason::NoGid(_) | Reason::NoLid(_) => {
            candidate.hca.transport() == Transport::Verbs && near_another_gpu()
        }
        _ => false,
    }
}

/// GPUs in use: keeps the data ports nearest to them.
fn keep_nearest_to(gpus: &[Gpu], rules: &Rules, candidates: &mut [Candidate]) {
    let Some(used) = &rules.gpus else { return };
    let mut kept: BTreeSet<usize> = BTreeSet::new();
    for (position, _) in (0..).zip(gpus).filter(|(_, g)| used.contains(&g.index)) {
        let distance = |c: &Candidate| c.assigned.distances.get(position).copied();
        let open = || (0..).zip(&*candidates).filter(|(_, c)| c.open());
        let Some(nearest) = open().filter_map(|(_, c)| distance(c)).min() else {
            continue;
        };
        kept.extend(
            open()
                .filter(|(_, c)| distance(c) == Some(nearest))
                .map(|(i, _)| i),
        );
    }
    if kept.is_empty() {
        return;
    }
    for (i, candidate) in (0..).zip(candidates.iter_mut()) {
        if candidate.open() && !kept.contains(&i) {
            candidate.set(Role::Other, Reason::NotForTheseGpus);
        }
    }
}
