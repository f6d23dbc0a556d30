//! Tests of the interface search, rule by rule.

use super::{Bootstrap, bootstrap, search};
use crate::model::Interface;
use crate::nccl::fixture::{interface, node, settings};
use crate::nccl::outcome::Code;
use crate::nccl::release::Release;

const OLD: Release = Release::new(2, 23, 4);
const MIDDLE: Release = Release::new(2, 27, 7);
const NEW: Release = Release::new(2, 28, 3);

fn found(interfaces: &[Interface], environment: &str, release: Release) -> String {
    let node = node(Vec::new(), interfaces.to_vec());
    let found: Vec<_> = search(&node, &settings(environment), release)
        .into_iter()
        .map(|i| format!("{}={}", i.name, i.ip))
        .collect();
    found.join(" ")
}

fn booted(interfaces: &[Interface], environment: &str, release: Release) -> Bootstrap {
    let node = node(Vec::new(), interfaces.to_vec());
    bootstrap(&node, &settings(environment), release)
}

fn plain() -> Vec<Interface> {
    vec![
        interface("lo", 1, &["127.0.0.1/8", "::1/128"]),
        interface("eth0", 2, &["10.0.0.1/24", "fe80::1/64"]),
        interface("eth1", 3, &["fd00::1/64"]),
        interface("eth2", 4, &["10.2.0.1/24", "10.2.0.2/24"]),
    ]
}

#[test]
fn ipv4_comes_before_ipv6_and_an_interface_counts_once() {
    assert_eq!(
        found(&plain(), "", NEW),
        "eth0=10.0.0.1 eth2=10.2.0.1 eth1=fd00::1"
    );
}

#[test]
fn names_beginning_with_ib_win_even_with_a_link_local_address() {
    let mut interfaces = plain();
    interfaces.push(interface("ib-bond", 9, &["fe80::9/64"]));
    assert_eq!(found(&interfaces, "", NEW), "ib-bond=fe80::9");
}

#[test]
fn docker_lo_and_virbr_are_last_resorts() {
    let mut interfaces = vec![
        interface("virbr0", 2, &["192.168.122.1/24"]),
        interface("lo", 1, &["127.0.0.1/8"]),
    ];
    assert_eq!(found(&interfaces, "", NEW), "lo=127.0.0.1");
    assert_eq!(found(&interfaces, "", MIDDLE), "virbr0=192.168.122.1");
    interfaces.push(interface("docker0", 3, &["172.17.0.1/16"]));
    assert_eq!(found(&interfaces, "", NEW), "docker0=172.17.0.1");
    interfaces.remove(1);
    interfaces.pop();
    assert_eq!(found(&interfaces, "", NEW), "virbr0=192.168.122.1");
}

#[test]
fn an_interface_without_carrier_counts_in_older_releases() {
    let mut interfaces = plain();
    interfaces[1].running = false;
    assert!(found(&interfaces, "", MIDDLE).starts_with("eth0=10.0.0.1"));
    assert_eq!(found(&interfaces, "", NEW), "eth2=10.2.0.1 eth1=fd00::1");
}

#[test]
fn a_family_is_forced_by_its_exact_name() {
    let family = |text: &str| found(&plain(), &format!("NCCL_SOCKET_FAMILY={text}"), NEW);
    assert_eq!(family("AF_INET6"), "eth0=fe80::1 eth1=fd00::1");
    assert_eq!(family("AF_INET"), "eth0=10.0.0.1 eth2=10.2.0.1");
    assert_eq!(family("ipv4"), family(""));
}

#[test]
fn a_named_interface_is_the_only_one_or_there_is_none() {
    let named = |list: &str| found(&plain(), &format!("NCCL_SOCKET_IFNAME={list}"), NEW);
    assert_eq!(named("eth2,eth0"), "eth0=10.0.0.1 eth2=10.2.0.1");
    assert_eq!(named("=eth1"), "eth1=fd00::1");
    assert_eq!(named("=lo"), "lo=127.0.0.1");
    assert_eq!(named("nosuch"), "");
    assert_eq!(named("^="), "");
    for unset in ["e", "=", "^", ""] {
        assert_eq!(named(unset), found(&plain(), "", NEW), "{unset}");
    }
}

#[test]
fn a_label_is_a_name_of_its_own() {
    let mut interfaces = plain();
    interfaces[3].addresses[1].label = "eth2:1".into();
    let list = "NCCL_SOCKET_IFNAME=eth2";
    assert_eq!(
        found(&interfaces, list, NEW),
        "eth2=10.2.0.1 eth2:1=10.2.0.2"
    );
}

#[test]
fn the_search_stops_at_sixteen() {
    let many: Vec<_> = (1_u8..30)
        .map(|i| interface(&format!("eth{i}"), i.into(), &[&format!("10.0.{i}.1/24")]))
        .collect();
    assert_eq!(found(&many, "", NEW).split(' ').count(), 16);
}

#[test]
fn without_an_interface_bootstrap_fails() {
    let list = "NCCL_SOCKET_IFNAME=nosuch";
    assert_eq!(
        booted(&plain(), list, OLD),
        Bootstrap::Failed(Code::InternalError)
    );
    assert_eq!(
        booted(&plain(), list, NEW),
        Bootstrap::Failed(Code::InvalidUsage)
    );
}

#[test]
fn a_comm_id_picks_the_interface_of_its_subnet() {
    let at = |environment: &str| match booted(&plain(), environment, NEW) {
        Bootstrap::Interface(i) => i.name,
        other => format!("{other:?}"),
    };
    assert_eq!(at("NCCL_COMM_ID=10.2.0.99:5000"), "eth2");
    assert_eq!(
        at("NCCL_COMM_ID=10.2.0.99:5000 NCCL_SOCKET_IFNAME=eth0"),
        "eth2"
    );
    assert_eq!(at("NCCL_COMM_ID=[fd00::7]:5000"), "eth1");
    assert_eq!(at("NCCL_COMM_ID=[fe80::7%eth0]:5000"), "eth0");
    assert_eq!(
        at("NCCL_COMM_ID=[fe80::7%eth1]:5000"),
        "Failed(SystemError)"
    );
    assert_eq!(at("NCCL_COMM_ID=203.0.113.9:5000"), "Failed(SystemError)");
    assert_eq!(at("NCCL_COMM_ID="), "Failed(InvalidArgument)");
    assert_eq!(at("NCCL_COMM_ID=1"), "Failed(InvalidArgument)");
    assert_eq!(at("NCCL_COMM_ID=node7:5000"), "Unknown");
    assert_eq!(at("NCCL_COMM_ID=[x]:5000"), "Failed(SystemError)");
}

#[test]
fn a_comm_id_is_only_a_hint_to_the_search() {
    let comm_id = "NCCL_COMM_ID=10.2.0.99:5000";
    assert_eq!(found(&plain(), comm_id, NEW), "eth2=10.2.0.1");
    let mut interfaces = plain();
    interfaces.push(interface("ib0", 9, &["10.9.0.1/24"]));
    assert_eq!(found(&interfaces, comm_id, NEW), "ib0=10.9.0.1");
    assert_eq!(
        found(&plain(), &format!("{comm_id} NCCL_SOCKET_IFNAME=eth0"), NEW),
        "eth0=10.0.0.1"
    );
}
