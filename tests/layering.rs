//! The rooms of the source: who may use whom, who may touch the machine, and how long a file may be.
#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests read the source"
)]

mod common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use common::{package, read};

/// Each room with those it may use; it may always use itself. `sys` takes the name of a release from `nccl` in a few files.
const ROOMS: [(&str, &[&str]); 10] = [
    ("model", &[]),
    ("parse", &["model"]),
    ("nccl", &["model"]),
    ("roles", &["nccl", "model"]),
    ("plan", &["roles", "nccl", "model"]),
    ("lint", &["roles", "nccl", "plan", "checks", "model"]),
    ("checks", &["lint", "roles", "nccl", "plan", "model"]),
    ("joblog", &["checks", "roles", "nccl", "model", "parse"]),
    ("sys", &["parse", "model"]),
    (
        "report",
        &[
            "checks", "joblog", "lint", "roles", "nccl", "plan", "model", "parse", "redact",
        ],
    ),
];

/// Uses beyond the rule: file, and what of which room.
const EXCEPTIONS: [(&str, &str); 7] = [
    // Names of releases are part of file names.
    ("src/sys/library.rs", "nccl::release"),
    ("src/sys/health/library.rs", "nccl::release"),
    ("src/model/health/library.rs", "nccl::release"),
    // Which files tell NCCL that peer memory is there differs by release.
    ("src/sys/health/modules.rs", "nccl::gdr::peer_memory_paths"),
    ("src/sys/health/modules.rs", "nccl::release::KNOWN"),
    // Some formats have exit codes of their own.
    ("src/report/check/mod.rs", "exit::Exit"),
    // A capture is redacted as a whole.
    ("src/redact.rs", "sys"),
];

/// The only source files that may name the machine's files and the environment.
const TOUCHES: [&str; 2] = ["src/sys/", "src/lib.rs"];

/// Longest file, and those that may be longer.
const MAX_LINES: usize = 500;
const LONGER: [&str; 4] = [
    "src/plan/build.rs",
    "src/roles/decide.rs",
    "src/sys/root.rs",
    "src/sys/tree.rs",
];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Every source file by its path in the package, without comments and without what follows its tests.
fn code() -> Vec<(String, String)> {
    let mut paths = Vec::new();
    sources(&package().join("src"), &mut paths);
    paths.sort();
    let name = |p: &Path| p.strip_prefix(package()).unwrap().display().to_string();
    paths
        .iter()
        .map(|p| (name(p), read(p)))
        .filter(|(name, _)| !is_test(name))
        .map(|(name, text)| {
            let body = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let lines: Vec<&str> = body
                .lines()
                .filter(|l| !l.trim_start().starts_with("//"))
                .collect();
            (name, lines.join("\n"))
        })
        .collect()
}

/// Modules that are declared for tests only may use everything, and so may those below them.
fn is_test(name: &str) -> bool {
    let mut module = name.trim_end_matches(".rs");
    while let Some((dir, stem)) = module.rsplit_once('/') {
        let parents = [
            format!("{dir}/mod.rs"),
            format!("{dir}/lib.rs"),
            format!("{dir}.rs"),
        ];
        let declared = parents
            .iter()
            .map(|p| package().join(p))
            .any(|p| p.is_file() && is_declared_for_tests(&read(&p), stem));
        if declared {
            return true;
        }
        module = dir;
    }
    false
}

fn is_declared_for_tests(parent: &str, stem: &str) -> bool {
    let lines: Vec<&str> = parent.lines().map(str::trim).collect();
    let item = format!("mod {stem};");
    lines.windows(2).any(|two| {
        let visibility = two[1].strip_suffix(&item);
        two[0] == "#[cfg(test)]" && visibility.is_some_and(|v| v.is_empty() || v.starts_with("pub"))
    })
}

/// The paths that follow `crate::` in a text, one for each item of a group.
fn uses(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for rest in text.split("crate::").skip(1) {
        if let Some(group) = rest.strip_prefix('{') {
            let inside = group.split(';').next().unwrap();
            found.extend(inside.split(',').map(|i| word(i.trim()).to_owned()));
        } else {
            found.insert(word(rest).to_owned());
        }
    }
    found
}

fn word(text: &str) -> &str {
    let end = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':');
    text.split(end).next().unwrap().trim_end_matches(':')
}

#[test]
fn rooms_use_only_the_rooms_below_them() {
    let known: BTreeSet<&str> = ROOMS
        .iter()
        .map(|(room, _)| *room)
        .chain(["commands", "cli", "error", "exit", "redact"])
        .collect();
    let mut wrong = Vec::new();
    for (name, text) in code() {
        let Some((room, allowed)) = ROOMS
            .iter()
            .find(|(room, _)| name.starts_with(&format!("src/{room}/")))
        else {
            continue;
        };
        for used in uses(&text) {
            let target = used.split("::").next().unwrap();
            let excepted = EXCEPTIONS
                .iter()
                .any(|(file, what)| *file == name && used.starts_with(what));
            if known.contains(target) && target != *room && !allowed.contains(&target) && !excepted
            {
                wrong.push(format!("{name} uses {used}"));
            }
        }
    }
    common::none(&wrong);
}

#[test]
fn every_room_is_known() {
    for entry in common::names_in(&package().join("src")) {
        let is_room =
            package().join("src").join(&entry).is_dir() && !is_test(&format!("src/{entry}/mod.rs"));
        assert!(
            !is_room || entry == "commands" || ROOMS.iter().any(|(room, _)| *room == entry),
            "src/{entry} has no place in tests/layering.rs"
        );
    }
}

#[test]
fn only_sys_touches_the_machine() {
    let mut wrong = Vec::new();
    for (name, text) in code() {
        if TOUCHES.iter().any(|t| name.starts_with(t)) {
            continue;
        }
        for what in [
            "std::fs",
            "fs::read",
            "std::env::",
            "env::var",
            "std::process::Command",
            "std::net::Tcp",
            "std::net::Udp",
            "Instant::now",
            "SystemTime::now",
        ] {
            // `env!` is of the build.
            if text.contains(what) && !text.contains(&format!("{what}!")) {
                wrong.push(format!("{name} has {what}"));
            }
        }
    }
    common::none(&wrong);
}

#[test]
fn commands_are_not_used_by_what_they_use() {
    let mut wrong = Vec::new();
    for (name, text) in code() {
        let glue = ["src/commands/", "src/cli.rs", "src/lib.rs", "src/main.rs"];
        if glue.iter().any(|g| name.starts_with(g)) {
            continue;
        }
        for used in uses(&text) {
            if ["commands", "cli"].contains(&used.split("::").next().unwrap()) {
                wrong.push(format!("{name} uses {used}"));
            }
        }
    }
    common::none(&wrong);
}

#[test]
fn files_are_as_long_as_a_reader_can_take() {
    let mut paths = Vec::new();
    sources(&package().join("src"), &mut paths);
    let mut wrong = Vec::new();
    for path in paths {
        let name = path.strip_prefix(package()).unwrap().display().to_string();
        let lines = read(&path).lines().count();
        let longer = LONGER.contains(&name.as_str());
        if lines > MAX_LINES && !longer {
            wrong.push(format!("{name} has {lines} lines, more than {MAX_LINES}"));
        }
        if lines <= MAX_LINES && longer {
            eprintln!("{name} is within the limit again and need not be listed");
        }
    }
    common::none(&wrong);
}
