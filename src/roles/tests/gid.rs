//! Which row of a GID table is right.

use super::Setup;
use crate::model::{NetdevKind, Unread, Why};
use crate::roles::choose_gid;

/// The chosen row of `mlx5_1`, after a change to its node.
fn chosen(setup: &Setup) -> Option<u32> {
    let (_, port) = setup
        .node
        .ports()
        .find(|(hca, _)| hca.name == "mlx5_1")
        .unwrap();
    choose_gid(&setup.node, port).ok().map(|row| row.index)
}

fn with_rows(rows: &[&str]) -> Setup {
    Setup::usual(1).rows("mlx5_1", rows)
}

/// `mlx5_1` with a VLAN device on top, with the address 10.100.0.1.
fn with_child(kind: NetdevKind, rows: &[&str]) -> Setup {
    with_rows(rows)
        .netdev("child", kind, &["eth1"])
        .address("child", &["10.100.0.1/24"])
}

#[test]
fn the_ports_own_device_comes_before_what_sits_on_it() {
    for kind in [
        NetdevKind::Vlan,
        NetdevKind::Macvlan,
        NetdevKind::Ipvlan,
        NetdevKind::Bridge,
    ] {
        let setup = with_child(
            kind,
            &["3 ::ffff:10.100.0.1 v2 child", "5 ::ffff:10.1.0.1 v2 eth1"],
        );
        assert_eq!(chosen(&setup), Some(5), "{kind:?}");
    }
}

#[test]
fn a_child_serves_where_only_it_has_an_address() {
    let setup = with_child(
        NetdevKind::Vlan,
        &["1 fe80::1 v2 eth1", "3 ::ffff:10.100.0.1 v2 child"],
    );
    assert_eq!(chosen(&setup.address("eth1", &[])), Some(3));
}

#[test]
fn the_ports_own_device_may_be_a_vlan_itself() {
    // Soft-RoCE can sit on one.
    let setup = with_rows(&[
        "2 ::ffff:10.200.0.1 v2 upper",
        "4 ::ffff:10.100.0.1 v2 vlan7",
    ])
    .netdev("vlan7", NetdevKind::Vlan, &["eth1"])
    .netdev("upper", NetdevKind::Macvlan, &["vlan7"])
    .address("vlan7", &["10.100.0.1/24"])
    .address("upper", &["10.200.0.1/24"])
    .port("mlx5_1", |p| p.netdevs = vec!["vlan7".into()]);
    assert_eq!(chosen(&setup), Some(4));
}

#[test]
fn a_bonds_row_is_the_ports_own() {
    let setup = with_child(NetdevKind::Vlan, &[])
        .netdev("bond0", NetdevKind::Bond, &["eth1"])
        .address("bond0", &["10.50.0.1/24"])
        .rows(
            "mlx5_1",
            &[
                "3 ::ffff:10.100.0.1 v2 child",
                "5 ::ffff:10.50.0.1 v2 bond0",
            ],
        );
    assert_eq!(chosen(&setup), Some(5));
}

#[test]
fn a_slaves_row_with_its_bonds_address_is_ours() {
    // Some drivers write the slave's name where the address is the bond's.
    let setup = with_rows(&["5 ::ffff:10.50.0.1 v2 eth1"])
        .address("eth1", &["fe80::1/64"])
        .netdev("bond0", NetdevKind::Bond, &["eth1"])
        .address("bond0", &["10.50.0.1/24"]);
    assert_eq!(chosen(&setup), Some(5));
}

#[test]
fn ipv4_comes_before_ipv6_and_the_lowest_index_wins() {
    let setup = with_rows(&[
        "1 fd00::1 v2 eth1",
        "3 2001:db8::1 v2 eth1",
        "5 ::ffff:10.1.0.1 v2 eth1",
        "7 ::ffff:10.1.0.2 v2 eth1",
    ])
    .address(
        "eth1",
        &["10.1.0.1/24", "10.1.0.2/24", "fd00::1/64", "2001:db8::1/64"],
    );
    assert_eq!(chosen(&setup), Some(5));
    let only6 = setup.rows("mlx5_1", &["1 fd00::1 v2 eth1", "3 2001:db8::1 v2 eth1"]);
    assert_eq!(chosen(&only6), Some(1));
}

#[test]
fn holes_and_other_rows_are_passed_over() {
    let setup = with_rows(&[
        "0 fe80::1 v2 eth1",
        "1 ::ffff:169.254.7.7 v2 eth1",
        "4 ::ffff:10.1.0.1 v1 eth1",
        "9 ::ffff:10.1.0.1 v2 eth1",
    ]);
    assert_eq!(chosen(&setup), Some(9));
}

#[test]
fn a_device_of_the_same_name_in_another_namespace_is_told_by_its_address() {
    let setup = with_rows(&["1 ::ffff:10.9.9.9 v2 eth1", "5 ::ffff:10.1.0.1 v2 eth1"]);
    assert_eq!(chosen(&setup), Some(5));
    assert_eq!(chosen(&with_rows(&["1 ::ffff:10.9.9.9 v2 eth1"])), None);
}

#[test]
fn a_device_without_an_address_here_has_no_routable_row_either() {
    let row = "1 ::ffff:10.9.9.9 v2 eth1";
    let without = with_rows(&[row]).address("eth1", &["fe80::1/64"]);
    assert_eq!(chosen(&without), None);
    // Where the addresses could not be read, the name has to do.
    let unread = Unread::new("getifaddrs", Why::Denied);
    let unknown = with_rows(&[row]).node(|n| n.interfaces = Err(unread));
    assert_eq!(chosen(&unknown), Some(1));
}

#[test]
fn a_row_whose_device_cannot_be_read_is_ours_if_its_address_is() {
    assert_eq!(chosen(&with_rows(&["3 ::ffff:10.1.0.1 v2 !"])), Some(3));
    assert_eq!(chosen(&with_rows(&["3 ::ffff:10.9.9.9 v2 !"])), None);
    // One whose device is known comes first.
    let both = with_rows(&["3 ::ffff:10.1.0.1 v2 !", "5 ::ffff:10.1.0.1 v2 eth1"]);
    assert_eq!(chosen(&both), Some(5));
}

#[test]
fn a_row_whose_type_cannot_be_read_is_not_used() {
    assert_eq!(chosen(&with_rows(&["3 ::ffff:10.1.0.1 ? eth1"])), None);
    assert_eq!(
        chosen(&with_rows(&["3 ::ffff:10.1.0.1 RoCE-v3 eth1"])),
        None
    );
}

#[test]
fn rfc_1918_addresses_are_ordinary() {
    for address in ["10.1.0.1", "172.16.3.4", "192.168.5.6", "100.64.0.1"] {
        let setup = with_rows(&[&format!("3 ::ffff:{address} v2 eth1")])
            .address("eth1", &[&format!("{address}/24")]);
        assert_eq!(chosen(&setup), Some(3), "{address}");
    }
}
