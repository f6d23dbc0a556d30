//! RDMA devices: /sys/class/infiniband, /sys/class/infiniband_verbs and /dev/infiniband.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::pci::read_function;
use super::{Root, Scope};
use crate::model::{
    Gid, GidDepth, GidRow, GidTable, GidType, Hca, Interface, LinkLayer, Netdev, NodeType,
    PciFunction, Port, PortState, Reading, Unread, Uverbs, Why, stack_of,
};
use crate::parse::{
    parse_gid, parse_gid_type, parse_hex, parse_link_layer, parse_node_type, parse_phys_state,
    parse_port_state, parse_rate, parse_rdma_dev_json,
};

const CLASS: &str = "sys/class/infiniband";
/// Where an offline copy has the output of `rdma -j dev`.
const REGISTERED: &str = "commands/rdma-dev.json";

/// Reads every RDMA device, in natural order of their names.
pub(super) fn read_hcas(
    root: &Root,
    scope: Scope,
    netdevs: &[Netdev],
    interfaces: &[Interface],
    nodes_can_be_missing: bool,
) -> Reading<Vec<Hca>> {
    let names = root.list(CLASS)?;
    let uverbs = read_uverbs(root, nodes_can_be_missing);
    let registered = root
        .is_offline()
        .then(|| root.parsed(REGISTERED, parse_rdma_dev_json).ok())
        .flatten()
        .unwrap_or_default();
    let namespace = Namespace {
        netdevs,
        interfaces,
    };
    Ok(names
        .into_iter()
        .map(|name| {
            let uverbs = uverbs.get(&name).copied().unwrap_or_default();
            let ibdev_index = registered.get(&name).copied();
            Hca {
                ibdev_index,
                ..read_hca(root, scope, &namespace, name, uverbs)
            }
        })
        .collect())
}

/// The network devices and addresses of this network namespace, to know which GID rows a port can have.
struct Namespace<'a> {
    netdevs: &'a [Netdev],
    interfaces: &'a [Interface],
}

impl Namespace<'_> {
    /// The RoCE v2 rows that a port with these network devices can have: one for each address that leaves the link, of the
    /// devices themselves, of their masters, and of the VLANs, macvlans and bridges on top.
    fn expected_rows(&self, own: &[String]) -> BTreeSet<(String, IpAddr)> {
        let names = stack_of(self.netdevs, own);
        self.interfaces
            .iter()
            .filter(|i| names.contains(i.name.as_str()))
            .flat_map(|i| i.addresses.iter().map(move |a| (i, a)))
            .filter(|(_, a)| !a.is_link_local())
            .map(|(i, a)| (i.name.clone(), a.ip))
            .collect()
    }
}

/// Maps devices to their uverbs numbers, and tells which have a device node. Where there is no /dev at all, a missing node
/// says nothing.
fn read_uverbs(root: &Root, nodes_can_be_missing: bool) -> BTreeMap<String, Uverbs> {
    const VERBS: &str = "sys/class/infiniband_verbs";
    let nodes: Reading<BTreeSet<String>> =
        root.list("dev/infiniband").map(|n| n.into_iter().collect());
    let mut found = BTreeMap::new();
    for name in root.list(VERBS).unwrap_or_default() {
        let Some(number) = name.strip_prefix("uverbs").and_then(|n| n.parse().ok()) else {
            continue;
        };
        let Ok(device) = root.text(&format!("{VERBS}/{name}/ibdev")) else {
            continue;
        };
        let node_exists = match &nodes {
            Ok(nodes) => Some(nodes.contains(&name)),
            Err(unread) if unread.is_absent() && nodes_can_be_missing => Some(false),
            Err(_) => None,
        };
        found.insert(
            device,
            Uverbs {
                number: Some(number),
                node_exists,
            },
        );
    }
    found
}

