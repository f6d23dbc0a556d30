//! Tests of joining, by release.

use super::{Merging, merge};
use crate::model::{Hca, LinkLayer, Node};
use crate::nccl::device::enumerate;
use crate::nccl::fixture::{function, hca, node, port, settings};
use crate::nccl::outcome::{Code, Crash};
use crate::nccl::release::Release;

const NONE: Release = Release::new(2, 19, 4);
const TRANSPORT: Release = Release::new(2, 21, 5);
const MIX: Release = Release::new(2, 23, 4);
const FIRST_TOPOLOGY: Release = Release::new(2, 25, 1);
const TOPOLOGY: Release = Release::new(2, 27, 7);
const NEW: Release = Release::new(2, 30, 7);

fn merging(node: &Node, environment: &str, release: Release) -> Result<Merging, Crash> {
    let settings = settings(environment);
    let devices = enumerate(node, &settings, release)?;
    merge(&devices.list, node, &settings, release)
}

fn merged(node: &Node, environment: &str, release: Release) -> String {
    let merging = merging(node, environment, release).unwrap();
    assert!(merging.result.is_success());
    let names: Vec<_> = merging.merged.iter().map(|m| m.name.clone()).collect();
    names.join(" ")
}

fn result(node: &Node, environment: &str, release: Release) -> Code {
    merging(node, environment, release).unwrap().result
}

/// `mlx5_N` at an address behind a switch.
fn at(number: u32, address: &str) -> Hca {
    let path = format!("pci0000:3a/0000:3a:01.0/0000:3b:00.0/0000:3c:01.0/{address}");
    hca(&format!("mlx5_{number}"), Some(&path))
}

fn of(hcas: Vec<Hca>) -> Node {
    node(hcas, Vec::new())
}

/// Functions of one card.
fn card(functions: u32) -> Node {
    of((0..functions)
        .map(|i| at(i, &format!("0000:3d:00.{i}")))
        .collect())
}

#[test]
fn older_releases_join_two_and_newer_ones_four() {
    assert_eq!(merged(&card(2), "", NONE), "");
    assert_eq!(
        merged(&card(5), "", TRANSPORT),
        "mlx5_0+mlx5_1 mlx5_2+mlx5_3"
    );
    assert_eq!(
        merged(&card(5), "", TOPOLOGY),
        "mlx5_0+mlx5_1+mlx5_2+mlx5_3"
    );
    assert_eq!(merged(&card(5), "", NEW), "mlx5_0+mlx5_1+mlx5_2+mlx5_3");
}

#[test]
fn a_joined_device_has_the_sum_of_the_speeds() {
    let merging = merging(&card(2), "", TOPOLOGY).unwrap();
    assert_eq!(merging.merged[0].speed_mbps, 200_000);
    assert_eq!(merging.merged[0].members, [0, 1]);
}

#[test]
fn different_image_guids_keep_apart_in_the_transport_only() {
    let mut node = card(2);
    node.hcas.as_mut().unwrap()[1].sys_image_guid = Ok("other".into());
    assert_eq!(merged(&node, "", TRANSPORT), "");
    assert_eq!(merged(&node, "", TOPOLOGY), "mlx5_0+mlx5_1");
}

#[test]
fn one_single_port_card_stops_two_releases_from_joining() {
    let node = of(vec![
        at(0, "0000:3d:00.0"),
        at(1, "0000:3d:00.1"),
        at(2, "0000:4d:00.0"),
    ]);
    assert_eq!(merged(&node, "", TRANSPORT), "mlx5_0+mlx5_1");
    assert_eq!(merged(&node, "", MIX), "");
    assert_eq!(merged(&node, "", TOPOLOGY), "mlx5_0+mlx5_1");
}

#[test]
fn a_switch_keeps_them() {
    let off = "NCCL_IB_MERGE_NICS=0";
    for release in [TRANSPORT, TOPOLOGY, NEW] {
        assert_eq!(merged(&card(2), off, release), "");
    }
    assert_eq!(merged(&card(2), "NCCL_NET_MERGE_LEVEL=LOC", TOPOLOGY), "");
    assert_eq!(merged(&card(2), "NCCL_NET_MERGE_LEVEL=port", TOPOLOGY), "");
}

#[test]
fn a_level_joins_what_is_near_enough() {
    let node = of(vec![at(0, "0000:3d:00.0"), at(1, "0000:3e:00.0")]);
    assert_eq!(merged(&node, "", TOPOLOGY), "");
    assert_eq!(
        merged(&node, "NCCL_NET_MERGE_LEVEL=PIX", TOPOLOGY),
        "mlx5_0+mlx5_1"
    );
}

#[test]
fn two_link_layers_are_not_joined_once_that_is_checked() {
    let mut device = at(0, "0000:3d:00.0");
    device.ports = Ok(vec![
        port(1, LinkLayer::InfiniBand, &[]),
        port(2, LinkLayer::Ethernet, &[]),
    ]);
    let node = of(vec![device]);
    assert_eq!(merged(&node, "", TRANSPORT), "");
    assert_eq!(merged(&node, "", FIRST_TOPOLOGY), "mlx5_0+mlx5_0");
    assert_eq!(merged(&node, "", TOPOLOGY), "");
}

