//! Nodes drawn at random, in the shapes that real ones have and in some that none should have.
//!
//! Small numbers are drawn, and a node is made of them by plain code, so that a failure shrinks to few and small numbers.

use proptest::prelude::*;

use super::make::Maker;
use super::shape::Shape;

/// What is drawn of one device.
#[derive(Debug, Clone)]
pub(super) struct HcaDraw {
    pub(super) kind: HcaKind,
    /// 0: no GPU's switch.
    pub(super) switch: u8,
    pub(super) two_ports: bool,
    pub(super) virtual_one: bool,
    pub(super) model: u8,
    pub(super) rate: u8,
    pub(super) state: u8,
    pub(super) uverbs: u8,
    pub(super) table: TableDraw,
    pub(super) nets: Net,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HcaKind {
    Roce,
    InfiniBand,
    Software,
    Iwarp,
    Efa,
}

/// How a GID table is filled.
#[derive(Debug, Clone)]
pub(super) struct TableDraw {
    /// 0: v1 and v2; 1: v2 only; 2: v1 only; 3: v2 before v1.
    pub(super) versions: u8,
    /// Bit N: a hole before row N.
    pub(super) holes: u16,
    /// Rows of other namespaces before and after the own ones.
    pub(super) foreign: (u8, u8),
    /// By how many rows the table is turned.
    pub(super) turn: u8,
    pub(super) odd: Odd,
    /// Which row is odd.
    pub(super) at: u8,
}

/// What may be wrong with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Odd {
    Nothing,
    NdevUnreadable,
    NdevAbsent,
    TypeInvalid,
    TypeDenied,
    TypeUnknown,
    RowFails,
    Ipv4LinkLocal,
    Twice,
}

/// Where the addresses of a port are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Net {
    Own4,
    Two4,
    Own6,
    Both,
    Bare,
    OwnAndVlan,
    OnlyVlan,
    OwnAndMacvlan,
    OnlyMacvlan,
    Bridged,
    Bonded,
    BondedSlaveName,
    BondedVlan,
    SameAddressTwice,
    Away,
    SameNameAway,
    SameNameBare,
    Down,
}

fn hca() -> impl Strategy<Value = HcaDraw> {
    use HcaKind::{Efa, InfiniBand, Iwarp, Roce, Software};
    let kind = prop_oneof![
        12 => Just(Roce), 6 => Just(InfiniBand), 1 => Just(Software), 1 => Just(Iwarp), 1 => Just(Efa)
    ];
    let first = (
        kind,
        0..6u8,
        prop::bool::weighted(0.15),
        prop::bool::weighted(0.15),
        prop_oneof![5 => Just(0u8), 1 => Just(1)],
        prop_oneof![6 => Just(0u8), 3 => 1..6u8],
        prop_oneof![10 => Just(0u8), 3 => 1..6u8],
        prop_oneof![10 => Just(0u8), 1 => 1..3u8],
    );
    (first, table(), net()).prop_map(|(first, table, nets)| {
        let (kind, switch, two_ports, virtual_one, model, rate, state, uverbs) = first;
        HcaDraw {
            kind,
            switch,
            two_ports,
            virtual_one,
            model,
            rate,
            state,
            uverbs,
            table,
            nets,
        }
    })
}

fn table() -> impl Strategy<Value = TableDraw> {
    use Odd::{
        Ipv4LinkLocal, NdevAbsent, NdevUnreadable, Nothing, RowFails, Twice, TypeDenied,
        TypeInvalid, TypeUnknown,
    };
    let odd = prop_oneof![
        16 => Just(Nothing), 1 => Just(NdevUnreadable), 1 => Just(NdevAbsent), 1 => Just(TypeInvalid),
        1 => Just(TypeDenied), 1 => Just(TypeUnknown), 1 => Just(RowFails), 2 => Just(Ipv4LinkLocal),
        1 => Just(Twice)
    ];
    (
        prop_oneof![10 => Just(0u8), 3 => Just(1), 1 => Just(2), 1 => Just(3)],
        prop_oneof![3 => Just(0u16), 1 => 0..64u16],
        (
            prop_oneof![4 => Just(0u8), 1 => 0..5u8],
            prop_oneof![4 => Just(0u8), 1 => 0..4u8],
        ),
        prop_oneof![6 => Just(0u8), 1 => 0..8u8],
        odd,
        0..8u8,
    )
        .prop_map(|(versions, holes, foreign, turn, odd, at)| TableDraw {
            versions,
            holes,
            foreign,
            turn,
            odd,
            at,
        })
}

