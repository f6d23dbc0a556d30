//! Every file of a node made unreadable, empty and garbage in turn: nothing panics, no verdict gets better but for
//! `unknown`, and `env` stays right or refuses.
#![allow(
    clippy::disallowed_methods,
    reason = "tests read the fixtures themselves"
)]

use std::collections::BTreeMap;
use std::path::Path;

use crate::checks::{Expectations, Facts, Severity, Thresholds, Verdict, all, run};
use crate::nccl::config::Settings;
use crate::nccl::release::Release;
use crate::plan::{Plan, PlanError, Policy, Profile, Request, build};
use crate::roles::{Decision, Rules, decide};
use crate::sys::{
    Entry, Env, HealthScope, Root, Scope, Tree, read_health, read_node, start_programs,
};

/// Healthy, in trouble, and in a pod.
const NODES: [&str; 3] = [
    "a100-8gpu-roce",
    "main-only-better-broken-init",
    "pod-macvlan",
];

fn tree(name: &str) -> Tree {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/nodes")
        .join(name);
    Tree::parse(&String::from_utf8(std::fs::read(path).unwrap()).unwrap()).unwrap()
}

/// What a check came to, as far as it can get better or worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Fine,
    Note,
    Trouble,
    Unknown,
}

struct Answer {
    verdicts: BTreeMap<&'static str, Outcome>,
    plan: Result<Plan, PlanError>,
    decision: Decision,
}

fn answer(tree: &Tree) -> Answer {
    let env = Env::default();
    let root = Root::tree(tree.clone(), "faulty");
    let programs = start_programs(&root, &env);
    let node = read_node(&root, Scope::FULL);
    let health = read_health(&root, &env, &node, programs, HealthScope::default());
    let rules = Rules::default();
    let decision = decide(&node, &rules);
    let settings = Settings::default();
    let checks: Vec<_> = all().collect();
    let report = run(
        &checks,
        &Facts {
            node: &node,
            decision: &decision,
            health: &health,
            releases: &[],
            settings: &settings,
            lint: None,
            expect: &Expectations::default(),
            thresholds: &Thresholds::default(),
        },
    );
    let verdicts = report
        .outcomes
        .iter()
        .map(|o| {
            let outcome = match &o.verdict {
                Verdict::Passed(_) | Verdict::NotApplicable(_) => Outcome::Fine,
                Verdict::Unknown(_) => Outcome::Unknown,
                Verdict::Found(_, unread) if !unread.is_empty() => Outcome::Unknown,
                Verdict::Found(findings, _)
                    if findings.iter().all(|f| f.severity == Severity::Note) =>
                {
                    Outcome::Note
                }
                Verdict::Found(..) => Outcome::Trouble,
            };
            (o.check.id, outcome)
        })
        .collect();
    let quick = read_node(&root, Scope::SETTINGS);
    let quick_decision = decide(&quick, &rules);
    let plan = |node, decision| {
        build(&Request {
            node,
            decision,
            rules: &rules,
            existing: &|_| Settings::default(),
            releases: &[Release::NEWEST],
            policy: Policy::Auto,
            profile: Profile::Base,
            keep: false,
            set: &[],
        })
    };
    let first = plan(&quick, &quick_decision);
    let settled = first
        .as_ref()
        .is_ok_and(|p| p.policy.is_none_or(|p| p == Policy::Pin));
    Answer {
        plan: if settled {
            first
        } else {
            plan(&node, &decision)
        },
        verdicts,
        decision,
    }
}

/// A plan is right when it uses ports that are right to use, with the rows that are right on them.
fn env_is_right_or_refused(before: &Answer, after: &Answer) -> Result<(), String> {
    let Ok(plan) = &after.plan else { return Ok(()) };
    for key in &plan.data {
        let good = before.decision.data().find(|p| p.key == *key);
        let Some(good) = good else {
            return Err(format!("{key} is used"));
        };
        let row = |d: &Decision| d.port(key).and_then(|p| p.gid.as_ref().map(|g| g.index));
        if row(&before.decision) != row(&after.decision) {
            return Err(format!("{key} has another GID than {:?}", good.gid));
        }
    }
    let interface = |a: &Answer| {
        a.plan
            .as_ref()
            .ok()
            .and_then(|p| p.value("NCCL_SOCKET_IFNAME").map(str::to_owned))
    };
    if before.plan.is_ok() && interface(before) != interface(after) {
        return Err(format!("the interface is {:?}", interface(after)));
    }
    Ok(())
}

#[test]
fn no_fault_of_a_single_file_makes_an_answer_wrong() {
    const EACCES: i32 = 13;
    const PART: usize = 2;
    let mut runs = 0;
    let mut wrong = Vec::new();
    for name in NODES {
        let whole = tree(name);
        let before = answer(&whole);
        let paths: Vec<String> = whole
            .entries()
            .filter(|(_, e)| matches!(e, Entry::File(_) | Entry::Link(_)))
            .map(|(p, _)| p.to_owned())
            .collect();
        for (position, path) in paths.iter().enumerate() {
            let faults = [
                ("unreadable", Entry::Errno(EACCES)),
                ("empty", Entry::File(Vec::new())),
                (
                    "garbage",
                    Entry::File(b"\xff\x00 :%;\n-1e99 4294967296 0x\n".to_vec()),
                ),
            ];
            // All of it takes minutes without optimisation; there a part of the files has its turn with one fault.
            let all = std::env::var_os("RDMACTL_ALL_FAULTS").is_some();
            let turn = |i: usize| position % PART == 0 && position / PART % faults.len() == i;
            let chosen: Vec<_> = (0..faults.len()).filter(|i| all || turn(*i)).collect();
            for (what, fault) in chosen.into_iter().map(|i| faults[i].clone()) {
                let mut broken = whole.clone();
                broken.replace(path, fault);
                let after = answer(&broken);
                runs += 1;
                for (id, verdict) in &after.verdicts {
                    if *verdict == Outcome::Fine && before.verdicts[id] == Outcome::Trouble {
                        wrong.push(format!("{name}: {path} {what}: {id} is fine now"));
                    }
                }
                if let Err(how) = env_is_right_or_refused(&before, &after) {
                    wrong.push(format!("{name}: {path} {what}: {how}"));
                }
            }
        }
    }
    println!(
        "{runs} runs with a fault in one file, {} wrong",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