#[test]
fn after_a_failed_join_the_others_find_each_other() {
    let mut hcas: Vec<_> = (0..4).map(|i| at(i, &format!("0000:3d:00.{i}"))).collect();
    hcas[1].ports = Ok(vec![port(1, LinkLayer::InfiniBand, &[])]);
    hcas[3].ports = Ok(vec![port(1, LinkLayer::InfiniBand, &[])]);
    // The first fails with all others and is not tried again as a first.
    assert_eq!(merged(&of(hcas), "", TOPOLOGY), "");
}

#[test]
fn forced_groups_need_exact_names_and_synthetic_ports() {
    let node = of(vec![
        at(0, "0000:3d:00.0"),
        at(1, "0000:3d:00.1"),
        at(2, "0000:4d:00.0"),
    ]);
    let force = |groups: &str| format!("NCCL_NET_FORCE_MERGE={groups}");
    assert_eq!(
        merged(&node, &force("mlx5_0,mlx5_2"), TOPOLOGY),
        "mlx5_0+mlx5_2"
    );
    assert_eq!(
        merged(&node, &force("mlx5_1:2,mlx5_2:1"), TOPOLOGY),
        "mlx5_1+mlx5_2"
    );
    assert_eq!(merged(&node, &force("mlx5_0"), TOPOLOGY), "");
    assert_eq!(merged(&node, &force(";"), TOPOLOGY), "mlx5_0+mlx5_1");
    for wrong in [
        "mlx5_0,nosuch",
        "mlx5_1:1,mlx5_2",
        "mlx5_0,mlx5_0",
        "=mlx5_0,mlx5_2",
    ] {
        assert_eq!(
            result(&node, &force(wrong), TOPOLOGY),
            Code::InvalidUsage,
            "{wrong}"
        );
    }
    let off = force("mlx5_0,mlx5_2") + " NCCL_IB_MERGE_NICS=0";
    assert_eq!(result(&node, &off, TOPOLOGY), Code::InvalidUsage);
}

#[test]
fn a_forced_group_of_five_loses_its_last_or_fails() {
    let five = "NCCL_NET_FORCE_MERGE=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4";
    assert_eq!(
        merged(&card(5), five, TOPOLOGY),
        "mlx5_0+mlx5_1+mlx5_2+mlx5_3"
    );
    assert_eq!(result(&card(5), five, NEW), Code::InvalidUsage);
}

#[test]
fn a_group_that_names_nothing_hangs() {
    for group in [",", ":", ":1"] {
        let environment = format!("NCCL_NET_FORCE_MERGE={group}");
        assert_eq!(
            merging(&card(2), &environment, TOPOLOGY),
            Err(Crash::EmptyMergeGroup)
        );
        assert!(merging(&card(2), &environment, TRANSPORT).is_ok());
    }
}

#[test]
fn rails_keep_apart_where_the_policy_says_so() {
    let rails = "NCCL_NET_MERGE_POLICY=rail NCCL_IB_HCA==mlx5_0:1:0,mlx5_1:1:1,mlx5_2:1:0,mlx5_3";
    assert_eq!(merged(&card(4), rails, NEW), "mlx5_0+mlx5_2");
    assert_eq!(
        merged(&card(4), rails, TOPOLOGY),
        "mlx5_0+mlx5_1+mlx5_2+mlx5_3"
    );
}

#[test]
fn devices_off_pci_kill_the_transport_and_become_one_in_the_topology() {
    let node = of(vec![hca("rxe_0", None), hca("rxe_1", None)]);
    assert_eq!(merging(&node, "", TRANSPORT), Err(Crash::NoDevicePath));
    assert!(merging(&node, "NCCL_IB_MERGE_NICS=0", TRANSPORT).is_ok());
    assert_eq!(merged(&node, "", TOPOLOGY), "rxe_0+rxe_1");
    assert_eq!(merged(&node, "", NONE), "");
}

#[test]
fn devices_of_two_numa_nodes_have_no_place_in_the_tree() {
    let mut far = hca("mlx5_1", None);
    far.dir = "sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0/infiniband/mlx5_1".into();
    far.pci = Ok(Some(function("pci0000:80/0000:80:01.0/0000:81:00.0", 1)));
    let node = of(vec![at(0, "0000:3d:00.0"), far]);
    let all = "NCCL_NET_MERGE_LEVEL=SYS";
    assert_eq!(result(&node, all, NEW), Code::InvalidArgument);
    assert_eq!(result(&node, all, TOPOLOGY), Code::Success);
}

#[test]
fn a_device_off_pci_cannot_lead_one_across_the_cpu() {
    let node = of(vec![hca("rxe_0", None), at(1, "0000:3d:00.0")]);
    let all = "NCCL_NET_MERGE_LEVEL=PHB NCCL_IB_HCA=rxe,mlx5 NCCL_IB_DEVICE_PCI_ORDER=1";
    assert_eq!(merged(&node, all, NEW), "mlx5_1+rxe_0");
}
