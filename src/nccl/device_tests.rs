//! Tests of which ports are used, and in which order.

use super::{Devices, Link, enumerate};
use crate::model::{Hca, LinkLayer, Node, PortKey, PortState};
use crate::nccl::fixture::{hca, node, port, settings};
use crate::nccl::outcome::Crash;
use crate::nccl::release::Release;

const OLD: Release = Release::new(2, 27, 7);
const NEW: Release = Release::new(2, 29, 7);

fn devices<'a>(node: &'a Node, environment: &str, release: Release) -> Devices<'a> {
    enumerate(node, &settings(environment), release).unwrap()
}

fn names(node: &Node, environment: &str, release: Release) -> String {
    let names: Vec<_> = devices(node, environment, release)
        .list
        .iter()
        .map(|d| format!("{}:{}", d.hca.name, d.port.number))
        .collect();
    names.join(" ")
}

/// `mlx5_N` directly below a root port, on bus `bus`.
fn on_bus(number: u32, bus: u8) -> Hca {
    let path = format!(
        "pci0000:{bus:02x}/0000:{bus:02x}:01.0/0000:{:02x}:00.0",
        bus + 1
    );
    hca(&format!("mlx5_{number}"), Some(&path))
}

fn of(hcas: Vec<Hca>) -> Node {
    node(hcas, Vec::new())
}

#[test]
fn the_order_is_the_kernels_and_then_that_of_pci() {
    let node = of(vec![on_bus(0, 0x80), on_bus(1, 0x10), on_bus(10, 0x40)]);
    assert_eq!(names(&node, "", OLD), "mlx5_0:1 mlx5_1:1 mlx5_10:1");
    assert_eq!(names(&node, "", NEW), "mlx5_1:1 mlx5_10:1 mlx5_0:1");
    assert_eq!(
        names(&node, "NCCL_IB_DEVICE_PCI_ORDER=0", NEW),
        names(&node, "", OLD)
    );
}

#[test]
fn the_registration_number_beats_the_uverbs_number() {
    let mut hcas = vec![on_bus(0, 0x10), on_bus(1, 0x20)];
    assert!(!devices(&of(hcas.clone()), "", OLD).order_is_certain);
    assert!(devices(&of(hcas.clone()), "", NEW).order_is_certain);
    hcas[0].ibdev_index = Some(7);
    hcas[1].ibdev_index = Some(3);
    let node = of(hcas);
    assert_eq!(names(&node, "", OLD), "mlx5_1:1 mlx5_0:1");
    assert!(devices(&node, "", OLD).order_is_certain);
}

#[test]
fn only_active_ports_of_a_known_link_layer_count() {
    let mut device = on_bus(0, 0x10);
    let mut ports = vec![
        port(1, LinkLayer::InfiniBand, &[]),
        port(2, LinkLayer::Other("Unspecified".into()), &[]),
        port(3, LinkLayer::Ethernet, &[]),
        port(4, LinkLayer::Ethernet, &[]),
    ];
    ports[2].state = Ok(PortState::Init);
    device.ports = Ok(ports);
    let node = of(vec![device]);
    assert_eq!(names(&node, "", OLD), "mlx5_0:1 mlx5_0:4");
    let links: Vec<_> = devices(&node, "", OLD)
        .list
        .iter()
        .map(|d| d.link)
        .collect();
    assert_eq!(links, [Link::InfiniBand, Link::Roce]);
}

#[test]
fn the_list_filters_by_name_and_port() {
    let node = of(vec![on_bus(1, 0x10), on_bus(10, 0x20)]);
    assert_eq!(
        names(&node, "NCCL_IB_HCA=mlx5_1", OLD),
        "mlx5_1:1 mlx5_10:1"
    );
    assert_eq!(names(&node, "NCCL_IB_HCA==mlx5_1", OLD), "mlx5_1:1");
    assert_eq!(names(&node, "NCCL_IB_HCA=mlx5_10:2", OLD), "");
}