fn net() -> impl Strategy<Value = Net> {
    let rare = prop::sample::select(vec![
        Net::Two4,
        Net::Own6,
        Net::Both,
        Net::Bare,
        Net::OwnAndVlan,
        Net::OnlyVlan,
        Net::OwnAndMacvlan,
        Net::OnlyMacvlan,
        Net::Bridged,
        Net::Bonded,
        Net::BondedSlaveName,
        Net::BondedVlan,
        Net::SameAddressTwice,
        Net::Away,
        Net::SameNameAway,
        Net::SameNameBare,
        Net::Down,
    ]);
    prop_oneof![1 => Just(Net::Own4), 1 => rare]
}

/// Variables that a job may have already, with values that are right, stale or nonsense.
pub(super) const VARIABLES: &[(&str, &[&str])] = &[
    (
        "NCCL_IB_GID_INDEX",
        &["3", "0", "99", "-1", "auto", "0x3", ""],
    ),
    ("NCCL_NET", &["Socket", "IB", "socket", ""]),
    ("NCCL_SOCKET_FAMILY", &["AF_INET", "AF_INET6", "inet"]),
    ("NCCL_IB_ADDR_FAMILY", &["AF_INET", "AF_INET6"]),
    (
        "NCCL_IB_ADDR_RANGE",
        &[
            "10.0.0.0/8",
            "192.168.0.0/16",
            "172.16.0.0/12",
            "fd00::/16",
            "junk/8",
            "junk",
        ],
    ),
    ("NCCL_IB_ROCE_VERSION_NUM", &["1", "2"]),
    ("NCCL_COMM_ID", &["10.0.0.1:29500", "junk", ""]),
    ("NCCL_IB_DISABLE", &["1", "0"]),
    ("NCCL_IB_HCA", &["mlx5", "^mlx5_1", "=mlx5_0", ""]),
    ("NCCL_SOCKET_IFNAME", &["lo", "eth", "^eth", "=eth0"]),
    ("NCCL_NET_FORCE_MERGE", &["mlx5_0,mlx5_1", ",", "mlx5_1"]),
    ("NCCL_NET_MERGE_LEVEL", &["SYS", "LOC"]),
    ("NCCL_IB_MERGE_NICS", &["0"]),
    ("NCCL_IB_DATA_DIRECT", &["1"]),
];

/// Where a variable is set: the environment, the home directory's file, the system's.
fn settings() -> impl Strategy<Value = Vec<(usize, usize, u8)>> {
    prop_oneof![
        2 => Just(Vec::new()),
        1 => prop::collection::vec((0..VARIABLES.len(), 0..8usize, 0..3u8), 1..4),
    ]
}

/// A node with 0 to 12 devices.
pub(super) fn shape() -> impl Strategy<Value = Shape> {
    (
        prop_oneof![1 => Just(0usize), 12 => 1..13usize],
        0..9u8,
        // Equal devices are the rule.
        any::<bool>(),
        (
            0..6u8,
            prop::bool::weighted(0.2),
            prop::bool::weighted(0.9),
            any::<bool>(),
        ),
        settings(),
    )
        .prop_flat_map(|(count, gpus, equal, rest, settings)| {
            let devices = if equal {
                (hca(), prop::collection::vec((hca(), 0..12u8), count))
                    .prop_map(|(model, each)| {
                        // One in six differs from the model.
                        each.into_iter()
                            .zip(1..)
                            .map(|((own, luck), n): (_, u8)| {
                                if luck < 2 {
                                    return own;
                                }
                                HcaDraw {
                                    switch: n % 9,
                                    ..model.clone()
                                }
                            })
                            .collect()
                    })
                    .boxed()
            } else {
                prop::collection::vec(hca(), count).boxed()
            };
            (devices, Just((gpus, rest, settings)))
        })
        .prop_map(
            |(devices, (gpus, (route, container, nodes, order_known), settings))| {
                let mut maker = Maker::default();
                maker.gpus(gpus);
                maker.surroundings(route);
                for (number, draw) in (0..).zip(&devices) {
                    maker.hca(number, draw);
                }
                maker.settings(&settings);
                maker.shape.container = container;
                maker.shape.dev_infiniband = nodes;
                maker.shape.order_known = order_known;
                maker.shape
            },
        )
}
