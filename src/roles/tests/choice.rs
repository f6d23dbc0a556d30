//! Which of the usable ports are for data: distance, rate, model, functions of one card, GPUs in use, the user's lists.

use super::{Setup, at};
use crate::model::fixture::{absent, port};
use crate::model::{LinkLayer, Port};
use crate::nccl::release::Release;
use crate::nccl::selector::Selector;
use crate::roles::Rules;

#[test]
fn far_ports_are_out_where_near_ones_are_enough() {
    // One of two GPUs has a port near it: not fewer than half.
    let setup = Setup::new()
        .gpu(&at(1, 0))
        .gpu(&at(2, 0))
        .roce("mlx5_1", &at(1, 1), "eth1")
        .roce("mlx5_2", &at(9, 1), "eth2");
    assert_eq!(setup.roles(), "mlx5_1 data data, mlx5_2 other far");
}

#[test]
fn far_ports_as_fast_stay_where_near_ones_are_fewer_than_half_of_the_gpus() {
    let setup = || {
        Setup::new()
            .gpu(&at(1, 0))
            .gpu(&at(2, 0))
            .gpu(&at(3, 0))
            .roce("mlx5_1", &at(1, 1), "eth1")
            .roce("mlx5_2", &at(9, 1), "eth2")
    };
    assert_eq!(setup().data(), "mlx5_1 mlx5_2");
    assert_eq!(
        setup().rate("mlx5_2", 99_999).roles(),
        "mlx5_1 data data, mlx5_2 other far"
    );
    assert_eq!(setup().rate("mlx5_2", 400_000).data(), "mlx5_2");
}

#[test]
fn without_a_near_port_or_without_gpus_distance_decides_nothing() {
    let far = Setup::new()
        .gpu(&at(1, 0))
        .roce("mlx5_1", &at(8, 1), "eth1")
        .roce("mlx5_2", &at(9, 1), "eth2");
    assert_eq!(far.data(), "mlx5_1 mlx5_2");
    let unlisted = Setup::usual(2).node(|n| n.gpus = absent());
    assert_eq!(unlisted.data(), "mlx5_1 mlx5_2");
    // A device whose PCI function is not known is not far.
    let unknown = Setup::usual(2).hca("mlx5_2", |h| h.pci = absent());
    assert_eq!(unknown.data(), "mlx5_1 mlx5_2");
}

#[test]
fn a_port_below_half_of_the_fastest_is_slow_and_exactly_half_is_not() {
    let rates = |rate| Setup::usual(2).rate("mlx5_2", rate);
    assert_eq!(rates(50_000).data(), "mlx5_1 mlx5_2");
    assert_eq!(
        rates(49_999).roles(),
        "mlx5_0 main main, mlx5_1 data data, mlx5_2 other slow"
    );
    let reason = rates(2_500).decide().ports[2].reason.to_string();
    assert_eq!(reason, "2.5G is below half of the fastest port's 100G");
}

#[test]
fn an_unknown_rate_is_not_slow() {
    let setup = Setup::usual(2).port("mlx5_2", |p| p.rate = absent());
    assert_eq!(setup.data(), "mlx5_1 mlx5_2");
}

/// Another function of a card.
fn function_of(first: &str, number: u8) -> String {
    format!("{}.{number}", first.strip_suffix(".0").unwrap())
}

/// A dual-port card beside the GPU of switch 1: two functions of one slot.
fn dual_port(setup: Setup, device_id: u16) -> Setup {
    setup
        .roce("mlx5_20", &at(1, 2), "eth20")
        .roce("mlx5_21", &function_of(&at(1, 2), 1), "eth21")
        .hca("mlx5_20", |h| {
            h.pci.as_mut().unwrap().as_mut().unwrap().device = Ok(device_id);
        })
        .hca("mlx5_21", |h| {
            h.pci.as_mut().unwrap().as_mut().unwrap().device = Ok(device_id);
        })
}

fn of_model(setup: Setup, device_id: u16) -> Setup {
    (1..=4).fold(setup, |s, n| {
        s.hca(&format!("mlx5_{n}"), |h| {
            h.pci.as_mut().unwrap().as_mut().unwrap().device = Ok(device_id);
        })
    })
}