fn read_hca(root: &Root, scope: Scope, namespace: &Namespace, name: String, uverbs: Uverbs) -> Hca {
    let entry = format!("{CLASS}/{name}");
    let dir = root.real(&entry).unwrap_or(entry);
    let pci = read_parent(root, &dir);
    let function = pci.as_ref().ok().and_then(Option::as_ref);
    let node_type = root.parsed(&format!("{dir}/node_type"), parse_node_type);
    let inventory = |file: &str| {
        let path = format!("{dir}/{file}");
        if scope.inventory {
            root.text(&path)
        } else {
            Err(Unread::new(path, Why::NotAsked))
        }
    };
    let ports = root.list(&format!("{dir}/ports")).map(|names| {
        let mut numbers: Vec<u32> = names.iter().filter_map(|n| n.parse().ok()).collect();
        numbers.sort_unstable();
        let netdevs = port_netdevs(root, namespace, &dir, function, &numbers);
        numbers
            .into_iter()
            .map(|n| {
                read_port(
                    root,
                    scope,
                    namespace,
                    &format!("{dir}/ports/{n}"),
                    n,
                    netdevs.get(&n),
                )
            })
            .collect()
    });
    let driver = (scope.inventory || node_type != Ok(NodeType::Ca))
        .then(|| root.link(&format!("{}/driver", function?.dir)).ok())
        .flatten()
        .and_then(|target| target.rsplit('/').next().map(str::to_owned));
    Hca {
        physfn: function.and_then(|f| {
            root.link(&format!("{}/physfn", f.dir))
                .ok()
                .map(|t| super::resolve::join_link(&format!("{}/physfn", f.dir), &t))
        }),
        node_guid: inventory("node_guid"),
        sys_image_guid: inventory("sys_image_guid"),
        fw_ver: inventory("fw_ver"),
        hca_type: inventory("hca_type"),
        board_id: inventory("board_id"),
        ibdev_index: None,
        node_type,
        driver,
        uverbs,
        ports,
        pci,
        dir,
        name,
    }
}

/// Finds the PCI function behind a device. `Ok(None)`: a software device, which lives in /sys/devices/virtual.
fn read_parent(root: &Root, dir: &str) -> Reading<Option<PciFunction>> {
    if let Some(function) = read_function(root, dir) {
        return Ok(Some(function));
    }
    let link = format!("{dir}/device");
    match root.real(&link) {
        Ok(parent) => match read_function(root, &parent) {
            Some(function) => Ok(Some(function)),
            None if parent.contains("/virtual/") => Ok(None),
            None => Err(Unread::new(link, Why::Absent)),
        },
        Err(unread) if unread.is_absent() && dir.contains("/virtual/") => Ok(None),
        Err(unread) => Err(unread),
    }
}

/// Tells which network devices belong to which port: those whose own parent is the device's, by `dev_port`, which counts
/// from 0, where it has several ports.
fn port_netdevs(
    root: &Root,
    namespace: &Namespace,
    dir: &str,
    pci: Option<&PciFunction>,
    ports: &[u32],
) -> BTreeMap<u32, Vec<String>> {
    // A sub-function's network devices are below its auxiliary device, next to infiniband/.
    let parent = dir
        .rsplit_once("/infiniband/")
        .map(|(parent, _)| parent)
        .filter(|parent| *parent != "sys/devices/virtual")
        .or(pci.map(|f| f.dir.as_str()));
    let of_parent = |netdev: &&Netdev| {
        parent.is_some_and(|p| {
            netdev
                .dir
                .strip_prefix(p)
                .is_some_and(|rest| rest.starts_with("/net/"))
        })
    };
    // virtio puts a device of its own between the function and its network devices.
    let below_function = |netdev: &&Netdev| {
        pci.is_some_and(|f| netdev.pci == Some(f.address) && !netdev.dir.contains("/mlx5_core.sf."))
    };
    let mut own: Vec<&Netdev> = namespace.netdevs.iter().filter(of_parent).collect();
    if own.is_empty() {
        own = namespace.netdevs.iter().filter(below_function).collect();
    }
    if own.is_empty() && pci.is_none() {
        // Soft-RoCE names its network device itself, also where that is in another namespace.
        let named = root.text(&format!("{dir}/parent")).unwrap_or_default();
        own = namespace
            .netdevs
            .iter()
            .filter(|n| n.name == named)
            .collect();
    }
    let mut found: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for netdev in own {
        if let &[only] = ports {
            found.entry(only).or_default().push(netdev.name.clone());
        } else if let Ok(dev_port) =
            root.parsed(&format!("{}/dev_port", netdev.dir), str::parse::<u32>)
        {
            found
                .entry(dev_port.saturating_add(1))
                .or_default()
                .push(netdev.name.clone());
        }
    }
    found
}

