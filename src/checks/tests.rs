//! The catalogue's own tests: ids, pages, and for each check a node that trips it and one on which it passes.
#![allow(
    clippy::disallowed_methods,
    clippy::format_collect,
    reason = "tests read the fixtures themselves"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{
    ALIASES, Check, Expectations, Facts, REMOVED, Report, Severity, Thresholds, Verdict, all,
};
use crate::lint::Analysis;
use crate::nccl::config::Settings;
use crate::nccl::release::Release;
use crate::roles::{Rules, decide};
use crate::sys::{Env, HealthScope, Root, Scope, Tree, read_health, read_node, start_programs};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn read(path: &Path) -> String {
    String::from_utf8(std::fs::read(path).unwrap()).unwrap()
}

/// Names of the files of a folder of fixtures, in order.
fn names(folder: &str) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(fixtures().join(folder))
        .map(|entries| {
            entries
                .map(|e| e.unwrap().file_name().into_string().unwrap())
                .collect()
        })
        .unwrap_or_default();
    names.sort();
    names
}

/// A node, or what an overlay makes of it: `base NODE`, `absent PATH`, `option VALUE`, and lines of a capture.
struct Story {
    tree: Tree,
    nccl: Vec<Release>,
    expect: Expectations,
}

fn node(name: &str) -> Story {
    Story {
        tree: Tree::parse(&read(&fixtures().join("nodes").join(name))).unwrap(),
        nccl: Vec::new(),
        expect: Expectations::default(),
    }
}

fn overlay(name: &str) -> Story {
    let text = read(&fixtures().join("checks").join(name));
    let mut lines = format!("{}\n", crate::sys::CAPTURE_HEADER);
    let mut story = None;
    for line in text.lines() {
        match line.split_once(' ') {
            Some(("base", base)) => story = Some(node(base)),
            Some(("absent", path)) => {
                let story: &mut Story = story
                    .as_mut()
                    .unwrap_or_else(|| panic!("{name}: base comes first"));
                story.tree.remove_all(path);
            }
            Some(("nccl", version)) => story.as_mut().unwrap().nccl.push(version.parse().unwrap()),
            Some(("expect", text)) => story.as_mut().unwrap().expect.add(text).unwrap(),
            Some(("require", text)) => {
                story
                    .as_mut()
                    .unwrap()
                    .expect
                    .requirements
                    .push(text.parse().unwrap());
            }
            _ => {
                lines.push_str(line);
                lines.push('\n');
            }
        }
    }
    let mut story = story.unwrap_or_else(|| panic!("{name}: no base"));
    let changes = Tree::parse(&lines).unwrap_or_else(|e| panic!("{name}: {e}"));
    for (path, entry) in changes.entries() {
        story.tree.replace(path, entry.clone());
    }
    if let Some(env) = changes.env {
        story.tree.env.get_or_insert_default().extend(env);
    }
    story
}

/// Runs the whole catalogue on a story; also the paths that were read.
fn run(story: &Story, name: &str) -> (Report, BTreeSet<String>) {
    let env = Env::new(
        story
            .tree
            .env
            .iter()
            .flatten()
            .map(|(k, v)| (k.into(), v.into())),
    );
    let mut root = Root::tree(story.tree.clone(), name);
    root.start_tracing();
    let programs = start_programs(&root, &env);
    let node = read_node(&root, Scope::FULL);
    let health = read_health(&root, &env, &node, programs, HealthScope::default());
    let decision = decide(&node, &Rules::default());
    let settings = Settings::resolve(env.vars(), &[], Release::NEWEST);
    let mut sources = crate::commands::settings::own_sources(&root, &env);
    sources.pid1 = Some(crate::commands::settings::of_process(1, &root));
    let rules = Rules::default();
    let analysis = sources
        .has_settings()
        .then(|| Analysis::new(&node, &decision, &rules, &sources, &story.nccl));
    let checks: Vec<&'static Check> = all().collect();
    let report = super::run(
        &checks,
        &Facts {
            node: &node,
            decision: &decision,
            health: &health,
            releases: &story.nccl,
            settings: &settings,
            lint: analysis.as_ref(),
            expect: &story.expect,
            thresholds: &Thresholds::default(),
        },
    );
    (report, root.traced().into_iter().collect())
}

/// Every node and every overlay with its report.
fn reports() -> BTreeMap<String, Report> {
    let nodes = names("nodes")
        .into_iter()
        .map(|n| (format!("nodes/{n}"), node(&n)));
    let overlays = names("checks")
        .into_iter()
        .map(|n| (format!("checks/{n}"), overlay(&n)));
    nodes
        .chain(overlays)
        .map(|(name, story)| {
            let report = run(&story, &name).0;
            (name, report)
        })
        .collect()
}

#[test]
fn ids_are_unique_well_formed_and_named_like_their_files() {
    let mut seen = BTreeSet::new();
    for check in all() {
        assert!(seen.insert(check.id), "{} twice", check.id);
        let (family, slug) = check.id.split_once('.').unwrap();
        let fine = |t: &str| {
            !t.is_empty()
                && t.bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        };
        assert!(fine(family) && fine(slug), "{}", check.id);
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("src/checks")
            .join(family);
        assert!(
            source.join(format!("{slug}.md")).is_file(),
            "{}: no page",
            check.id
        );
    }
    for (old, _) in ALIASES {
        assert!(!seen.contains(old), "{old} is an alias and a check");
    }
    for (old, ..) in REMOVED {
        assert!(!seen.contains(old), "{old} is withdrawn and a check");
    }
}

/// Ids and severities are promises: a change shows here.
#[test]
fn the_list_of_checks_is_as_committed() {
    let list: String = all()
        .map(|c| format!("{} {} {}\n", c.id, c.severity.word(), c.subject.word()))
        .collect();
    let path = fixtures().join("checks.list");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &list).unwrap();
    }
    assert_eq!(read(&path), list, "UPDATE_EXPECT=1 writes the list anew");
}

