//! The output of `env` in the hands of those that read it: shells, and the readers of every other format.
#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests run shells"
)]

mod common;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;
use std::sync::LazyLock;

use common::{Run, bare, have, nodes, on_node, package};

/// Shells with the arguments that make them stop at errors and read a script from standard input.
const SHELLS: [(&str, &[&str]); 5] = [
    ("dash", &["-eu"]),
    ("bash", &["-eu"]),
    ("busybox", &["sh", "-eu"]),
    ("zsh", &["-f", "-eu"]),
    ("sh", &["-eu"]),
];

/// Values that a shell would take apart.
const HARD: [&str; 12] = [
    "a b",
    "$(touch /nonexistent/x)",
    "`id`",
    "a;b",
    "it's",
    "\"q\"",
    "~root",
    "*",
    "=ls",
    "\\n",
    "a&b|c>d",
    "é ü",
];

/// Variables that a shell sets itself, or that it was given.
const OWN: [&str; 8] = [
    "PWD", "OLDPWD", "SHLVL", "_", "PATH", "HOME", "LANG", "LOGNAME",
];

/// Options whose output is tried on some nodes of every kind; on the others only the full profile is.
const OPTIONS: [&[&str]; 6] = [
    &["--profile", "full"],
    &[],
    &["--fallback", "tcp"],
    &["--for", "nccl,rccl,ucx,nvshmem,gloo,tp,mscclpp,mooncake"],
    &["--gid-policy", "dynamic"],
    &["--set", "NCCL_EXTRA=a  b;*", "--keep"],
];

const EVERY_OPTION: [&str; 7] = [
    "a100-8gpu-roce",
    "h100-8gpu-infiniband",
    "hostile-names",
    "indexes-differ",
    "indexes-differ-unsolvable",
    "ipv6-only-fabric",
    "no-rdma-gpus",
];

/// A node with options of `env`, what it prints for a shell, and what JSON says of it.
struct Try {
    node: String,
    options: &'static [&'static str],
    run: Run,
    /// Names to values, `None` where a variable is unset; no block at all where there is no answer.
    block: Option<BTreeMap<String, Option<String>>>,
}

/// Every try, run once for all tests.
static TRIES: LazyLock<Vec<Try>> = LazyLock::new(|| {
    let mut tries = Vec::new();
    for node in nodes() {
        let count = if EVERY_OPTION.contains(&node.as_str()) {
            OPTIONS.len()
        } else {
            1
        };
        for options in &OPTIONS[..count] {
            tries.push(Try {
                run: formatted(&node, options, "sh"),
                block: wanted(&node, options),
                node: node.clone(),
                options,
            });
        }
    }
    tries
});

