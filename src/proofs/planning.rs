//! What `env` prints makes every release do exactly what is intended.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::draw::shape;
use super::shape::Shape;
use super::{CASES, FEW_CASES, config, program};
use crate::model::{GidClass, GidType, Node, PortKey};
use crate::nccl::config::{ConfigFile, Settings, candidates};
use crate::nccl::predict::{Prediction, predict};
use crate::nccl::release::{KNOWN, Release};
use crate::plan::{Plan, PlanError, Policy, Profile, Request, build};
use crate::report::env::{EnvFormat, write};
use crate::roles::{Decision, Rules, decide, socket_interface};
use crate::sys::{Root, Scope, read_node};

/// The settings of an environment and the node's configuration files.
fn settings(shape: &Shape, env: &BTreeMap<String, String>, release: Release) -> Settings {
    let files: Vec<ConfigFile> = candidates(env, Some("/root"), release)
        .into_iter()
        .filter_map(|path| {
            let text = shape.files.get(path.trim_start_matches('/'))?.clone();
            Some(ConfigFile { path, text })
        })
        .collect();
    Settings::resolve(env, &files, release)
}

/// The plan for a node as `env` makes it without options.
pub(super) fn plan(
    shape: &Shape,
    node: &Node,
    decision: &Decision,
    releases: &[Release],
) -> Result<Plan, PlanError> {
    plan_with(shape, node, decision, releases, Policy::Auto)
}

fn plan_with(
    shape: &Shape,
    node: &Node,
    decision: &Decision,
    releases: &[Release],
    policy: Policy,
) -> Result<Plan, PlanError> {
    build(&Request {
        node,
        decision,
        rules: &Rules::default(),
        existing: &|release| settings(shape, &shape.env, release),
        releases,
        policy,
        profile: Profile::Base,
        keep: false,
        set: &[],
    })
}