#[test]
fn a_dual_port_card_of_another_model_is_out_beside_an_equal_card_for_each_gpu() {
    let setup = dual_port(of_model(Setup::usual(4), 0x1021), 0x101d);
    assert_eq!(setup.data(), "mlx5_1 mlx5_2 mlx5_3 mlx5_4");
    assert!(
        setup
            .roles()
            .ends_with("mlx5_20 other other-model, mlx5_21 other other-model")
    );
    // Another rate is another model, too.
    let slower = dual_port(of_model(Setup::usual(4), 0x1021), 0x1021);
    assert_eq!(slower.data(), "mlx5_1 mlx5_2 mlx5_3 mlx5_4 mlx5_20 mlx5_21");
    let slower = slower.rate("mlx5_20", 60_000).rate("mlx5_21", 60_000);
    assert_eq!(slower.data(), "mlx5_1 mlx5_2 mlx5_3 mlx5_4");
}

#[test]
fn a_single_port_card_of_another_model_stays() {
    let setup = of_model(Setup::usual(4), 0x1021).roce("mlx5_20", &at(1, 2), "eth20");
    assert_eq!(setup.data(), "mlx5_1 mlx5_2 mlx5_3 mlx5_4 mlx5_20");
}

#[test]
fn without_an_equal_card_for_each_gpu_other_models_stay() {
    let setup = dual_port(of_model(Setup::usual(4), 0x1021), 0x101d).gpu(&at(1, 5));
    assert_eq!(setup.data(), "mlx5_1 mlx5_2 mlx5_3 mlx5_4 mlx5_20 mlx5_21");
}

#[test]
fn a_device_of_two_ports_is_dual_port() {
    let setup = of_model(Setup::usual(4), 0x1021)
        .ib("mlx5_30", &at(2, 2))
        .hca("mlx5_30", |h| {
            let second = |number| Port {
                netdevs: vec!["eth1".into()],
                ..port(number, LinkLayer::Ethernet, &["3 ::ffff:10.1.0.1 v2"])
            };
            h.ports = Ok(vec![second(1), second(2)]);
        });
    assert_eq!(setup.data(), "mlx5_1 mlx5_2 mlx5_3 mlx5_4");
    assert!(
        setup
            .roles()
            .ends_with("mlx5_30 other other-model, mlx5_30/2 other other-model")
    );
}

/// `mlx5_1` as a physical function with the virtual functions `mlx5_10` and `mlx5_11`.
fn with_virtual() -> Setup {
    let physical = format!("sys/devices/{}", at(1, 1));
    [(10, 2), (11, 3)]
        .iter()
        .fold(Setup::usual(2), |s, (n, number)| {
            let parent = physical.clone();
            s.roce(
                &format!("mlx5_{n}"),
                &function_of(&at(1, 1), *number),
                &format!("eth{n}"),
            )
            .hca(&format!("mlx5_{n}"), |h| h.physfn = Some(parent))
        })
}

#[test]
fn of_a_physical_and_its_virtual_functions_the_physical_one_is_used() {
    assert_eq!(with_virtual().data(), "mlx5_1 mlx5_2");
    assert!(
        with_virtual()
            .roles()
            .ends_with("mlx5_10 other vf-of-pf, mlx5_11 other vf-of-pf")
    );
}

#[test]
fn virtual_functions_are_used_where_only_they_have_an_address_here() {
    // The physical function's address is in a VLAN, so that it stays usable without one of its own.
    let without = |s: Setup| {
        s.address("eth1", &[])
            .rows("mlx5_1", &["3 ::ffff:10.77.0.1 v2 !"])
            .address("other", &["10.77.0.1/24"])
    };
    let both = without(with_virtual());
    assert_eq!(both.data(), "mlx5_2 mlx5_10 mlx5_11");
    assert!(both.roles().contains("mlx5_1 other pf-of-vf"));
}

