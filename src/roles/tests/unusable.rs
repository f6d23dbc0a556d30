//! Every reason for which a port cannot be used, and what is no reason.

use super::Setup;
use crate::model::fixture::absent;
use crate::model::{LinkLayer, NodeType, PhysState, PortState, Unread, Uverbs, Why};

/// The word for the reason of `mlx5_1` and the reason itself, after a change to its node.
fn reason(change: impl FnOnce(Setup) -> Setup) -> (String, String) {
    let setup = change(Setup::usual(2));
    let decision = setup.decide();
    let port = decision
        .ports
        .iter()
        .find(|p| p.key.hca == "mlx5_1")
        .unwrap();
    (
        format!("{} {}", port.role.word(), port.reason.word()),
        port.reason.to_string(),
    )
}

fn with_state(state: PortState, phys: PhysState) -> (String, String) {
    reason(|s| {
        s.port("mlx5_1", |p| {
            (p.state, p.phys_state) = (Ok(state), Ok(phys));
        })
    })
}

#[test]
fn only_active_ports_count() {
    for (state, phys, says) in [
        (PortState::Down, PhysState::Polling, "no cable"),
        (PortState::Down, PhysState::Disabled, "switched off"),
        (
            PortState::Down,
            PhysState::Training,
            "PortConfigurationTraining",
        ),
        (PortState::Init, PhysState::LinkUp, "no subnet manager"),
        (PortState::Armed, PhysState::LinkUp, "has not finished"),
        (PortState::Nop, PhysState::Sleep, "NOP"),
        (
            PortState::ActiveDefer,
            PhysState::ErrorRecovery,
            "ACTIVE_DEFER",
        ),
        (
            PortState::Other("9: NEW".into()),
            PhysState::LinkUp,
            "9: NEW",
        ),
    ] {
        let (word, text) = with_state(state, phys);
        assert_eq!(word, "unusable down");
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn an_unreadable_state_is_none() {
    let denied = || Unread::new("state", Why::Denied);
    let state = reason(|s| s.port("mlx5_1", |p| p.state = Err(denied())));
    assert_eq!(state.0, "unusable unreadable");
    let layer = reason(|s| s.port("mlx5_1", |p| p.link_layer = Err(denied())));
    assert_eq!(layer.0, "unusable unreadable");
}

#[test]
fn other_transports_are_not_nccls() {
    for (node_type, driver, says) in [
        (NodeType::Rnic, None, "iWARP"),
        (NodeType::UsNic, None, "usNIC"),
        (NodeType::Unspecified, Some("efa"), "aws-ofi-nccl"),
        (NodeType::Unspecified, None, "does not know"),
        (NodeType::Other("8: new".into()), None, "does not know"),
    ] {
        let (word, text) = reason(|s| {
            s.hca("mlx5_1", |h| {
                h.node_type = Ok(node_type);
                h.driver = driver.map(str::to_owned);
            })
        });
        assert_eq!(word, "unusable not-nccl");
        assert!(text.contains(says), "{text}");
    }
    let unread = reason(|s| s.hca("mlx5_1", |h| h.node_type = absent()));
    assert_eq!(unread.0, "data data");
}

#[test]
fn a_third_link_layer_is_none_of_nccls() {
    let (word, text) = reason(|s| {
        s.port("mlx5_1", |p| {
            p.link_layer = Ok(LinkLayer::Other("Unspecified".into()));
        })
    });
    assert_eq!(word, "unusable not-nccl");
    assert!(text.contains("Unspecified"), "{text}");
}

#[test]
fn a_device_needs_its_uverbs_node_where_nodes_are() {
    let gone = |s: Setup| s.hca("mlx5_1", |h| h.uverbs.node_exists = Some(false));
    let unnumbered = |s: Setup| s.hca("mlx5_1", |h| h.uverbs.number = None);
    assert_eq!(
        reason(gone),
        (
            "unusable no-uverbs".into(),
            "/dev/infiniband/uverbs1 is not there".into()
        )
    );
    assert_eq!(
        reason(unnumbered),
        (
            "unusable no-uverbs".into(),
            "it has no uverbs device".into()
        )
    );
    let unknown = reason(|s| s.hca("mlx5_1", |h| h.uverbs.node_exists = None));
    assert_eq!(unknown.0, "data data");
}

#[test]
fn a_device_without_uverbs_beside_others_with_one_is_never_listed() {
    let without_dev =
        |s: Setup| s.node(|n| n.dev_infiniband = Err(Unread::new("dev", Why::Absent)));
    let unnumbered = |s: Setup, name: &str| s.hca(name, |h| h.uverbs = Uverbs::default());
    assert_eq!(
        reason(|s| without_dev(unnumbered(s, "mlx5_1"))).0,
        "unusable no-uverbs"
    );
    // Where no device has one, nobody looked.
    let none = |s| {
        ["mlx5_0", "mlx5_1", "mlx5_2"]
            .iter()
            .fold(s, |s, name| unnumbered(s, name))
    };
    assert_eq!(reason(|s| without_dev(none(s))).0, "data data");
}

#[test]
fn where_there_is_no_dev_only_a_container_needs_the_node() {
    let without = |s: Setup| {
        s.hca("mlx5_1", |h| h.uverbs.node_exists = Some(false))
            .node(|n| n.dev_infiniband = Err(Unread::new("dev", Why::Absent)))
    };
    assert_eq!(reason(without).0, "data data");
    let with_dev = |s: Setup| without(s).node(|n| n.dev_infiniband = Ok(false));
    assert_eq!(reason(with_dev).0, "unusable no-uverbs");
    let in_container = |s: Setup| without(s).node(|n| n.container = Some("/.dockerenv".into()));
    assert_eq!(reason(in_container).0, "unusable no-uverbs");
}

#[test]
fn a_roce_port_needs_a_version_2_gid_of_this_namespace() {
    for (rows, word, says) in [
        (&[][..], "no-gid", "empty"),
        (
            &["0 fe80::1 v1 eth1", "1 fe80::1 v2 eth1"],
            "link-local",
            "no address",
        ),
        (
            &["0 ::ffff:169.254.1.1 v2 eth1"],
            "link-local",
            "no address",
        ),
        (&["2 ::ffff:10.1.0.1 v1 eth1"], "v1-only", "v1 GIDs only"),
        (&["3 ::ffff:10.9.0.1 v2 pod9"], "foreign-netns", "(pod9)"),
        (
            &["3 ::ffff:10.9.0.1 v2 !"],
            "foreign-netns",
            "another network namespace",
        ),
        (
            &[
                "2 ::ffff:10.9.0.1 v2 pod10",
                "3 ::ffff:10.9.0.2 v2 pod9",
                "4 ::ffff:10.9.0.3 v1 pod9",
            ],
            "foreign-netns",
            "(pod9, pod10)",
        ),
    ] {
        let (role, text) = reason(|s| s.rows("mlx5_1", rows));
        assert_eq!(role, format!("unusable {word}"), "{rows:?}");
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn an_unreadable_table_says_so() {
    let denied = || Unread::new("gids", Why::Denied);
    let table = reason(|s| s.port("mlx5_1", |p| p.gids = Err(denied())));
    assert_eq!(table.0, "unusable unreadable");
    let rows = reason(|s| {
        s.rows("mlx5_1", &[]).port("mlx5_1", |p| {
            p.gids.as_mut().unwrap().unread = vec![(0, denied())];
        })
    });
    assert_eq!(rows.0, "unusable unreadable");
}

#[test]
fn an_infiniband_port_needs_a_lid() {
    for lid in [0, 0xffff] {
        let setup = Setup::new()
            .ib("mlx5_1", &super::at(1, 1))
            .port("mlx5_1", |p| p.lid = Ok(lid));
        assert_eq!(setup.roles(), "mlx5_1 unusable no-lid");
    }
    let unread = Setup::new()
        .ib("mlx5_1", &super::at(1, 1))
        .port("mlx5_1", |p| p.lid = absent());
    assert_eq!(unread.roles(), "mlx5_1 data data");
}

#[test]
fn software_counts_only_where_it_is_all_there_is() {
    let soft = |s: Setup| s.hca("mlx5_1", |h| h.pci = Ok(None));
    assert_eq!(reason(soft).0, "other software");
    let all_soft = ["mlx5_0", "mlx5_1", "mlx5_2"]
        .iter()
        .fold(Setup::usual(2), |s, name| s.hca(name, |h| h.pci = Ok(None)));
    assert_eq!(all_soft.data(), "mlx5_1 mlx5_2");
    let unknown_parent = reason(|s| s.hca("mlx5_1", |h| h.pci = absent()));
    assert_eq!(unknown_parent.0, "data data");
}
