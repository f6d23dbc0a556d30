//! What the checks of ports, GIDs and devices share: the names of files, what a port is worth, how bad its loss is.

use std::collections::BTreeSet;

use crate::checks::{Facts, Finding, Severity};
use crate::model::{
    Gid, GidRow, GidType, Hca, LinkLayer, PhysState, Port, PortKey, PortState, Transport,
};
use crate::nccl::release::Release;
use crate::roles::{Assigned, Fabric, Reason, Role};

/// Adds the command that shows a link's state, where it is an `mlx5` device: others are unknown to `mlxlink`.
pub(in crate::checks) fn with_mlxlink(
    finding: Finding,
    facts: &Facts,
    key: &PortKey,
    options: &str,
) -> Finding {
    let mlx5 = facts
        .node
        .hca(&key.hca)
        .is_some_and(|h| h.driver.as_deref() == Some("mlx5_core"));
    if !mlx5 {
        return finding;
    }
    let command = format!("mlxlink -d {} -p {} {options}", key.hca, key.port);
    finding.command(command.trim_end())
}

/// The key of a port.
pub(in crate::checks) fn key(hca: &Hca, port: &Port) -> PortKey {
    PortKey {
        hca: hca.name.clone(),
        port: port.number,
    }
}

/// A file of a port, by the path people type.
pub(in crate::checks) fn port_file(key: &PortKey, file: &str) -> String {
    format!("sys/class/infiniband/{}/ports/{}/{file}", key.hca, key.port)
}

/// A file of a device, by the path people type.
pub(in crate::checks) fn device_file(name: &str, file: &str) -> String {
    format!("sys/class/infiniband/{name}/{file}")
}

/// A state as its file holds it: `1: DOWN`.
pub(in crate::checks) fn state_text(state: &PortState) -> String {
    let number = match state {
        PortState::Nop => 0,
        PortState::Down => 1,
        PortState::Init => 2,
        PortState::Armed => 3,
        PortState::Active => 4,
        PortState::ActiveDefer => 5,
        PortState::Other(text) => return text.clone(),
    };
    format!("{number}: {state}")
}

/// A physical state as its file holds it: `2: Polling`.
pub(in crate::checks) fn phys_text(state: &PhysState) -> String {
    let number = match state {
        PhysState::Sleep => 1,
        PhysState::Polling => 2,
        PhysState::Disabled => 3,
        PhysState::Training => 4,
        PhysState::LinkUp => 5,
        PhysState::ErrorRecovery => 6,
        PhysState::PhyTest => 7,
        PhysState::Other(text) => return text.clone(),
    };
    format!("{number}: {state}")
}

/// Adds the files of a port's state to a finding.
pub(in crate::checks) fn with_state(finding: Finding, key: &PortKey, port: &Port) -> Finding {
    let mut finding = finding;
    if let Ok(state) = &port.state {
        finding = finding.file(&port_file(key, "state"), state_text(state));
    }
    if let Ok(state) = &port.phys_state {
        finding = finding.file(&port_file(key, "phys_state"), phys_text(state));
    }
    finding
}

/// True for a port of a hardware device that speaks NCCL's transport.
pub(in crate::checks) fn is_candidate(hca: &Hca) -> bool {
    !hca.is_software() && hca.transport() == Transport::Verbs
}

/// What makes two ports of one kind: PCI ids and link layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::checks) struct Model {
    vendor: Option<u16>,
    device: Option<u16>,
    link_layer: Option<LinkLayer>,
}

/// The kind of a port.
pub(in crate::checks) fn model(hca: &Hca, port: &Port) -> Model {
    Model {
        vendor: hca.pci().and_then(|f| f.vendor.as_ref().ok().copied()),
        device: hca.pci().and_then(|f| f.device.as_ref().ok().copied()),
        link_layer: port.link_layer.as_ref().ok().cloned(),
    }
}

/// The kinds of the data ports.
pub(in crate::checks) fn data_models(facts: &Facts) -> Vec<Model> {
    facts
        .decision
        .data()
        .filter_map(|a| facts.node.port(&a.key))
        .map(|(hca, port)| model(hca, port))
        .collect()
}

/// Positions of the GPUs that share a switch with a port.
pub(in crate::checks) fn near_gpus(port: &Assigned) -> BTreeSet<usize> {
    (0..)
        .zip(&port.distances)
        .filter(|(_, d)| d.is_near())
        .map(|(i, _)| i)
        .collect()
}

/// How many data ports share a switch with each GPU.
pub(in crate::checks) fn near_data_ports(facts: &Facts) -> Vec<usize> {
    let mut counts = vec![0; facts.node.gpus().len()];
    for port in facts.decision.data() {
        for gpu in near_gpus(port) {
            if let Some(count) = counts.get_mut(gpu) {
                *count += 1;
            }
        }
    }
    counts
}

/// True for a port that could be a data port by what it is: of their kind, or near a GPU where there is none.
pub(in crate::checks) fn is_data_grade(facts: &Facts, hca: &Hca, port: &Port) -> bool {
    let models = data_models(facts);
    if !models.is_empty() {
        return models.contains(&model(hca, port));
    }
    facts
        .decision
        .port(&key(hca, port))
        .is_some_and(|a| !near_gpus(a).is_empty())
}