fn read_port(
    root: &Root,
    scope: Scope,
    namespace: &Namespace,
    dir: &str,
    number: u32,
    netdevs: Option<&Vec<String>>,
) -> Port {
    let netdevs = netdevs.cloned().unwrap_or_default();
    let state = root.parsed(&format!("{dir}/state"), parse_port_state);
    let link_layer = root
        .text(&format!("{dir}/link_layer"))
        .map(|t| parse_link_layer(&t));
    let roce = link_layer == Ok(LinkLayer::Ethernet);
    let active = state == Ok(PortState::Active);
    let mut port = Port {
        number,
        phys_state: parsed_if(
            scope.inventory || !active,
            root,
            dir,
            "phys_state",
            parse_phys_state,
        ),
        rate: root.parsed(&format!("{dir}/rate"), parse_rate),
        lid: parsed_if(scope.inventory || !roce, root, dir, "lid", parse_hex),
        sm_lid: parsed_if(scope.inventory, root, dir, "sm_lid", parse_hex),
        gids: Err(Unread::new(format!("{dir}/gids"), Why::NotAsked)),
        state,
        link_layer,
        netdevs,
    };
    match scope.gids {
        GidDepth::All => port.gids = read_gid_table(root, dir, None),
        GidDepth::Needed if port.is_active() && port.link_layer == Ok(LinkLayer::Ethernet) => {
            let expected = namespace.expected_rows(&port.netdevs);
            port.gids = read_gid_table(root, dir, (!expected.is_empty()).then_some(expected));
        }
        GidDepth::Needed => {}
    }
    port
}

/// Reads and parses a file, if somebody wants it.
fn parsed_if<T, E>(
    wanted: bool,
    root: &Root,
    dir: &str,
    file: &str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Reading<T> {
    let path = format!("{dir}/{file}");
    if wanted {
        root.parsed(&path, parse)
    } else {
        Err(Unread::new(path, Why::NotAsked))
    }
}

/// Reads a GID table. With `expected` rows it ends as soon as all of them were found, and the length stays unknown.
fn read_gid_table(
    root: &Root,
    port: &str,
    expected: Option<BTreeSet<(String, IpAddr)>>,
) -> Reading<GidTable> {
    let mut table = GidTable::default();
    let mut next = 0;
    if let Some(mut expected) = expected {
        // An error is the end of the table, or a row that cannot be read: the listing tells what else there is.
        while let Ok(row) = read_row(root, port, next, &mut table) {
            next += 1;
            if let Some(row) = row {
                if let (Ok(GidType::V2), Ok(ndev)) = (&row.kind, &row.ndev) {
                    expected.remove(&(ndev.clone(), row.gid.address()));
                }
                table.rows.push(row);
            }
            if expected.is_empty() {
                return Ok(table);
            }
        }
        table.unread.clear();
    }
    let mut indexes: Vec<u32> = root
        .list(&format!("{port}/gids"))?
        .iter()
        .filter_map(|n| n.parse().ok())
        .collect();
    indexes.sort_unstable();
    table.len = Some(indexes.last().map_or(0, |last| last.saturating_add(1)));
    for index in indexes.into_iter().filter(|i| *i >= next) {
        if let Ok(Some(row)) = read_row(root, port, index, &mut table) {
            table.rows.push(row);
        }
    }
    Ok(table)
}

/// Reads one row. `None`: it is empty. A GID that cannot be read is kept in the table's list of those.
fn read_row(
    root: &Root,
    port: &str,
    index: u32,
    table: &mut GidTable,
) -> Result<Option<GidRow>, Why> {
    let path = format!("{port}/gids/{index}");
    let gid: Gid = match root.parsed(&path, parse_gid) {
        Ok(gid) => gid,
        Err(unread) => {
            let why = unread.why.clone();
            if why != Why::Absent {
                table.unread.push((index, unread));
            }
            return Err(why);
        }
    };
    if gid == Gid([0; 16]) {
        return Ok(None);
    }
    // The kernel never writes nothing there.
    let attribute = |name: &str| {
        let path = format!("{port}/gid_attrs/{name}/{index}");
        match root.text(&path) {
            Ok(text) if text.is_empty() => Err(Unread::malformed(path, "")),
            text => text,
        }
    };
    let kind = attribute("types");
    // Old kernels show an unused row as the bare link-local prefix; it has no type then.
    if gid.is_empty() && kind.is_err() {
        return Ok(None);
    }
    Ok(Some(GidRow {
        index,
        gid,
        ndev: attribute("ndevs"),
        kind: kind.map(|t| parse_gid_type(&t)),
    }))
}
