//! Which ports carry the host's ordinary traffic, and what happens when no other is left.

use super::{Setup, at, broken, data, default_route};
use crate::model::{NetdevKind, PortState};
use crate::roles::{Rules, decide};

fn main_of(setup: &Setup) -> String {
    let decision = setup.decide();
    let names: Vec<&str> = decision
        .ports
        .iter()
        .filter(|p| p.role.word() == "main")
        .map(|p| p.key.hca.as_str())
        .collect();
    names.join(" ")
}

/// The usual node with its default route over another device, stacked on `eth0`.
fn over(kind: NetdevKind, name: &str) -> Setup {
    Setup::usual(2)
        .netdev(name, kind, &["eth0"])
        .address(name, &["192.168.0.1/24"])
        .node(|n| n.routes4 = Ok(vec![default_route(name, "0.0.0.0", 0)]))
}

#[test]
fn the_default_route_is_followed_down_to_the_port() {
    for (kind, name) in [
        (NetdevKind::Vlan, "eth0.100"),
        (NetdevKind::Bridge, "br0"),
        (NetdevKind::Macvlan, "macvlan0"),
        (NetdevKind::Ipvlan, "ipvlan0"),
        (NetdevKind::Bond, "bond0"),
    ] {
        let setup = over(kind, name);
        assert_eq!(main_of(&setup), "mlx5_0", "{name}");
        assert_eq!(setup.data(), "mlx5_1 mlx5_2", "{name}");
    }
}

#[test]
fn a_stack_of_devices_is_followed_to_its_bottom() {
    let setup = Setup::usual(3)
        .netdev("bond0", NetdevKind::Bond, &["eth0", "eth1"])
        .netdev("bond0.7", NetdevKind::Vlan, &["bond0"])
        .netdev("br0", NetdevKind::Bridge, &["bond0.7"])
        .node(|n| n.routes4 = Ok(vec![default_route("br0", "0.0.0.0", 0)]));
    assert_eq!(main_of(&setup), "mlx5_0 mlx5_1");
    assert_eq!(setup.data(), "mlx5_2 mlx5_3");
}

#[test]
fn a_slave_leads_up_to_its_bond_and_its_other_slaves() {
    let setup = Setup::usual(3).netdev("bond0", NetdevKind::Bond, &["eth0", "eth1"]);
    assert_eq!(main_of(&setup), "mlx5_0 mlx5_1");
}

#[test]
fn other_ports_of_a_bridge_are_other_machines_traffic() {
    // The route is over the bridge's port itself, not over the bridge.
    let setup = Setup::usual(3).netdev("br0", NetdevKind::Bridge, &["eth0", "eth1"]);
    assert_eq!(main_of(&setup), "mlx5_0");
}

#[test]
fn a_bond_device_is_found_by_the_name_in_its_rows() {
    // One RDMA device for both ports of a bond: its own network devices are the slaves.
    let setup = Setup::usual(2)
        .netdev("bond0", NetdevKind::Bond, &["eth0"])
        .address("bond0", &["10.0.0.1/24"])
        .address("eth0", &[])
        .rows("mlx5_0", &["3 ::ffff:10.0.0.1 v2 bond0"])
        .port("mlx5_0", |p| p.netdevs = Vec::new())
        .node(|n| n.routes4 = Ok(vec![default_route("bond0", "0.0.0.0", 0)]));
    assert_eq!(main_of(&setup), "mlx5_0");
}

#[test]
fn the_lowest_metric_wins_and_ipv6_only_counts_without_ipv4() {
    let two = Setup::usual(2).node(|n| {
        n.routes4 = Ok(vec![
            default_route("eth1", "0.0.0.0", 200),
            default_route("eth2", "0.0.0.0", 100),
        ]);
    });
    assert_eq!(main_of(&two), "mlx5_2");
    let both = Setup::usual(2).node(|n| n.routes6 = Ok(vec![default_route("eth1", "::", 1)]));
    assert_eq!(main_of(&both), "mlx5_0");
    let only6 = both.node(|n| n.routes4 = Ok(Vec::new()));
    assert_eq!(main_of(&only6), "mlx5_1");
    let none = Setup::usual(2).node(|n| n.routes4 = Ok(Vec::new()));
    assert_eq!(main_of(&none), "");
}

#[test]
fn the_users_word_replaces_the_default_route() {
    let rules = Rules {
        main: vec!["eth2".into()],
        ..Rules::default()
    };
    // Without a GPU near it, mlx5_0 is far.
    assert_eq!(
        Setup::usual(2).roles_with(&rules),
        "mlx5_0 other far, mlx5_1 data data, mlx5_2 main main"
    );
}

