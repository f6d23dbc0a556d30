//! Tests of the whole, on made-up nodes and settings.

use proptest::prelude::*;

use super::predict;
use crate::model::{Hca, Interface, LinkLayer, Node, PortState};
use crate::nccl::fixture::{function, hca, interface, node, port, settings};
use crate::nccl::outcome::{Code, Crash};
use crate::nccl::release::{KNOWN, Release};

const NEW: Release = Release::new(2, 30, 7);

fn one_device() -> Node {
    node(
        vec![hca("mlx5_0", Some("pci0000:3a/0000:3a:01.0/0000:3b:00.0"))],
        vec![interface("eth0", 2, &["10.0.0.1/24"])],
    )
}

#[test]
fn a_plain_node_uses_rdma() {
    let prediction = predict(&one_device(), &settings(""), NEW);
    assert!(prediction.uses_rdma());
    assert_eq!(prediction.devices[0].gid.index, Some(1));
    assert_eq!(prediction.out_of_band().unwrap().name, "eth0");
    assert!(prediction.order_is_certain);
}

#[test]
fn disabling_takes_an_integer() {
    let init = |value| {
        let settings = settings(&format!("NCCL_IB_DISABLE={value}"));
        predict(&one_device(), &settings, NEW).init
    };
    for value in ["1", "2", "-1", "0x1"] {
        assert_eq!(init(value), Code::InternalError, "{value}");
    }
    for value in ["0", "", "yes", "true"] {
        assert_eq!(init(value), Code::Success, "{value}");
    }
}

#[test]
fn without_an_interface_there_is_no_rdma_either() {
    let settings = settings("NCCL_SOCKET_IFNAME=nosuch");
    let prediction = predict(&one_device(), &settings, NEW);
    assert_eq!(prediction.init, Code::InternalError);
    assert!(!prediction.ib_usable && prediction.devices.is_empty());
}

#[test]
fn a_list_that_selects_nothing_is_no_error() {
    let prediction = predict(&one_device(), &settings("NCCL_IB_HCA=^"), NEW);
    assert_eq!(
        (prediction.init, prediction.ib_usable),
        (Code::Success, false)
    );
}

#[test]
fn a_crash_keeps_what_was_known_before() {
    let settings = settings("NCCL_IB_ADDR_RANGE=10.0.0.1");
    let prediction = predict(&one_device(), &settings, Release::new(2, 21, 5));
    assert_eq!(prediction.crash, Some(Crash::RangeWithoutSlash));
    assert!(prediction.ib_usable && !prediction.uses_rdma());
}

fn any_hca(number: u32) -> impl Strategy<Value = Hca> {
    let path = prop_oneof![
        Just(None),
        (0_u8..4, 0_u8..2, 0_u8..2).prop_map(|(bus, device, function)| Some(format!(
            "pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:0{bus}.0/0000:2{bus}:0{device}.{function}"
        ))),
    ];
    let state = prop_oneof![Just(PortState::Active), Just(PortState::Down)];
    let link = prop_oneof![
        Just(LinkLayer::Ethernet),
        Just(LinkLayer::InfiniBand),
        Just(LinkLayer::Other(String::new()))
    ];
    let row = prop_oneof![
        Just("fe80::1 v1"),
        Just("::ffff:10.0.0.1 v1"),
        Just("::ffff:10.0.0.1 v2"),
        Just("fd00::1 v2"),
        Just("fd00::1 ?"),
        Just("::ffff:169.254.0.1 !"),
        Just(":: v2"),
    ];
    let rows = prop::collection::vec(row, 0..8);
    (path, state, link, rows, 0..3_i32, any::<Option<u32>>()).prop_map(
        move |(path, state, link, rows, numa, ibdev_index)| {
            let rows: Vec<_> = rows
                .iter()
                .enumerate()
                .map(|(i, row)| format!("{} {row}", i * 2))
                .collect();
            let rows: Vec<_> = rows.iter().map(String::as_str).collect();
            let mut hca = hca(&format!("mlx5_{number}"), path.as_deref());
            if let Some(path) = path {
                hca.pci = Ok(Some(function(&path, numa)));
            }
            hca.ibdev_index = ibdev_index;
            let mut port = port(1, link, &rows);
            port.state = Ok(state);
            hca.ports = Ok(vec![port.clone(), crate::model::Port { number: 2, ..port }]);
            hca
        },
    )
}

fn any_node() -> impl Strategy<Value = Node> {
    let hcas = (0..20_u32).prop_flat_map(|count| (0..count).map(any_hca).collect::<Vec<_>>());
    let interfaces: Vec<Interface> = vec![
        interface("lo", 1, &["127.0.0.1/8", "::1/128"]),
        interface("eth0", 2, &["10.0.0.1/24", "fe80::1/64"]),
        interface("ib0", 3, &["fe80::2/64"]),
    ];
    (hcas, prop::sample::subsequence(interfaces, 0..=3)).prop_map(|(hcas, ifs)| node(hcas, ifs))
}

fn any_settings() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let names = prop::sample::select(vec![
        "NCCL_IB_HCA",
        "NCCL_IB_GID_INDEX",
        "NCCL_IB_ADDR_FAMILY",
        "NCCL_IB_ADDR_RANGE",
        "NCCL_IB_ROCE_VERSION_NUM",
        "NCCL_IB_ROUTABLE_FLID_GID_INDEX",
        "NCCL_IB_MERGE_NICS",
        "NCCL_IB_MERGE_VFS",
        "NCCL_IB_DEVICE_PCI_ORDER",
        "NCCL_NET_MERGE_LEVEL",
        "NCCL_NET_MERGE_POLICY",
        "NCCL_NET_FORCE_MERGE",
        "NCCL_SOCKET_IFNAME",
        "NCCL_SOCKET_FAMILY",
        "NCCL_COMM_ID",
    ]);
    let values = prop_oneof![
        any::<String>(),
        "[\\^]?[=]?(mlx5_[0-9]?[:0-9]{0,3},?){0,4}",
        "-?[0-9]{1,3}",
        prop::sample::select(vec![
            "AF_INET6",
            "10.0.0.0/8",
            "fd00::/64",
            "eth0",
            "PIX",
            "SYS",
            "RAIL",
            "10.0.0.9:1",
            "mlx5_0,mlx5_1;mlx5_2,mlx5_3",
            ",",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec((names, values), 0..5)
}

proptest! {
    #[test]
    fn no_node_makes_it_panic(node in any_node(), variables in any_settings()) {
        let settings = crate::nccl::config::Settings::from_environment(
            variables.iter().map(|(name, value)| (*name, value.as_str())),
        );
        for release in KNOWN {
            let prediction = predict(&node, &settings, *release);
            let count = prediction.devices.len();
            prop_assert!(count <= 32 && prediction.interfaces.len() <= 16);
            if prediction.crash.is_none() {
                prop_assert_eq!(prediction.ib_usable, count > 0);
                for merged in &prediction.merged {
                    prop_assert!(merged.members.len() > 1);
                    prop_assert!(merged.members.iter().all(|m| *m < count));
                }
            }
        }
    }
}