fn in_shell(shell: &(&str, &[&str]), script: &str, before: &[(&str, &str)]) -> Run {
    let mut child = bare(shell.0)
        .args(shell.1)
        .envs(before.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(script.as_bytes())
        .unwrap();
    Run::of(&child.wait_with_output().unwrap())
}

/// The variables that `env -0` printed, without the shell's own.
fn variables(text: &str) -> BTreeMap<String, String> {
    text.split('\0')
        .filter_map(|entry| entry.split_once('='))
        .filter(|(name, _)| !OWN.contains(name))
        .map(|(n, v)| (n.to_owned(), v.to_owned()))
        .collect()
}

/// What JSON says the block is: names to values, `None` where a variable is unset.
fn wanted(node: &str, options: &[&str]) -> Option<BTreeMap<String, Option<String>>> {
    let mut args = vec!["env", "-q", "--format", "json"];
    args.extend(options);
    let run = on_node(node, &args);
    if run.status != 0 {
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let env = value["env"].as_object().unwrap();
    Some(
        env.iter()
            .map(|(n, v)| (n.clone(), v.as_str().map(str::to_owned)))
            .collect(),
    )
}

fn formatted(node: &str, options: &[&str], format: &str) -> Run {
    let mut args = vec!["env", "-q", "--format", format];
    args.extend(options);
    on_node(node, &args)
}

fn set_only(wanted: &BTreeMap<String, Option<String>>) -> BTreeMap<String, String> {
    wanted
        .iter()
        .filter_map(|(n, v)| Some((n.clone(), v.clone()?)))
        .collect()
}

/// A stale index and a stale list that every block must replace or take out.
const STALE: [(&str, &str); 2] = [("NCCL_IB_GID_INDEX", "9"), ("NCCL_IB_HCA", "old")];

/// Runs one script over all nodes and options: each block is evaluated in a subshell of its own, both ways.
fn evaluate_everywhere(shell: &(&str, &[&str])) {
    let mut script = String::new();
    let mut expected = Vec::new();
    for one in TRIES.iter() {
        let (node, options) = (&one.node, one.options);
        let Some(mut block) = one.block.clone() else {
            let refusal = (one.run.status, one.run.out.as_str());
            assert_eq!(refusal, (1, "false;\n"), "{node}");
            continue;
        };
        for (name, value) in STALE {
            // What the block does not mention stays.
            block
                .entry(name.to_owned())
                .or_insert(Some(value.to_owned()));
        }
        let text = shlex::try_quote(&one.run.out).unwrap().into_owned();
        // `eval "$(rdmactl env)"`, and without the quotes, where runs of blanks and `*` would be lost.
        let mut ways = vec!["eval \"$(printf %s TEXT)\""];
        if !options.contains(&"NCCL_EXTRA=a  b;*") {
            ways.push("eval $(printf %s TEXT)");
        }
        for way in ways {
            let command = way.replace("TEXT", &text);
            let _ = writeln!(script, "({command}; env -0; printf 'END\\n')");
            expected.push((format!("{node} {options:?} {way}"), set_only(&block)));
        }
    }
    let run = in_shell(shell, &script, &STALE);
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{}", shell.0);
    let results: Vec<&str> = run.out.split("END\n").collect();
    assert_eq!(results.len(), expected.len() + 1, "{}", shell.0);
    for (result, (what, block)) in results.iter().zip(&expected) {
        assert_eq!(variables(result), *block, "{}: {what}", shell.0);
    }
}

#[test]
fn every_block_survives_dash() {
    if have("dash") {
        evaluate_everywhere(&SHELLS[0]);
    }
}

#[test]
fn every_block_survives_bash() {
    if have("bash") {
        evaluate_everywhere(&SHELLS[1]);
    }
}

#[test]
fn every_block_survives_busybox() {
    if have("busybox") {
        evaluate_everywhere(&SHELLS[2]);
    }
}

#[test]
fn every_block_survives_zsh() {
    if have("zsh") {
        // zsh does not split an unquoted $(...) in the way of the others, but eval joins its words again.
        evaluate_everywhere(&SHELLS[3]);
    }
}

#[test]
fn hard_values_survive_every_shell() {
    let blocks = HARD.map(|value| {
        let set = format!("NCCL_HARD={value}");
        on_node("a100-8gpu-roce", &["env", "-q", "--set", &set]).out
    });
    for shell in SHELLS.iter().filter(|s| have(s.0)) {
        for (value, block) in HARD.iter().zip(&blocks) {
            let script = format!("{block}env -0\n");
            let found = variables(&in_shell(shell, &script, &[]).out);
            assert_eq!(found["NCCL_HARD"], *value, "{}", shell.0);
        }
    }
}

#[test]
fn hard_values_and_every_block_survive_fish() {
    if !have("fish") {
        return;
    }
    let fish = ("fish", &["--no-config"][..]);
    let (mut script, mut expected) = (String::new(), Vec::new());
    let hard = HARD.map(|v| format!("NCCL_HARD={v}"));
    let mut tries: Vec<(String, Vec<&str>)> = nodes()
        .into_iter()
        .map(|n| (n, vec!["--profile", "full"]))
        .collect();
    tries.extend(
        hard.iter()
            .map(|h| ("indexes-differ".to_owned(), vec!["--set", h])),
    );
    for (node, options) in &tries {
        let Some(block) = wanted(node, options) else {
            continue;
        };
        let run = formatted(node, options, "fish");
        // One process for all: each block is followed by its variables and then taken back.
        script.push_str(&run.out);
        for (name, value) in &block {
            let _ = writeln!(script, "echo -n {name}=; echo -n ${name}; echo -ne '\\0'");
            expected.push((
                node.clone(),
                format!("{name}={}", value.clone().unwrap_or_default()),
            ));
        }
        script.extend(block.keys().map(|n| format!("set -e {n}\n")));
    }
    let run = in_shell(&fish, &script, &[]);
    assert_eq!(run.err, "");
    let found: Vec<&str> = run.out.split_terminator('\0').collect();
    assert_eq!(found.len(), expected.len());
    for (found, (node, wanted)) in found.iter().zip(&expected) {
        assert_eq!(found, wanted, "{node}");
    }
}

/// The promise to scripts: where there is no answer, they stop.
#[test]
fn no_answer_stops_a_script() {
    let program = env!("CARGO_BIN_EXE_rdmactl");
    let root = "fixtures/nodes/no-rdma-gpus";
    for shell in SHELLS.iter().filter(|s| have(s.0)) {
        for command in [
            format!("eval $('{program}' --root {root} env 2>/dev/null)"),
            format!("eval \"$('{program}' --root {root} env 2>/dev/null)\""),
            format!("eval $('{program}' --root {root} env --no-such-option 2>/dev/null)"),
            format!("eval $('{program}' --root /nonexistent env 2>/dev/null)"),
        ] {
            let run = in_shell(shell, &format!("{command}\necho reached\n"), &[]);
            assert!(
                run.status != 0 && run.out.is_empty(),
                "{} {command}: {run:?}",
                shell.0
            );
            let guarded = format!("set +e\n{command} || exit 7\necho reached\n");
            let run = in_shell(shell, &guarded, &[]);
            assert_eq!(
                (run.status, run.out.as_str()),
                (7, ""),
                "{} {command}",
                shell.0
            );
        }
    }
}

#[test]
fn shellcheck_has_nothing_to_say() {
    if !have("shellcheck") {
        return;
    }
    let mut script = "#!/bin/sh\n".to_owned();
    for one in TRIES.iter().filter(|t| t.run.status == 0) {
        script.push_str(&one.run.out);
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("block.sh");
    std::fs::write(&file, script).unwrap();
    let run = Run::of(&bare("shellcheck").arg(&file).output().unwrap());
    assert_eq!(run.status, 0, "{}", run.out);
}

/// `NAME=VALUE` lines, taken literally: docker's --env-file and nccl.conf know no quotes.
fn plain_lines(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .map(|line| line.split_once('=').unwrap())
        .map(|(n, v)| (n.to_owned(), v.to_owned()))
        .collect()
}

#[test]
fn every_other_format_says_the_same() {
    let every = |t: &&Try| EVERY_OPTION.contains(&t.node.as_str());
    for one in TRIES.iter().filter(every) {
        let what = format!("{} {:?}", one.node, one.options);
        let text = |format: &str| formatted(&one.node, one.options, format);
        let Some(block) = &one.block else {
            for format in ["dotenv", "nccl-conf", "k8s", "json", "slurm", "mpirun"] {
                let run = text(format);
                assert_eq!((run.status, run.out.as_str()), (1, ""), "{what} {format}");
            }
            continue;
        };
        let set = set_only(block);
        for format in ["dotenv", "nccl-conf"] {
            assert_eq!(plain_lines(&text(format).out), set, "{what} {format}");
        }
        assert_eq!(slurm(&text("slurm").out, block), set, "{what} slurm");
        assert_eq!(mpirun(&text("mpirun").out), set, "{what} mpirun");
        assert_eq!(k8s(&text("k8s").out), set, "{what} k8s");
    }
}

/// Slurm takes the rest of an `export` line as it is.
fn slurm(text: &str, block: &BTreeMap<String, Option<String>>) -> BTreeMap<String, String> {
    let mut exported = BTreeMap::new();
    for line in text.lines() {
        if let Some(assignment) = line.strip_prefix("export ") {
            exported.extend(plain_lines(assignment));
        } else {
            assert_eq!(block[line.strip_prefix("unset ").unwrap()], None);
        }
    }
    exported
}

/// One line of `-x NAME=VALUE`, quoted for a shell.
fn mpirun(text: &str) -> BTreeMap<String, String> {
    assert_eq!(text.lines().count(), 1);
    let words = shlex::split(text).unwrap();
    words
        .chunks(2)
        .map(|pair| {
            assert_eq!(pair[0], "-x");
            let (name, value) = pair[1].split_once('=').unwrap();
            (name.to_owned(), value.to_owned())
        })
        .collect()
}

/// Reads the `env:` list as the two kinds of lines it consists of, values in JSON, which YAML contains.
fn k8s(text: &str) -> BTreeMap<String, String> {
    let lines: Vec<&str> = text.lines().collect();
    lines
        .chunks(2)
        .map(|pair| {
            let name = pair[0].strip_prefix("- name: ").unwrap();
            let value = pair[1].strip_prefix("  value: ").unwrap();
            (name.to_owned(), serde_json::from_str(value).unwrap())
        })
        .collect()
}

/// The same with a real YAML reader, where Python has one.
#[test]
fn k8s_is_yaml() {
    const READER: &str = "import json, sys, yaml\nprint(json.dumps({e['name']: e['value'] for e in yaml.safe_load(sys.stdin)}))";
    if !have("python3") {
        return;
    }
    let probe = bare("python3")
        .args(["-c", "import yaml"])
        .output()
        .unwrap();
    if !probe.status.success() {
        eprintln!("skipped: Python has no yaml module");
        return;
    }
    let mut options = vec!["--profile", "full"];
    let hard: Vec<String> = HARD
        .iter()
        .enumerate()
        .map(|(i, v)| format!("NCCL_HARD_{i}={v}"))
        .collect();
    for set in &hard {
        options.extend(["--set", set]);
    }
    let text = formatted("a100-8gpu-roce", &options, "k8s").out;
    let mut child = bare("python3")
        .args(["-c", READER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let read: BTreeMap<String, String> =
        serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(read, set_only(&wanted("a100-8gpu-roce", &options).unwrap()));
}

/// The other libraries' names carry the same answer.
#[test]
fn the_libraries_are_told_the_same_ports() {
    let node = "a100-8gpu-roce";
    let run = |library: &str| set_only(&wanted(node, &["--for", library]).unwrap());
    let devices: Vec<String> = (1..=8).map(|i| format!("mlx5_{i}")).collect();
    let with_ports: Vec<String> = devices.iter().map(|d| format!("{d}:1")).collect();
    let ucx = run("ucx");
    assert_eq!(ucx["UCX_NET_DEVICES"], with_ports.join(","));
    assert_eq!(ucx["UCX_IB_GID_INDEX"], "3");
    assert!(!ucx.keys().any(|k| k.starts_with("NCCL_")), "{ucx:?}");
    assert_eq!(run("nvshmem")["NVSHMEM_HCA_LIST"], with_ports.join(","));
    assert_eq!(run("gloo")["GLOO_SOCKET_IFNAME"], "eth0");
    assert_eq!(run("tp")["TP_SOCKET_IFNAME"], "eth0");
    assert_eq!(run("mscclpp")["MSCCLPP_HCA_DEVICES"], devices.join(","));
    assert_eq!(run("mooncake")["MC_GID_INDEX"], "3");
    assert_eq!(run("rccl"), run("nccl"));
}

/// `--keep` leaves what is set alone, and says so; without it the change is said.
#[test]
fn what_is_set_already_is_replaced_with_a_note_or_kept() {
    let run = |args: &[&str]| {
        let output = common::program()
            .env("NCCL_IB_HCA", "=mlx5_1")
            .args(["--root", "fixtures/nodes/a100-8gpu-roce", "env"])
            .args(args)
            .output()
            .unwrap();
        Run::of(&output)
    };
    let replaced = run(&[]);
    assert!(
        replaced.out.contains("NCCL_IB_HCA='=mlx5_1,mlx5_2,"),
        "{}",
        replaced.out
    );
    assert!(
        replaced.err.contains("NCCL_IB_HCA was \"=mlx5_1\""),
        "{}",
        replaced.err
    );
    let kept = run(&["--keep"]);
    assert!(!kept.out.contains("NCCL_IB_HCA"), "{}", kept.out);
    assert!(kept.err.contains("NCCL_IB_HCA stays"), "{}", kept.err);
    assert_eq!(run(&["-q"]).err, "");
}

/// A file that sets what must not be set is kept out by an empty variable: unsetting would not help.
#[test]
fn a_configuration_file_is_shadowed() {
    let dir = tempfile::tempdir().unwrap();
    let node = common::read(&package().join("fixtures/nodes/indexes-differ"));
    let copy = dir.path().join("node");
    std::fs::write(
        &copy,
        format!("{node}etc/nccl.conf = NCCL_IB_GID_INDEX=3\n"),
    )
    .unwrap();
    let run = common::on(&copy, &["env", "-q"]);
    assert!(
        run.out.contains("export NCCL_IB_GID_INDEX='';\n"),
        "{run:?}"
    );
}
