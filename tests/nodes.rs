//! Every node of `fixtures/nodes`: what its story says is right, and the commands' whole output as committed.
#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests run programs and read the fixtures"
)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use common::{Run, bare, compare, have, names_in, nodes, none, on, on_node, package, read};

/// The commands whose output is committed for each node.
const COMMANDS: [&str; 5] = ["env", "devices", "gids", "topo", "check"];

fn snapshot(command: &str) {
    let differences: Vec<String> = nodes()
        .iter()
        .filter_map(|node| {
            let run = on_node(node, &[command]);
            let mut text = format!(
                "$ rdmactl --root fixtures/nodes/{node} {command}\n? {}\n",
                run.status
            );
            for (name, stream) in [("stdout", &run.out), ("stderr", &run.err)] {
                let _ = write!(text, "--- {name}\n{stream}");
            }
            let path = format!("tests/expected/nodes/{node}/{command}.txt");
            compare(&package().join(path), &text)
        })
        .collect();
    none(&differences);
}

#[test]
fn env_is_as_committed() {
    snapshot("env");
}

#[test]
fn devices_are_as_committed() {
    snapshot("devices");
}

#[test]
fn gids_are_as_committed() {
    snapshot("gids");
}

#[test]
fn check_is_as_committed() {
    snapshot("check");
}

#[test]
fn topo_is_as_committed() {
    snapshot("topo");
}

#[test]
fn no_expectation_is_left_over() {
    let dir = package().join("tests/expected/nodes");
    let known: BTreeSet<String> = nodes().into_iter().collect();
    for node in names_in(&dir) {
        assert!(
            known.contains(&node),
            "tests/expected/nodes/{node} has no node"
        );
        for file in names_in(&dir.join(&node)) {
            let command = file.trim_end_matches(".txt");
            assert!(COMMANDS.contains(&command), "{node}/{file} has no command");
        }
    }
}

/// A line `# expect [OPTIONS]: STATEMENT` of a node: what a person says is right there. See fixtures/stories.py.
struct Statement {
    options: String,
    text: String,
}

fn statements(node: &str) -> Vec<Statement> {
    read(&package().join("fixtures/nodes").join(node))
        .lines()
        .filter_map(|line| line.strip_prefix("# expect"))
        .map(|rest| {
            let (options, text) = rest.split_once(": ").unwrap();
            Statement {
                options: options.trim_matches([' ', '[', ']']).to_owned(),
                text: text.to_owned(),
            }
        })
        .collect()
}

/// What `env` printed: variables, and those it unsets.
#[derive(Default)]
struct Block {
    set: BTreeMap<String, String>,
    unset: BTreeSet<String>,
}

fn block(node: &str, run: &Run) -> Block {
    let mut block = Block::default();
    for line in run.out.lines() {
        let words = shlex::split(line.strip_suffix(';').unwrap()).unwrap();
        match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["export", assignment] => {
                let (name, value) = assignment.split_once('=').unwrap();
                let old = block.set.insert(name.to_owned(), value.to_owned());
                assert!(old.is_none(), "{node}: {name} twice");
            }
            ["unset", name] => {
                block.unset.insert(name.to_owned());
            }
            ["false"] => assert_eq!(run.out, "false;\n", "{node}"),
            _ => panic!("{node}: {line}"),
        }
    }
    assert_eq!(run.status != 0, run.out == "false;\n", "{node}: {run:?}");
    block
}

fn holds(text: &str, run: &Run, block: &Block, ports: &serde_json::Value) -> Result<(), String> {
    let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
    let found = match kind {
        "exit" => run.status.to_string() == rest,
        "says" => run.err.contains(rest),
        "no" => !block.set.contains_key(rest),
        "unset" => block.unset.contains(rest),
        "port" => {
            let words: Vec<&str> = rest.split(' ').collect();
            let port =
                ports.as_array().unwrap().iter().find(|p| {
                    format!("{}/{}", p["device"].as_str().unwrap(), p["port"]) == words[0]
                });
            let Some(port) = port else {
                return Err(format!("{text}: no such port"));
            };
            let gid = words.get(4).map(|g| g.parse::<u64>().unwrap());
            if port["role"] != words[1]
                || port["reason"] != words[2]
                || gid.is_some_and(|g| port["gid"]["index"] != g)
            {
                return Err(format!("{text}, but: {port}"));
            }
            true
        }
        _ => {
            let (name, value) = text.split_once('=').unwrap();
            block.set.get(name).map(String::as_str) == Some(value)
        }
    };
    if found {
        Ok(())
    } else {
        Err(format!(
            "{text}, but: status {}\n{}{}",
            run.status, run.out, run.err
        ))
    }
}