/// The plan as a shell reads it.
pub(super) fn printed(plan: &Plan, node: &Node) -> String {
    let mut text = Vec::new();
    write(plan, EnvFormat::Sh, node, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// The environment after a shell has evaluated the text.
pub(super) fn evaluated(text: &str, before: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut env = before.clone();
    for line in text.lines() {
        let command = line.strip_suffix(';').unwrap();
        let words = shlex::split(command).unwrap();
        match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["export", assignment] => {
                let (name, value) = assignment.split_once('=').unwrap();
                env.insert(name.to_owned(), value.to_owned());
            }
            ["unset", name] => {
                env.remove(name);
            }
            _ => panic!("{line:?} is neither an export nor an unset"),
        }
    }
    env
}

/// Ports with the index of their GID row, `None` on `InfiniBand`.
type Ports = Vec<(PortKey, Option<u32>)>;

pub(super) fn intended(decision: &Decision) -> Ports {
    let mut ports: Ports = decision
        .data()
        .map(|p| (p.key.clone(), p.gid.as_ref().map(|g| g.index)))
        .collect();
    ports.sort();
    ports
}

/// What NCCL would use; on `InfiniBand` the index is no setting's.
pub(super) fn used(prediction: &Prediction, intended: &Ports) -> Ports {
    let mut ports: Ports = prediction
        .devices
        .iter()
        .map(|d| {
            let roce = intended
                .iter()
                .any(|(key, row)| *key == d.key && row.is_some());
            let index = d.gid.index.and_then(|i| u32::try_from(i).ok());
            (d.key.clone(), index.filter(|_| roce))
        })
        .collect();
    ports.sort();
    ports
}

/// Holds a plan's text against the model for one release.
pub(super) fn prove(
    shape: &Shape,
    node: &Node,
    decision: &Decision,
    plan: &Plan,
    release: Release,
) -> Result<(), TestCaseError> {
    let env = evaluated(&printed(plan, node), &shape.env);
    let prediction = predict(node, &settings(shape, &env, release), release);
    let intended = intended(decision);
    prop_assert_eq!(prediction.crash, None);
    prop_assert!(prediction.ib_usable && prediction.topo_result.is_success());
    prop_assert_eq!(used(&prediction, &intended), intended, "{}", release);
    prop_assert!(prediction.devices.iter().all(|d| d.gid.result.is_success()));
    let data: Vec<_> = decision.data().map(|p| p.netdevs.clone()).collect();
    let interface = socket_interface(node, &[], &data).map(|c| c.name);
    prop_assert_eq!(prediction.out_of_band().map(|i| i.name.clone()), interface);
    Ok(())
}

proptest! {
    #![proptest_config(config(CASES))]

    #[test]
    fn every_release_does_what_is_intended(shape in shape(), policy in 0..4usize) {
        let node = read_node(&Root::tree(shape.tree(), ""), Scope::FULL);
        let decision = decide(&node, &Rules::default());
        let policy = [Policy::Auto, Policy::Pin, Policy::Dynamic, Policy::Range][policy];
        for release in KNOWN {
            if let Ok(plan) = plan_with(&shape, &node, &decision, &[*release], policy) {
                prove(&shape, &node, &decision, &plan, *release)?;
            }
        }
    }

    /// A node with several NCCLs, or with none that is known, has one block for all of them.
    #[test]
    fn one_block_is_right_for_all_its_releases(shape in shape(), some in prop::sample::subsequence(KNOWN, 0..5)) {
        let node = read_node(&Root::tree(shape.tree(), ""), Scope::FULL);
        let decision = decide(&node, &Rules::default());
        if let Ok(plan) = plan(&shape, &node, &decision, &some) {
            for release in &plan.releases {
                prove(&shape, &node, &decision, &plan, *release)?;
            }
        }
    }

    /// A plan that could be made is never missed for want of trying: where a release has no answer, it is the GIDs.
    #[test]
    fn refusals_are_explained(shape in shape(), release in prop::sample::select(KNOWN)) {
        let node = read_node(&Root::tree(shape.tree(), ""), Scope::FULL);
        let decision = decide(&node, &Rules::default());
        match plan(&shape, &node, &decision, &[release]) {
            Ok(_) => prop_assert!(decision.data().next().is_some()),
            Err(error) => {
                prop_assert!(!error.to_string().is_empty() && !error.hints().is_empty());
                let bug = matches!(error, PlanError::NotProved { .. });
                prop_assert!(!bug, "{} {:?} {:?}", error, shape.env, shape.files);
            }
        }
    }

    /// Told by the description alone: the rows are version 2, of an address of this network namespace, and leave the link.
    #[test]
    fn the_rows_are_ours(shape in shape()) {
        let node = read_node(&Root::tree(shape.tree(), ""), Scope::FULL);
        for port in decide(&node, &Rules::default()).data() {
            let Some(row) = &port.gid else { continue };
            let address = row.gid.address();
            let here = shape.netdevs.iter().any(|n| n.addresses.iter().any(|(ip, _)| *ip == address));
            prop_assert!(here, "{} {}", port.key, address);
            prop_assert_eq!(&row.kind, &Ok(GidType::V2));
            prop_assert!(matches!(row.gid.class(), GidClass::Ipv4 | GidClass::Ipv6));
        }
    }
}

proptest! {
    #![proptest_config(config(FEW_CASES))]

    /// Names with anything in them: nothing of them reaches a shell unquoted, and nothing but assignments is printed.
    #[test]
    fn hostile_names_never_reach_a_shell(
        shape in shape(),
        name in prop_oneof!["[ -~]{1,12}", "[a-z]{1,3}[$`;&|<>()'\"\\\\* ~!{}\\[\\]#%=^\n\t]{1,3}[a-z]{0,3}", "\\PC{1,8}"],
        device in any::<bool>(),
    ) {
        let name = name.replace('/', "_");
        prop_assume!(!name.is_empty() && name != "." && name != "..");
        let shape = with_name(shape, &name, device);
        for (format, end) in [("sh", ";"), ("fish", ";"), ("mpirun", ""), ("slurm", ""), ("dotenv", "")] {
            let output = program::run(&shape.tree(), &["env", "--format", format]);
            if output.exit != "Fine" {
                prop_assert!(["false;\n", ""].contains(&output.stdout.as_str()), "{:?}", output.stdout);
                continue;
            }
            for line in output.stdout.lines() {
                let bare = unquoted(line.strip_suffix(end).unwrap());
                let fine = |c: char| c.is_ascii_alphanumeric() || " ._:/,@+-=".contains(c);
                prop_assert!(bare.chars().all(fine), "{:?}", line);
            }
            if format == "sh" {
                let env = evaluated(&output.stdout, &BTreeMap::new());
                prop_assert!(env.keys().all(|k| k.starts_with("NCCL_")));
            }
        }
    }
}

/// The node with a hostile name for its first device or network devices.
fn with_name(mut shape: Shape, name: &str, device: bool) -> Shape {
    if device {
        if let Some(hca) = shape.hcas.first_mut() {
            name.clone_into(&mut hca.name);
        }
        return shape;
    }
    let old = shape.routes4.first().map(|(n, _)| n.clone());
    for netdev in shape
        .netdevs
        .iter_mut()
        .filter(|n| Some(&n.name) == old.as_ref())
    {
        name.clone_into(&mut netdev.name);
    }
    for (interface, _) in &mut shape.routes4 {
        // A table of words cannot hold a blank.
        name.split_whitespace()
            .next()
            .unwrap_or("x")
            .clone_into(interface);
    }
    shape
}

/// A line without what stands between single quotes.
fn unquoted(line: &str) -> String {
    line.split('\'').step_by(2).collect()
}