/// True where the node has a data port for each GPU, so that none more is missed.
pub(in crate::checks) fn has_enough(facts: &Facts) -> bool {
    let data = facts.decision.data().count();
    data > 0
        && data >= facts.node.gpus().len()
        && facts.expect.hcas.is_none_or(|wanted| data >= wanted)
}

/// How bad it is that a port cannot be used: an error where it leaves the node without a data port.
pub(in crate::checks) fn severity_of_loss(facts: &Facts) -> Severity {
    if facts.decision.data().next().is_none() {
        Severity::Error
    } else {
        Severity::Warning
    }
}

/// The RoCE data ports with their assignments.
pub(in crate::checks) fn roce_data<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a Assigned> {
    facts
        .decision
        .data()
        .filter(|p| p.fabric == Some(Fabric::Roce))
}

/// RoCE ports whose GID table was judged: usable ones, and those that fail by their GIDs alone.
pub(in crate::checks) fn judged_by_gid<'a>(
    facts: &Facts<'a>,
) -> impl Iterator<Item = &'a Assigned> {
    facts.decision.ports.iter().filter(|p| {
        p.fabric == Some(Fabric::Roce)
            && p.reason != Reason::Software
            && (p.role != Role::Unusable || matches!(p.reason, Reason::NoGid(_)))
    })
}

/// A GID as its file holds it: eight groups of four digits.
pub(in crate::checks) fn gid_text(gid: Gid) -> String {
    let groups: Vec<String> = gid
        .0
        .chunks(2)
        .map(|pair| pair.iter().map(|b| format!("{b:02x}")).collect())
        .collect();
    groups.join(":")
}

/// Adds a row of a port's GID table to a finding.
pub(in crate::checks) fn with_row(finding: Finding, key: &PortKey, row: &GidRow) -> Finding {
    finding.file(
        &port_file(key, &format!("gids/{}", row.index)),
        gid_text(row.gid),
    )
}

/// Adds the type of a row to a finding.
pub(in crate::checks) fn with_type(finding: Finding, key: &PortKey, row: &GidRow) -> Finding {
    let text = match &row.kind {
        Ok(GidType::V1) => "IB/RoCE v1",
        Ok(GidType::V2) => "RoCE v2",
        Ok(GidType::Other(text)) => text,
        Err(_) => return finding,
    };
    finding.file(
        &port_file(key, &format!("gid_attrs/types/{}", row.index)),
        text,
    )
}

/// Adds the network device of a row to a finding.
pub(in crate::checks) fn with_ndev(finding: Finding, key: &PortKey, row: &GidRow) -> Finding {
    match &row.ndev {
        Ok(ndev) => finding.file(
            &port_file(key, &format!("gid_attrs/ndevs/{}", row.index)),
            ndev,
        ),
        Err(_) => finding,
    }
}

/// What gives a container a network device of an RDMA card.
pub(in crate::checks) const ASK_FOR_NETDEV: &str = "give the container its own netdev of this card: Docker --network host; \
     in a pod a macvlan, SR-IOV or host-device network (k8s.v1.cni.cncf.io/networks), or hostNetwork: true";

/// The releases to judge by: those in use, the newest one where none is known.
pub(in crate::checks) fn releases(facts: &Facts) -> Vec<Release> {
    if facts.releases.is_empty() {
        vec![Release::NEWEST]
    } else {
        facts.releases.to_vec()
    }
}

/// Joins names.
pub(in crate::checks) fn joined<T: ToString>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<String> = names.into_iter().map(|n| n.to_string()).collect();
    names.join(", ")
}

/// Joins at most three names and says how many more there are; the subject of a finding has them all.
pub(in crate::checks) fn some_of<T: ToString>(names: impl IntoIterator<Item = T>) -> String {
    const SHOWN: usize = 3;
    let names: Vec<String> = names.into_iter().map(|n| n.to_string()).collect();
    match names.get(..SHOWN) {
        Some(first) if names.len() > SHOWN + 1 => {
            format!("{} and {} more", first.join(", "), names.len() - SHOWN)
        }
        _ => names.join(", "),
    }
}

/// The first name and how many more there are; for messages that need the room.
pub(in crate::checks) fn brief<T: ToString>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<String> = names.into_iter().map(|n| n.to_string()).collect();
    match names.as_slice() {
        [first, _, _, ..] => format!("{first} and {} more", names.len() - 1),
        few => few.join(", "),
    }
}

/// `1 port`, `2 ports`.
pub(in crate::checks) fn counted(number: usize, one: &str) -> String {
    if number == 1 {
        format!("1 {one}")
    } else {
        format!("{number} {one}s")
    }
}

/// Mbit/s as people write it: `400 Gb/s`, `2.5 Gb/s`.
pub(in crate::checks) fn gbps(mbps: u64) -> String {
    let (whole, rest) = (mbps / 1000, mbps % 1000 / 100);
    if rest == 0 {
        format!("{whole} Gb/s")
    } else {
        format!("{whole}.{rest} Gb/s")
    }
}

#[cfg(test)]
mod tests {
    use super::{gbps, some_of};

    #[test]
    fn long_lists_are_cut_and_counted() {
        assert_eq!(some_of(["a", "b", "c", "d"]), "a, b, c, d");
        assert_eq!(some_of(["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
        assert_eq!(some_of(Vec::<String>::new()), "");
    }

    #[test]
    fn rates_keep_one_place() {
        assert_eq!(gbps(2500), "2.5 Gb/s");
        assert_eq!(gbps(400_000), "400 Gb/s");
    }
}
