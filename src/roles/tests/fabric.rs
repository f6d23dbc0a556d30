//! NCCL cannot mix link layers: which one is kept.

use super::{Setup, at};
use crate::roles::{Fabric, Rules};

/// A RoCE and an `InfiniBand` device of equal rate, each near a GPU of its own.
fn equal() -> Setup {
    Setup::new()
        .gpu(&at(1, 0))
        .gpu(&at(2, 0))
        .roce("mlx5_1", &at(1, 1), "eth1")
        .ib("mlx5_2", &at(2, 1))
}

#[test]
fn a_tie_is_infinibands() {
    let setup = equal();
    assert_eq!(setup.roles(), "mlx5_1 other link-layer, mlx5_2 data data");
    assert_eq!(setup.decide().fabric, Some(Fabric::InfiniBand));
}

#[test]
fn the_greater_total_rate_near_gpus_wins() {
    let setup = equal().rate("mlx5_1", 100_001);
    assert_eq!(setup.data(), "mlx5_1");
    let far = equal().ib("mlx5_3", &at(9, 1)).ib("mlx5_4", &at(10, 1));
    assert_eq!(far.rate("mlx5_1", 100_001).data(), "mlx5_1");
}

#[test]
fn without_ports_near_gpus_the_total_of_all_counts() {
    let setup = Setup::new()
        .roce("mlx5_1", &at(1, 1), "eth1")
        .roce("mlx5_2", &at(2, 1), "eth2")
        .ib("mlx5_3", &at(3, 1));
    assert_eq!(setup.data(), "mlx5_1 mlx5_2");
    // Equal near the GPUs: the far ones decide.
    let far = equal().roce("mlx5_3", &at(9, 1), "eth3");
    assert_eq!(far.decide().fabric, Some(Fabric::Roce));
}

#[test]
fn a_port_of_unknown_rate_is_still_a_port() {
    let setup = equal()
        .port("mlx5_1", |p| p.rate = crate::model::fixture::absent())
        .port("mlx5_2", |p| p.state = Ok(crate::model::PortState::Down));
    assert_eq!(setup.data(), "mlx5_1");
}

#[test]
fn main_ports_weigh_nothing() {
    let setup = equal().rate("mlx5_1", 400_000).route("eth1");
    assert_eq!(setup.roles(), "mlx5_1 main main, mlx5_2 data data");
}

#[test]
fn the_user_decides() {
    let rules = |fabric| Rules {
        fabric: Some(fabric),
        ..Rules::default()
    };
    assert_eq!(equal().data_with(&rules(Fabric::Roce)), "mlx5_1");
    assert_eq!(equal().data_with(&rules(Fabric::InfiniBand)), "mlx5_2");
    // The main port comes in where it is the only one of that link layer.
    let main = equal().route("eth1");
    assert_eq!(main.data_with(&rules(Fabric::Roce)), "mlx5_1");
}