#[test]
fn which_virtual_function_has_the_address_does_not_matter() {
    // On InfiniBand an address decides nothing but this.
    let node = |with_address: &str| {
        let layer = |s: Setup, name: &str| {
            s.port(name, |p| {
                (p.link_layer, p.lid) = (Ok(LinkLayer::InfiniBand), Ok(4));
            })
        };
        ["mlx5_1", "mlx5_2", "mlx5_10", "mlx5_11"]
            .iter()
            .fold(with_virtual(), |s, name| layer(s, name))
            .address("eth1", &[])
            .address(
                if with_address == "eth10" {
                    "eth11"
                } else {
                    "eth10"
                },
                &[],
            )
    };
    assert_eq!(node("eth10").data(), "mlx5_2 mlx5_10 mlx5_11");
    assert_eq!(node("eth11").data(), "mlx5_2 mlx5_10 mlx5_11");
}

#[test]
fn a_virtual_function_whose_physical_one_is_not_here_is_a_port_like_any() {
    let setup = Setup::usual(2).hca("mlx5_1", |h| {
        h.physfn = Some("sys/devices/elsewhere".into());
    });
    assert_eq!(setup.data(), "mlx5_1 mlx5_2");
}

#[test]
fn the_gpus_in_use_have_their_nearest_ports() {
    let rules = |gpus: &[u32]| Rules {
        gpus: Some(gpus.to_vec()),
        ..Rules::default()
    };
    let setup = Setup::usual(8);
    assert_eq!(
        setup.data_with(&rules(&[0, 1, 2, 3])),
        "mlx5_1 mlx5_2 mlx5_3 mlx5_4"
    );
    assert_eq!(setup.data_with(&rules(&[7])), "mlx5_8");
    assert!(
        setup
            .roles_with(&rules(&[7]))
            .contains("mlx5_1 other other-gpu")
    );
    // No such GPU, or none with a known place: nothing is left out.
    assert_eq!(setup.data_with(&rules(&[99])), setup.data());
    let placeless = Setup::usual(2)
        .hca("mlx5_1", |h| h.pci = absent())
        .hca("mlx5_2", |h| h.pci = absent());
    assert_eq!(placeless.data_with(&rules(&[0])), "mlx5_1 mlx5_2");
}

#[test]
fn a_gpu_with_two_ports_on_its_switch_has_both() {
    let setup = Setup::usual(2).roce("mlx5_20", &at(1, 2), "eth20");
    let rules = Rules {
        gpus: Some(vec![0]),
        ..Rules::default()
    };
    assert_eq!(setup.data_with(&rules), "mlx5_1 mlx5_20");
}

fn listed(list: &str) -> Rules {
    Rules {
        hca: Some(Selector::devices(Some(list), Release::NEWEST)),
        ..Rules::default()
    }
}

#[test]
fn the_users_list_is_final() {
    let setup = Setup::usual(2).rate("mlx5_2", 1_000);
    assert_eq!(setup.data_with(&listed("=mlx5_2")), "mlx5_2");
    assert_eq!(setup.data_with(&listed("mlx5_")), "mlx5_0 mlx5_1 mlx5_2");
    assert_eq!(setup.data_with(&listed("^mlx5_1")), "mlx5_0 mlx5_2");
    assert_eq!(setup.data_with(&listed("mlx5_1:2")), "");
    let down = setup.port("mlx5_2", |p| p.state = Ok(crate::model::PortState::Down));
    assert_eq!(down.data_with(&listed("=mlx5_2")), "");
}

#[test]
fn excluded_ports_are_out_by_exact_name() {
    let rules = |entries: &[&str]| Rules {
        exclude: entries.iter().map(|e| (*e).to_owned()).collect(),
        ..Rules::default()
    };
    let setup = Setup::usual(2)
        .roce("mlx5_10", &at(3, 1), "eth10")
        .gpu(&at(3, 0));
    assert_eq!(setup.data_with(&rules(&["mlx5_1"])), "mlx5_2 mlx5_10");
    assert_eq!(
        setup.data_with(&rules(&["mlx5_1:1", "mlx5_2:2"])),
        "mlx5_2 mlx5_10"
    );
    let everything = rules(&["mlx5_1", "mlx5_2", "mlx5_10"]);
    assert_eq!(setup.data_with(&everything), "mlx5_0");
}
