//! Which interface carries the bootstrap and out-of-band traffic.

use std::collections::BTreeSet;

use super::{Setup, default_route};
use crate::roles::socket_interface;

/// Interfaces as `NAME ADDRESS` texts; `-` is one that is down.
fn with(interfaces: &[&str]) -> Setup {
    interfaces.iter().fold(Setup::new(), |setup, text| {
        let (name, addresses) = text.split_once(' ').unwrap();
        let down = name.starts_with('-');
        let name = name.trim_start_matches('-');
        let addresses: Vec<&str> = addresses.split(' ').filter(|a| !a.is_empty()).collect();
        setup.address(name, &addresses).node(|n| {
            let added = n.interfaces.as_mut().unwrap().last_mut().unwrap();
            (added.up, added.running) = (!down, !down);
        })
    })
}

fn chosen(setup: &Setup, main: &[&str], data: &[&str]) -> String {
    let main: Vec<String> = main.iter().map(|m| (*m).to_owned()).collect();
    let data: Vec<BTreeSet<String>> = data
        .iter()
        .map(|d| BTreeSet::from([(*d).to_owned()]))
        .collect();
    socket_interface(&setup.node, &main, &data).map_or_else(|| "none".to_owned(), |c| c.name)
}

#[test]
fn the_default_routes_interface_is_first_even_if_it_is_a_data_ports() {
    let setup = with(&["lo 127.0.0.1/8", "eth0 10.0.0.1/24", "eth1 10.1.0.1/24"]).route("eth1");
    assert_eq!(chosen(&setup, &[], &["eth1"]), "eth1");
}

#[test]
fn an_interface_that_is_down_or_without_an_address_is_passed_over() {
    for broken in [
        "-eth1 10.1.0.1/24",
        "eth1 ",
        "eth1 fe80::1/64",
        "eth1 169.254.0.9/16",
    ] {
        let setup = with(&["eth0 10.0.0.1/24", broken]).route("eth1");
        assert_eq!(chosen(&setup, &[], &[]), "eth0", "{broken}");
    }
}

#[test]
fn the_users_main_interface_is_before_the_default_routes() {
    let setup = with(&["eth0 10.0.0.1/24", "eth1 10.1.0.1/24"]).route("eth0");
    assert_eq!(chosen(&setup, &["eth1"], &[]), "eth1");
}

#[test]
fn without_a_default_route_nccls_order_counts_without_data_ports() {
    let setup = with(&[
        "lo 127.0.0.1/8",
        "eth1 10.1.0.1/24",
        "eth2 10.2.0.1/24",
        "ib0 10.3.0.1/24",
    ]);
    assert_eq!(chosen(&setup, &[], &["eth1"]), "ib0");
    assert_eq!(chosen(&setup, &[], &["eth1", "ib0"]), "eth2");
}

#[test]
fn interfaces_of_containers_only_are_no_candidates() {
    let local = [
        "docker0",
        "veth12",
        "virbr0",
        "cni0",
        "cali1",
        "flannel.1",
        "kube-ipvs0",
        "nodelocaldns",
    ];
    for interface in local {
        let setup = with(&[&format!("{interface} 10.9.0.1/24"), "eth5 10.5.0.1/24"]);
        assert_eq!(chosen(&setup, &[], &[]), "eth5", "{interface}");
        let alone = with(&[&format!("{interface} 10.9.0.1/24")]);
        assert_eq!(chosen(&alone, &[], &[]), "none", "{interface}");
    }
}

#[test]
fn ipv4_comes_before_ipv6() {
    let setup = with(&["eth0 fd00::1/64", "eth1 10.1.0.1/24"]);
    assert_eq!(chosen(&setup, &[], &[]), "eth1");
    let only6 = with(&["eth0 fe80::1/64", "eth1 fd00::1/64"]);
    assert_eq!(chosen(&only6, &[], &[]), "eth1");
}

#[test]
fn the_first_data_ports_interface_is_the_last_resort() {
    let setup = with(&["lo 127.0.0.1/8", "eth2 10.2.0.1/24", "eth1 10.1.0.1/24"]);
    assert_eq!(chosen(&setup, &[], &["eth1", "eth2"]), "eth1");
    assert_eq!(chosen(&with(&["lo 127.0.0.1/8"]), &[], &[]), "none");
}

#[test]
fn an_ipv6_default_route_counts_where_there_is_no_ipv4_one() {
    let setup = with(&["eth0 10.0.0.1/24", "eth1 fd00::1/64"])
        .node(|n| n.routes6 = Ok(vec![default_route("eth1", "::", 1024)]));
    assert_eq!(chosen(&setup, &[], &[]), "eth1");
}