#[test]
fn every_node_gets_the_answer_its_story_states() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for node in nodes() {
        let statements = statements(&node);
        assert!(!statements.is_empty(), "{node} states nothing");
        let devices = on_node(&node, &["devices", "--format", "json"]);
        let ports =
            serde_json::from_str::<serde_json::Value>(&devices.out).unwrap()["ports"].take();
        let mut runs: BTreeMap<&str, (Run, Block)> = BTreeMap::new();
        for statement in &statements {
            let (run, block) = runs.entry(&statement.options).or_insert_with(|| {
                let mut args = vec!["env"];
                args.extend(statement.options.split_whitespace());
                let run = on_node(&node, &args);
                let block = block(&node, &run);
                (run, block)
            });
            count += 1;
            if let Err(what) = holds(&statement.text, run, block, &ports) {
                wrong.push(format!("{node} [{}] {what}", statement.options));
            }
        }
    }
    none(&wrong);
    eprintln!("{count} statements hold");
}

/// Formats and options must not change the answer.
#[test]
fn json_says_what_the_shell_is_told() {
    for node in nodes() {
        let shell = on_node(&node, &["env"]);
        let json = on_node(&node, &["env", "--format", "json"]);
        assert_eq!(shell.status, json.status, "{node}");
        if shell.status != 0 {
            assert_eq!(json.out, "", "{node}");
            continue;
        }
        let block = block(&node, &shell);
        let value: serde_json::Value = serde_json::from_str(&json.out).unwrap();
        for (name, value) in value["env"].as_object().unwrap() {
            match value.as_str() {
                Some(text) => assert_eq!(
                    block.set.get(name).map(String::as_str),
                    Some(text),
                    "{node}"
                ),
                None => assert!(block.unset.contains(name), "{node}: {name}"),
            }
        }
        assert_eq!(
            value["env"].as_object().unwrap().len(),
            block.set.len() + block.unset.len(),
            "{node}"
        );
    }
}

/// A bug report is a fixture: what `capture` writes of a node gives the same answers as the node.
#[test]
fn a_capture_of_a_node_answers_like_the_node() {
    let dir = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for node in nodes() {
        let capture = dir.path().join(&node);
        let run = on_node(&node, &["capture", "-o", capture.to_str().unwrap()]);
        assert_eq!(run.status, 0, "{node}: {}", run.err);
        for command in COMMANDS {
            let (first, again) = (on_node(&node, &[command]), on(&capture, &[command]));
            if (first.status, &first.out) != (again.status, &again.out) {
                wrong.push(format!(
                    "{node} {command}: {} then {}\n{}\n{}",
                    first.status, again.status, first.out, again.out
                ));
            }
        }
    }
    none(&wrong);
}

/// Redaction takes the names and addresses, and leaves the answer.
#[test]
fn a_redacted_capture_gives_the_same_settings() {
    let dir = tempfile::tempdir().unwrap();
    for node in nodes() {
        let capture = dir.path().join(&node);
        let path = capture.to_str().unwrap();
        let run = on_node(&node, &["capture", "--redact", "-o", path]);
        assert_eq!(run.status, 0, "{node}: {}", run.err);
        let text = read(&capture);
        for secret in ["gpu-017", "94:6d:ae", "966d:aeff"] {
            assert!(!text.contains(secret), "{node} still has {secret}");
        }
        let (first, again) = (on_node(&node, &["env"]), on(&capture, &["env"]));
        assert_eq!(
            (first.status, first.out),
            (again.status, again.out),
            "{node}"
        );
    }
}

#[test]
fn the_files_are_what_the_stories_make() {
    if !have("python3") {
        return;
    }
    let output = bare("python3")
        .args(["-B", "fixtures/make.py", "--check"])
        .output()
        .unwrap();
    let run = Run::of(&output);
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
}
