//! Whatever is set, nothing panics; and what is called clean does what `env` chooses.

use proptest::prelude::*;

use super::{findings, of_analysis, sources};
use crate::checks::Severity;
use crate::lint::{Analysis, row_fault};
use crate::model::Node;
use crate::nccl::device::Link;
use crate::nccl::release::{KNOWN, Release};
use crate::nccl::variables::catalogue::all;
use crate::roles::{Decision, Rules, decide};
use crate::sys::{Root, Scope, Tree, read_node};

const CASES: u32 = 400;

const NODES: [&str; 4] = [
    include_str!("../../../../fixtures/nodes/a100-8gpu-roce"),
    include_str!("../../../../fixtures/nodes/h100-8gpu-infiniband"),
    include_str!("../../../../fixtures/nodes/indexes-differ"),
    include_str!("../../../../fixtures/nodes/dual-port-hca"),
];

fn nodes() -> Vec<Node> {
    NODES
        .iter()
        .map(|text| {
            let root = Root::tree(Tree::parse(text).unwrap(), "a fixture");
            read_node(&root, Scope::FULL)
        })
        .collect()
}

/// Values near those that mean something, and any printable text.
fn value() -> impl Strategy<Value = String> {
    let near = [
        "0",
        "1",
        "3",
        "-1",
        "auto",
        "5",
        "=mlx5_0",
        "mlx5_1",
        "^mlx5_0",
        "^=mlx5_0",
        "eth0",
        "=eth0",
        "bond0",
        "lo",
        "AF_INET",
        "AF_INET6",
        "10.0.0.0/8",
        "10.0.0.0",
        "",
        "IB",
        "Socket",
        "PHB",
        "^mlx5_bond_0",
        "mlx4_0:1",
        "=mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8",
        "=mlx5_0,mlx5_1,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8,mlx5_9",
    ];
    prop_oneof![
        4 => prop::sample::select(near.to_vec()).prop_map(str::to_owned),
        1 => "[ -~]{0,20}",
    ]
}

fn environment() -> impl Strategy<Value = Vec<(String, String)>> {
    let often = [
        "NCCL_IB_HCA",
        "NCCL_IB_GID_INDEX",
        "NCCL_SOCKET_IFNAME",
        "NCCL_IB_DISABLE",
        "NCCL_IB_ADDR_FAMILY",
        "NCCL_IB_ADDR_RANGE",
    ];
    let any: Vec<&str> = all().map(|v| v.name).collect();
    let name = prop_oneof![
        3 => prop::sample::select(often.to_vec()),
        1 => prop::sample::select(any),
    ];
    prop::collection::vec((name.prop_map(str::to_owned), value()), 0..5)
}

/// What NCCL would do differently from what `env` chooses, in an environment that is called clean.
fn difference(a: &Analysis) -> Option<String> {
    for j in &a.judged {
        let data = a.data();
        let ports = j.used.len() == data.len() && data.iter().all(|k| j.uses(k));
        let gids = j.used.iter().filter(|u| u.link == Link::Roce).all(|u| {
            u.gid.is_some_and(|g| {
                g.result.is_success()
                    && g.index
                        .is_some_and(|i| row_fault(a.node, &u.key, i).is_none())
            })
        });
        let taken = j.prediction.out_of_band().map(|i| &i.name);
        // An interface that is named by its whole name is its author's word, and only noted.
        let named = j.filled("NCCL_SOCKET_IFNAME").is_some_and(|v| {
            taken.is_some_and(|t| v.trim_start_matches('=').split(',').any(|n| n == t))
        });
        let interface = named || taken == a.choice.interface.as_ref().map(|(name, _)| name);
        // Whether a plugin that is named exists is not known; that it is named is noted.
        let plugin = ["NCCL_NET", "NCCL_NET_PLUGIN"]
            .iter()
            .any(|n| j.filled(n).is_some());
        let rdma = j.prediction.uses_rdma();
        let right = rdma && ports && gids && interface;
        if !plugin && !right {
            return Some(format!(
                "{}: rdma {rdma}, ports {ports}, GIDs {gids}, interface {taken:?}",
                j.release
            ));
        }
    }
    None
}

/// What `env` prints on a node for a release.
fn block(node: &Node, decision: &Decision, release: Release) -> Vec<(String, String)> {
    let (rules, nothing) = (Rules::default(), sources([]));
    let analysis = Analysis::new(node, decision, &rules, &nothing, &[release]);
    let plan = analysis.choice.plan.as_ref();
    let variables = plan.map(|p| p.variables.clone()).unwrap_or_default();
    variables
        .iter()
        .filter_map(|v| Some((v.name.clone(), v.value()?.to_owned())))
        .collect()
}

#[test]
fn what_env_prints_is_clean() {
    for node in nodes() {
        let decision = decide(&node, &Rules::default());
        for release in KNOWN {
            let env = block(&node, &decision, *release);
            if env.is_empty() {
                continue;
            }
            let found = findings(&node, &decision, &sources(env), &[*release]);
            assert!(found.is_empty(), "{release}: {found:?}");
        }
    }
}

#[test]
fn whatever_is_clean_does_what_env_chooses() {
    let nodes = nodes();
    let decisions: Vec<_> = nodes.iter().map(|n| decide(n, &Rules::default())).collect();
    let clean = std::cell::Cell::new(0_usize);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: CASES,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let input = (
        0..nodes.len(),
        environment(),
        prop::sample::select(KNOWN.to_vec()),
        any::<bool>(),
    );
    runner
        .run(
            &input,
            |(at, env, release, planned): (usize, Vec<(String, String)>, Release, bool)| {
                let rules = Rules::default();
                // Half of them are what `env` prints, with something on top.
                let mut all = if planned {
                    block(&nodes[at], &decisions[at], release)
                } else {
                    Vec::new()
                };
                all.extend(env);
                let sources = sources(all);
                let analysis =
                    Analysis::new(&nodes[at], &decisions[at], &rules, &sources, &[release]);
                let found = of_analysis(&analysis);
                if found.iter().all(|(_, f)| f.severity < Severity::Warning) {
                    clean.set(clean.get() + 1);
                    let difference = difference(&analysis);
                    prop_assert!(
                        difference.is_none(),
                        "{difference:?} of {:?}",
                        sources.environment
                    );
                }
                Ok(())
            },
        )
        .unwrap();
    println!("{} of {CASES} environments are clean", clean.get());
    assert!(clean.get() > 20);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_value_makes_it_panic(
        values in prop::collection::vec("[ -~]{0,40}", 400),
        release in prop::sample::select(KNOWN.to_vec()),
    ) {
        let env: Vec<(String, String)> =
            all().map(|v| v.name.to_owned()).zip(values).collect();
        let node = super::table::ports_node(
            &[super::table::PortRow { device: "mlx5_0", number: 1, infiniband: false, active: true }],
            &[],
        );
        let decision = decide(&node, &Rules::default());
        let found = findings(&node, &decision, &sources(env), &[release]);
        for (_, finding) in found {
            prop_assert!(!finding.message.is_empty());
        }
    }
}
