//! `rdmactl lint` as a user runs it: sources, exit codes, and what is never shown.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::format_collect,
    reason = "a test that cannot run its program has failed"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(path)
}

/// Runs `lint` on a node with an environment and nothing else.
fn lint(root: &Path, env: &[(&str, &str)], args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rdmactl"))
        .env_clear()
        .envs(env.iter().copied())
        .arg("--root")
        .arg(root)
        .arg("lint")
        .args(args)
        .output()
        .unwrap()
}

fn node() -> PathBuf {
    fixture("nodes/a100-8gpu-roce")
}

fn env_file(name: &str, args: &[&str]) -> Output {
    let path = fixture("env").join(name);
    let mut all = vec!["--env-file", path.to_str().unwrap()];
    all.extend(args);
    lint(&node(), &[], &all)
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn answer(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Ids of what was found, with severities.
fn found(output: &Output) -> Vec<(String, String)> {
    let answer = answer(output);
    let checks = answer["checks"].as_array().unwrap().clone();
    checks
        .iter()
        .flat_map(|c| {
            let id = c["id"].as_str().unwrap().to_owned();
            let findings = c["findings"].as_array().unwrap().clone();
            findings
                .into_iter()
                .map(move |f| (id.clone(), f["severity"].as_str().unwrap().to_owned()))
        })
        .collect()
}

#[test]
fn right_settings_are_clean() {
    let output = env_file("right.env", &["--strict"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let shown = text(&output);
    assert!(shown.contains("use RDMA over 8 ports"), "{shown}");
    assert!(shown.contains("next: nothing to change"), "{shown}");
    let json = answer(&env_file("right.env", &["--format", "json"]));
    assert_eq!(json["summary"]["found"], 0);
    assert_eq!(json["predictions"][0]["devices"][0]["gid_index"], 3);
    assert_eq!(json["choice"]["interface"], "eth0");
}

#[test]
fn a_shells_quotes_are_dockers_letters() {
    let shell = env_file("shell-script.env", &["--format", "json"]);
    assert_eq!(shell.status.code(), Some(0), "{}", text(&shell));
    let docker = env_file("docker-quotes.env", &["--format", "json"]);
    assert_eq!(docker.status.code(), Some(1));
    let ids: Vec<String> = found(&docker).into_iter().map(|(id, _)| id).collect();
    assert!(
        ids.contains(&"env.selector-matches-nothing".to_owned()),
        "{ids:?}"
    );
    assert!(ids.contains(&"env.config-syntax".to_owned()), "{ids:?}");
}

#[test]
fn only_the_libraries_own_variables_are_shown() {
    for format in ["text", "json"] {
        let output = env_file("docker-quotes.env", &["--format", format]);
        assert!(!text(&output).contains("PASSWORD"));
        assert!(!text(&output).contains("never shown"));
        let process = lint(
            &node(),
            &[("TOKEN", "s3cret"), ("NCCL_DEBUG", "INFO")],
            &["--format", format],
        );
        assert!(!text(&process).contains("s3cret"));
    }
}

#[test]
fn settings_of_another_cluster_are_taken_apart() {
    let output = env_file("other-cluster.env", &["--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let ids: Vec<String> = found(&output).into_iter().map(|(id, _)| id).collect();
    for id in [
        "env.gid-index-wrong",
        "env.interface-missing",
        "env.value-out-of-range",
        "env.unknown-variable",
    ] {
        assert!(ids.contains(&id.to_owned()), "{id} of {ids:?}");
    }
}

#[test]
fn a_configuration_file_is_read_as_nccl_reads_it() {
    let path = fixture("env/nccl.conf");
    let output = lint(
        &node(),
        &[],
        &["--conf", path.to_str().unwrap(), "--format", "json"],
    );
    let answer = answer(&output);
    let settings = answer["settings"].as_array().unwrap();
    let value = |name: &str| {
        settings
            .iter()
            .find(|s| s["name"] == name)
            .map(|s| s["value"].clone())
    };
    assert_eq!(value("NCCL_SOCKET_IFNAME"), Some("=eth0".into()));
    assert_eq!(value("NCCL_DEBUG"), Some("INFO # say much".into()));
    assert_eq!(value("NCCL_IB_HCA"), None);
    let syntax = found(&output)
        .iter()
        .filter(|(id, _)| id == "env.config-syntax")
        .count();
    assert_eq!(syntax, 2);
}

#[test]
fn severities_decide_the_exit_code() {
    let warned = [
        ("NCCL_IB_HCA", "mlx5"),
        ("NCCL_IB_GID_INDEX", "3"),
        ("NCCL_SOCKET_IFNAME", "=eth0"),
    ];
    assert_eq!(lint(&node(), &warned, &[]).status.code(), Some(0));
    assert_eq!(
        lint(&node(), &warned, &["--fail-on", "warning"])
            .status
            .code(),
        Some(1)
    );
    assert_eq!(
        lint(&node(), &[], &["--pid", "4242"]).status.code(),
        Some(2)
    );
}

#[test]
fn nothing_set_says_what_nccl_does_by_default() {
    let old = lint(
        &node(),
        &[],
        &["--nccl-version", "2.20.5", "--format", "json"],
    );
    assert_eq!(old.status.code(), Some(1));
    assert!(found(&old).contains(&("env.gid-index-unset-old".into(), "error".into())));
    let new = lint(
        &node(),
        &[],
        &["--nccl-version", "2.27.7", "--format", "json"],
    );
    assert_eq!(new.status.code(), Some(0));
    assert!(found(&new).contains(&("env.includes-main".into(), "warning".into())));
}

#[test]
fn settings_of_pid_1_are_found_and_taken_over() {
    let dir = tempfile::tempdir().unwrap();
    let capture = std::fs::read_to_string(fixture("nodes/pod-macvlan")).unwrap();
    let hex: String = b"NCCL_IB_TC=106\0NCCL_IB_HCA=mlx5_1\0SECRET=x\0"
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    let path = dir.path().join("node");
    std::fs::write(&path, format!("{capture}hex proc/1/environ {hex}\n")).unwrap();
    let output = lint(&path, &[], &["--format", "json"]);
    assert!(found(&output).contains(&("env.pid1-only".into(), "note".into())));
    assert!(!text(&output).contains("SECRET"));
    let env = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
        .env_clear()
        .args(["--root", path.to_str().unwrap(), "env", "--from-pid", "1"])
        .output()
        .unwrap();
    let printed = text(&env);
    assert!(printed.contains("export NCCL_IB_TC=106;"), "{printed}");
    assert!(
        printed.contains("NCCL_IB_HCA='=mlx5_1,mlx5_2")
            || printed.contains("NCCL_IB_HCA==mlx5_1,mlx5_2"),
        "{printed}"
    );
    assert!(!printed.contains("SECRET"));
}