#[test]
fn main_ports_are_used_where_nothing_else_is_there() {
    let setup = Setup::new().roce("mlx5_0", &at(1, 1), "eth0").route("eth0");
    assert_eq!(setup.roles(), "mlx5_0 data only-main");
    let decision = setup.decide();
    assert!(decision.only_main() && decision.refusal.is_none());
    let bond = setup.roce("mlx5_1", &at(1, 2), "eth1").netdev(
        "bond0",
        NetdevKind::Bond,
        &["eth0", "eth1"],
    );
    assert_eq!(bond.roles(), "mlx5_0 data only-main, mlx5_1 data only-main");
}

/// One main port, and a device near a GPU of its own that is down.
fn with_broken() -> Setup {
    Setup::usual(1).port("mlx5_1", |p| p.state = Ok(PortState::Down))
}

#[test]
fn better_ports_that_are_merely_broken_stop_everything() {
    let setup = with_broken();
    assert_eq!(setup.data(), "");
    assert_eq!(broken(&setup.decide()), "mlx5_1");
    let no_gid = Setup::usual(1).rows("mlx5_1", &[]);
    assert_eq!(broken(&no_gid.decide()), "mlx5_1");
    let unreadable = Setup::usual(1).port("mlx5_1", |p| p.state = crate::model::fixture::absent());
    assert_eq!(broken(&unreadable.decide()), "mlx5_1");
}

#[test]
fn the_user_can_allow_the_main_port_all_the_same() {
    let rules = Rules {
        allow_main: true,
        ..Rules::default()
    };
    assert_eq!(with_broken().data_with(&rules), "mlx5_0");
}

#[test]
fn a_broken_port_the_user_excludes_stops_nothing() {
    let rules = Rules {
        exclude: vec!["mlx5_1".into()],
        ..Rules::default()
    };
    assert_eq!(with_broken().data_with(&rules), "mlx5_0");
}

#[test]
fn a_broken_port_only_counts_near_a_gpu_where_no_main_port_is() {
    // The main port shares the GPU's switch: the broken one beside it would be no better.
    let beside = Setup::new()
        .gpu(&at(1, 0))
        .roce("mlx5_0", &at(1, 1), "eth0")
        .roce("mlx5_1", &at(1, 2), "eth1")
        .port("mlx5_1", |p| p.state = Ok(PortState::Down))
        .route("eth0");
    assert_eq!(beside.data(), "mlx5_0");
    // With a second GPU that only the broken port is near, it is.
    let elsewhere = beside
        .gpu(&at(2, 0))
        .roce("mlx5_2", &at(2, 1), "eth2")
        .port("mlx5_2", |p| p.state = Ok(PortState::Down));
    assert_eq!(broken(&elsewhere.decide()), "mlx5_2");
    let far = Setup::new()
        .gpu(&at(1, 0))
        .roce("mlx5_0", &at(2, 1), "eth0")
        .roce("mlx5_1", &at(3, 1), "eth1")
        .port("mlx5_1", |p| p.state = Ok(PortState::Down))
        .route("eth0");
    assert_eq!(far.data(), "mlx5_0");
}

#[test]
fn an_infiniband_port_that_waits_for_its_subnet_manager_is_better_anywhere() {
    for state in [PortState::Init, PortState::Armed] {
        let setup = Setup::new()
            .roce("mlx5_0", &at(1, 1), "eth0")
            .route("eth0")
            .ib("mlx5_1", &at(2, 1))
            .port("mlx5_1", |p| p.state = Ok(state));
        assert_eq!(broken(&setup.decide()), "mlx5_1");
    }
    let down = Setup::new()
        .roce("mlx5_0", &at(1, 1), "eth0")
        .route("eth0")
        .ib("mlx5_1", &at(2, 1))
        .port("mlx5_1", |p| p.state = Ok(PortState::Down));
    assert_eq!(down.data(), "mlx5_0");
}

#[test]
fn a_list_of_the_users_takes_main_ports_too() {
    let list = crate::nccl::selector::Selector::devices(
        Some("=mlx5_0"),
        crate::nccl::release::Release::NEWEST,
    );
    let rules = Rules {
        hca: Some(list),
        ..Rules::default()
    };
    assert_eq!(
        Setup::usual(1).roles_with(&rules),
        "mlx5_0 data listed, mlx5_1 other left-out"
    );
    let setup = with_broken();
    assert_eq!(data(&decide(&setup.node, &rules)), "mlx5_0");
}
