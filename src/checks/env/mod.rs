//! The checks of the family `env`: what NCCL makes of the settings that are there, on this node.
//!
//! Each looks at an [`Analysis`]; without settings there is none, and nothing to say.

mod comm_id_interface;
mod config_syntax;
mod contradiction;
mod data_port_left_out;
mod dynamic_gid_wrong;
mod from_config_file;
mod gid;
mod gid_index_on_infiniband;
mod gid_index_unset_old;
mod gid_index_wrong;
mod gpudirect_off;
mod ib_disable_value;
mod ib_disabled;
mod includes_main;
mod includes_other;
mod includes_unusable;
mod interface_local_only;
mod interface_missing;
mod interface_no_address;
mod interface_not_default_route;
mod interface_prefix_of_several;
mod merge_hazard;
mod mixed_link_layers;
mod net_socket;
mod newer_than_release;
mod not_as_chosen;
mod number_syntax;
mod p2p_disabled;
mod per_rank_list;
mod pid1_only;
mod plugin;
mod plugin_ignores;
mod port_zero_or_absent;
mod remedy;
mod removed_variable;
mod renamed_variable;
mod selector_matches_more;
mod selector_matches_nothing;
mod selector_syntax;
mod selector_unknown_device;
mod start_fails;
mod too_many_entries;
mod topo_file_missing;
mod unknown_variable;
mod value_out_of_range;

use super::{Check, Collector, Facts, Finding, Severity, Verdict};
use crate::lint::{Analysis, DeadEntry, Judged, Why, dead_entries};
use crate::model::PortKey;
use crate::nccl::interface::SocketInterface;
use crate::nccl::selector::{Entry, Selector};
use crate::roles::{Assigned, Reason, Role};

/// The family's checks, in the order in which they are reported.
pub(crate) const ALL: &[&Check] = &[
    &selector_matches_nothing::SELECTOR_MATCHES_NOTHING,
    &selector_matches_more::SELECTOR_MATCHES_MORE,
    &selector_syntax::SELECTOR_SYNTAX,
    &selector_unknown_device::SELECTOR_UNKNOWN_DEVICE,
    &port_zero_or_absent::PORT_ZERO_OR_ABSENT,
    &too_many_entries::TOO_MANY_ENTRIES,
    &includes_main::INCLUDES_MAIN,
    &includes_other::INCLUDES_OTHER,
    &includes_unusable::INCLUDES_UNUSABLE,
    &mixed_link_layers::MIXED_LINK_LAYERS,
    &data_port_left_out::DATA_PORT_LEFT_OUT,
    &per_rank_list::PER_RANK_LIST,
    &merge_hazard::MERGE_HAZARD,
    &gid_index_wrong::GID_INDEX_WRONG,
    &gid_index_unset_old::GID_INDEX_UNSET_OLD,
    &gid_index_on_infiniband::GID_INDEX_ON_INFINIBAND,
    &dynamic_gid_wrong::DYNAMIC_GID_WRONG,
    &interface_missing::INTERFACE_MISSING,
    &interface_no_address::INTERFACE_NO_ADDRESS,
    &interface_prefix_of_several::INTERFACE_PREFIX_OF_SEVERAL,
    &interface_local_only::INTERFACE_LOCAL_ONLY,
    &interface_not_default_route::INTERFACE_NOT_DEFAULT_ROUTE,
    &comm_id_interface::COMM_ID_INTERFACE,
    &ib_disabled::IB_DISABLED,
    &ib_disable_value::IB_DISABLE_VALUE,
    &net_socket::NET_SOCKET,
    &p2p_disabled::P2P_DISABLED,
    &gpudirect_off::GPUDIRECT_OFF,
    &number_syntax::NUMBER_SYNTAX,
    &value_out_of_range::VALUE_OUT_OF_RANGE,
    &unknown_variable::UNKNOWN_VARIABLE,
    &renamed_variable::RENAMED_VARIABLE,
    &removed_variable::REMOVED_VARIABLE,
    &newer_than_release::NEWER_THAN_RELEASE,
    &config_syntax::CONFIG_SYNTAX,
    &from_config_file::FROM_CONFIG_FILE,
    &pid1_only::PID1_ONLY,
    &topo_file_missing::TOPO_FILE_MISSING,
    &plugin_ignores::PLUGIN_IGNORES,
    &contradiction::CONTRADICTION,
    &start_fails::START_FAILS,
    &not_as_chosen::NOT_AS_CHOSEN,
];

const DISABLE: &str = "NCCL_IB_DISABLE";
const HCA: &str = "NCCL_IB_HCA";
const GID_INDEX: &str = "NCCL_IB_GID_INDEX";
const IFNAME: &str = "NCCL_SOCKET_IFNAME";

/// Variables that say how many ranks a node has.
const RANKS: [&str; 3] = [
    "LOCAL_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MPI_LOCALNRANKS",
];

/// The verdict of a check over every release in use.
fn judge(facts: &Facts, find: fn(&Analysis, &Judged) -> Vec<Finding>) -> Verdict {
    let mut collector = Collector::default();
    if let Some(analysis) = facts.lint {
        collector.look();
        let foreign = plugin::has_own_rules(analysis);
        for mut finding in analysis.over_releases(find) {
            // What such a plugin makes of NCCL's variables is not known here.
            if foreign && finding.subject.starts_with("NCCL_IB_") {
                finding.severity = Severity::Note;
            }
            collector.find(finding);
        }
    }
    collector.verdict("no NCCL setting is present")
}

