//! Nodes that people really had, kept outside the project: `env` must print what was right there. Skipped where they are not.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests run programs"
)]

mod common;

use common::{Run, bare, have, package};

/// Runs all cases with the given options of `env`; every one must agree.
fn run(options: &[&str]) {
    let tool = package().join("../shared/tools/run_cases.py");
    if !tool.is_file() {
        eprintln!("skipped: {} is not there", tool.display());
        return;
    }
    if !have("python3") {
        return;
    }
    let output = bare("python3")
        .arg("-B")
        .arg(&tool)
        .args(["--bin", env!("CARGO_BIN_EXE_rdmactl"), "--show"])
        .args(options)
        .output()
        .unwrap();
    let run = Run::of(&output);
    let count = run.out.lines().last().unwrap_or_default();
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    assert!(
        count.ends_with("agree") && !count.starts_with("0 "),
        "{count}"
    );
    eprintln!("{count}");
}

#[test]
fn env_agrees_with_every_case() {
    run(&[]);
}

#[test]
fn env_as_json_agrees_with_every_case() {
    run(&["--", "--format", "json"]);
}