#[test]
fn devices_without_a_character_device_are_not_listed() {
    let mut hcas = vec![on_bus(0, 0x10), on_bus(1, 0x20), on_bus(2, 0x30)];
    hcas[0].uverbs.node_exists = Some(false);
    hcas[1].uverbs.number = None;
    hcas[2].uverbs.node_exists = None;
    assert_eq!(names(&of(hcas.clone()), "", OLD), "mlx5_2:1");
    for hca in &mut hcas {
        hca.uverbs.number = None;
        hca.uverbs.node_exists = None;
    }
    assert_eq!(names(&of(hcas), "", OLD), "mlx5_0:1 mlx5_1:1 mlx5_2:1");
}

#[test]
fn what_comes_after_the_limit_is_left_out_before_the_sort() {
    let many: Vec<_> = (0..34)
        .map(|i| on_bus(i, u8::try_from(0xf0 - i).unwrap()))
        .collect();
    let node = of(many);
    let devices = devices(&node, "", NEW);
    assert_eq!(devices.list.len(), 32);
    assert_eq!(devices.list[0].hca.name, "mlx5_31");
    let key = |number: u32| PortKey {
        hca: format!("mlx5_{number}"),
        port: 1,
    };
    assert_eq!(devices.beyond_limit, [key(32), key(33)]);
    assert!(!devices.order_is_certain);
    assert_eq!(
        names(&node, "", Release::new(2, 18, 3)).split(' ').count(),
        16
    );
}

#[test]
fn functions_and_virtual_functions_are_numbered_within_their_card() {
    let function = |name, address| {
        hca(
            name,
            Some(&format!("pci0000:3a/0000:3a:01.0/0000:3b:{address}")),
        )
    };
    let node = of(vec![
        function("mlx5_0", "00.0"),
        function("mlx5_1", "00.1"),
        function("mlx5_2", "01.2"),
    ]);
    let ports = |environment| -> Vec<_> {
        devices(&node, environment, OLD)
            .list
            .iter()
            .map(super::Device::net_port)
            .collect()
    };
    assert_eq!(ports(""), [1, 2, 3]);
    assert_eq!(ports("NCCL_IB_MERGE_VFS=0"), [1, 2, 1]);
}

#[test]
fn a_device_off_pci_kills_releases_when_another_follows() {
    let node = of(vec![hca("rxe_0", None), on_bus(1, 0x10)]);
    let result =
        |environment: &str, release| enumerate(&node, &settings(environment), release).err();
    assert_eq!(result("", OLD), Some(Crash::NoDevicePath));
    assert_eq!(result("NCCL_IB_HCA=mlx5", OLD), None);
    assert_eq!(result("", NEW), None);
    assert_eq!(names(&node, "", NEW), "mlx5_1:1 rxe_0:1");
    assert_eq!(
        result("NCCL_IB_DEVICE_PCI_ORDER=0", NEW),
        Some(Crash::NoDevicePath)
    );
    let after = of(vec![on_bus(0, 0x10), hca("rxe_1", None)]);
    assert_eq!(names(&after, "", OLD), "mlx5_0:1 rxe_1:1");
}

#[test]
fn a_sub_functions_path_is_rewritten_like_any_other() {
    let mut first = on_bus(0, 0x10);
    first.dir = "sys/devices/pci0000:10/0000:11:00.0/mlx5_core.sf.2/infiniband/mlx5_0".into();
    let node = of(vec![first]);
    let devices = devices(&node, "", OLD);
    assert_eq!(
        devices.list[0].card.as_deref(),
        Some("sys/devices/pci0000:10/0000:11:00.0/mlx5_core.00.0")
    );
    assert_eq!(super::pci_order("a/mlx5_core.sf.2"), 0);
    assert_eq!(super::pci_order("a/0000:3b:00.1"), 0x3b001);
}