/// The first few of some things, and how many more there are.
fn joined<T: ToString>(things: &[T]) -> String {
    const MOST: usize = 3;
    if things.is_empty() {
        return "none".to_owned();
    }
    let names: Vec<String> = things.iter().take(MOST).map(ToString::to_string).collect();
    match things.len().checked_sub(MOST) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names.join(", ")),
    }
}

fn device_list(j: &Judged) -> Selector {
    Selector::devices(j.value(HCA), j.release)
}

fn interface_list(j: &Judged) -> Selector {
    Selector::interfaces(j.value(IFNAME).unwrap_or_default(), j.release)
}

/// Entries of the device list that match no port of the node.
fn device_dead(a: &Analysis, selector: &Selector) -> Vec<DeadEntry> {
    let ports: Vec<(&str, Option<u32>)> = a
        .node
        .ports()
        .map(|(hca, port)| (hca.name.as_str(), Some(port.number)))
        .collect();
    let device_of = |names: &str| {
        let owners: Vec<&str> = names
            .split(',')
            .filter_map(|n| {
                let owner = a
                    .node
                    .ports()
                    .find(|(_, p)| p.netdevs.iter().any(|d| d == n))?;
                Some(owner.0.name.as_str())
            })
            .collect();
        (!owners.is_empty()).then(|| owners.join(", "))
    };
    dead_entries(selector, &ports, &device_of)
}

/// Entries of the interface list that match no interface.
fn interface_dead(a: &Analysis, selector: &Selector) -> Vec<DeadEntry> {
    let names = interface_names(a);
    let names: Vec<(&str, Option<u32>)> = names.iter().map(|n| (n.as_str(), None)).collect();
    dead_entries(selector, &names, &|_| None)
        .into_iter()
        .filter(|d| d.why != Why::PortZero)
        .collect()
}

/// Every interface's name, and the labels of their addresses.
fn interface_names(a: &Analysis) -> Vec<String> {
    let labels = |i: &crate::model::Interface| -> Vec<String> {
        i.addresses
            .iter()
            .map(|a| a.label.clone())
            .filter(|l| !l.is_empty())
            .collect()
    };
    let mut names: Vec<String> = a
        .node
        .interfaces()
        .iter()
        .flat_map(|i| std::iter::once(i.name.clone()).chain(labels(i)))
        .chain(a.node.netdevs().iter().map(|n| n.name.clone()))
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Interfaces that have an address and lead somewhere.
fn with_addresses(a: &Analysis) -> Vec<String> {
    let interfaces = a.node.interfaces().iter();
    interfaces
        .filter(|i| !i.loopback && i.running && !i.addresses.is_empty())
        .map(|i| i.name.clone())
        .collect()
}

/// Interfaces that no other node is behind.
fn is_local_only(a: &Analysis, interface: &SocketInterface) -> bool {
    const NAMES: [&str; 8] = [
        "docker",
        "virbr",
        "veth",
        "cni",
        "cali",
        "flannel",
        "kube-",
        "nodelocaldns",
    ];
    let loopback = a
        .node
        .interface(&interface.name)
        .is_some_and(|i| i.loopback);
    loopback || interface.ip.is_loopback() || NAMES.iter().any(|n| interface.name.starts_with(n))
}

/// Ports whose device has a longer name than an entry that is itself a device's name, and that no other entry means.
fn longer_names<'a>(j: &'a Judged, selector: &Selector, entry: &Entry) -> Vec<&'a PortKey> {
    let is_device = j.without_list.iter().any(|k| k.hca == entry.name);
    j.without_list
        .iter()
        .filter(|k| is_device && k.hca != entry.name)
        .filter(|k| selector.entry_matches(entry, &k.hca, Some(k.port)))
        .filter(|k| !selector.entries.iter().any(|e| e.name == k.hca))
        .collect()
}

/// Ports that pass the list and have a role other than data. A second link layer has a check of its own.
fn extra_ports<'a>(a: &'a Analysis, j: &Judged, role: Role) -> Vec<&'a Assigned> {
    a.decision
        .ports
        .iter()
        .filter(|p| p.role == role && !matches!(p.reason, Reason::OtherFabric(_)))
        .filter(|p| j.uses(&p.key))
        .collect()
}

/// What a port is that is no data port, in a few words.
fn role_word(port: &Assigned) -> String {
    match port.role {
        Role::Data => "a data port".to_owned(),
        Role::Main => "the port of the host's ordinary traffic".to_owned(),
        Role::Other => format!("no data port ({})", port.reason.word()),
        Role::Unusable => format!("unusable ({})", port.reason.word()),
    }
}

/// The variable that says how many ranks the node has, when it has several.
fn ranks(a: &Analysis) -> Option<(&'static str, usize)> {
    RANKS.into_iter().find_map(|name| {
        let count = a.sources.environment.get(name)?.parse::<usize>().ok()?;
        (count > 1).then_some((name, count))
    })
}

/// True where the list selects one data port of several, and several ranks share the node.
fn is_per_rank(a: &Analysis, j: &Judged) -> bool {
    let data = a.data();
    let [only] = j.used.as_slice() else {
        return false;
    };
    j.filled(HCA).is_some() && data.len() > 1 && data.contains(&&only.key) && ranks(a).is_some()
}

/// True where `env` has a say in a variable.
fn is_planned(a: &Analysis, name: &str) -> bool {
    let plan = a.choice.plan.as_ref();
    plan.is_ok_and(|p| p.variables.iter().any(|v| v.name == name))
}

#[cfg(test)]
mod tests;