#[test]
fn pages_have_their_parts() {
    const HEADINGS: [&str; 7] = [
        "## What it reads",
        "## Why it matters",
        "## What to do",
        "## Example",
        "## When to ignore it",
        "## References",
        "",
    ];
    for check in all() {
        let mut lines = check.page.lines();
        assert_eq!(lines.next(), Some(format!("# `{}`", check.id).as_str()));
        let text: Vec<&str> = check.page.lines().filter(|l| !l.is_empty()).collect();
        let title = text[1].trim_end_matches('.');
        assert_eq!(
            title.to_lowercase(),
            check.title.to_lowercase(),
            "{}: title",
            check.id
        );
        let facts = format!(
            "Severity: {}. Since: {}. Looks at: {}.",
            check.severity.word(),
            check.since,
            check.subject.word()
        );
        assert_eq!(text[2], facts, "{}", check.id);
        let headings: Vec<&str> = check
            .page
            .lines()
            .filter(|l| l.starts_with("## "))
            .collect();
        assert_eq!(headings, HEADINGS[..6], "{}", check.id);
        assert!(
            check.page.lines().count() <= 60,
            "{}: longer than 60 lines",
            check.id
        );
        assert!(
            !check.page.contains('!') || check.page.contains("#!"),
            "{}: exclamation mark",
            check.id
        );
    }
}

#[test]
fn every_check_is_tripped_by_a_fixture_and_passes_on_another() {
    let reports = reports();
    let mut missing = Vec::new();
    for check in all() {
        let verdicts = || {
            reports
                .values()
                .flat_map(|r| &r.outcomes)
                .filter(|o| o.check.id == check.id)
                .map(|o| &o.verdict)
        };
        if !verdicts().any(|v| matches!(v, Verdict::Found(..))) {
            missing.push(format!("{}: nothing trips it", check.id));
        }
        if !verdicts().any(|v| matches!(v, Verdict::Passed(_))) {
            missing.push(format!("{}: it passes nowhere", check.id));
        }
        let own = reports.get(&format!("checks/{}", check.id));
        let trips = |r: &Report| {
            r.outcomes
                .iter()
                .any(|o| o.check.id == check.id && matches!(o.verdict, Verdict::Found(..)))
        };
        if !own.is_some_and(trips) {
            missing.push(format!(
                "{}: fixtures/checks/{} does not trip it",
                check.id, check.id
            ));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn verdicts_and_findings_keep_the_rules() {
    let mut wrong = Vec::new();
    for (name, report) in reports() {
        for outcome in &report.outcomes {
            let id = outcome.check.id;
            match &outcome.verdict {
                Verdict::Passed(0) => {
                    wrong.push(format!("{name}: {id} passed without looking at anything"));
                }
                Verdict::Unknown(unread) if unread.is_empty() => {
                    wrong.push(format!("{name}: {id} is unknown for no reason"));
                }
                Verdict::Found(findings, _) => {
                    if findings.is_empty() {
                        wrong.push(format!("{name}: {id} found nothing"));
                    }
                    for finding in findings {
                        wrong.extend(
                            broken_rules(outcome.check, finding)
                                .into_iter()
                                .map(|w| format!("{name}: {id}: {w}: {:?}", finding.message)),
                        );
                    }
                }
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn broken_rules(check: &Check, finding: &super::Finding) -> Vec<&'static str> {
    let message = &finding.message;
    let first = message.chars().next().unwrap_or('A');
    let mut wrong = Vec::new();
    if finding.severity > check.severity {
        wrong.push("worse than its check");
    }
    if finding.subject.is_empty() {
        wrong.push("no subject");
    }
    // Names and variables keep their spelling.
    let word = message.split_whitespace().next().unwrap_or_default();
    if first.is_uppercase()
        && word.chars().skip(1).any(char::is_lowercase)
        && word != "InfiniBand"
        && word != "RoCE"
    {
        wrong.push("starts with a capital");
    }
    if message.ends_with('.') || message.contains('!') || message.contains('\n') {
        wrong.push("ends with a full stop, or is no single calm line");
    }
    if message.chars().count() > 160 {
        wrong.push("too long");
    }
    if finding.severity > Severity::Note && finding.remedy.is_none() {
        wrong.push("no fix");
    }
    if finding.evidence.is_empty() {
        wrong.push("no evidence");
    }
    wrong
}

/// A path of `reads` with `*` for one component covers a path that was read, or a directory on the way to it.
fn covers(pattern: &str, path: &str) -> bool {
    let (p, q): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), path.split('/').collect());
    p.len() >= q.len() && p.iter().zip(&q).all(|(a, b)| *a == "*" || a == b)
}

#[test]
fn what_a_check_says_it_reads_is_read() {
    let (_, traced) = run(&node("a100-8gpu-roce"), "a100-8gpu-roce");
    let stories: Vec<BTreeSet<String>> = names("checks")
        .iter()
        .map(|n| run(&overlay(n), n).1)
        .collect();
    for check in all() {
        assert!(!check.reads.is_empty(), "{} reads nothing", check.id);
        for pattern in check.reads {
            // sysfs is read at the real place of a class entry.
            let tail = pattern.rsplit('/').next().unwrap_or_default();
            let read = |paths: &BTreeSet<String>| {
                paths.iter().any(|p| {
                    covers(pattern, p) || (tail != "*" && p.ends_with(&format!("/{tail}")))
                })
            };
            let known = read(&traced) || stories.iter().any(read) || !pattern.contains('/');
            assert!(known, "{}: {pattern} is never read", check.id);
        }
    }
}
