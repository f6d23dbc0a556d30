//! Nodes that people really had, kept outside the project: `check` must find what was wrong there. Skipped where they are
//! not.
#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests run programs"
)]

mod common;

use std::path::Path;

use common::{Run, bare, have, names_in, on, package, read};
use serde_json::Value;

/// A finding in short: id, severity and subject.
type Short = (String, String, String);

/// What `check` finds on a case's node, and the ids of all checks.
fn found(case: &Value, root: &Path) -> (Vec<Short>, Vec<String>) {
    let mut args = vec!["check", "--format", "json"];
    if let Some(version) = case["nccl_version"].as_str() {
        args.extend(["--nccl-version", version]);
    }
    let run = on(root, &args);
    let report: Value = serde_json::from_str(&run.out)
        .unwrap_or_else(|e| panic!("{}: {e}\n{}\n{}", root.display(), run.out, run.err));
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let (mut shorts, mut ids) = (Vec::new(), Vec::new());
    for check in report["checks"].as_array().unwrap() {
        ids.push(text(&check["id"]));
        for finding in check["findings"].as_array().into_iter().flatten() {
            shorts.push((
                text(&check["id"]),
                text(&finding["severity"]),
                text(&finding["subject"]),
            ));
        }
    }
    (shorts, ids)
}

#[test]
fn check_finds_what_was_wrong() {
    let shared = package().join("../shared");
    if !shared.join("cases").is_dir() {
        eprintln!("skipped: {} is not there", shared.display());
        return;
    }
    if !have("python3") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for name in names_in(&shared.join("cases")) {
        let path = shared.join("cases").join(&name);
        if path.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let case: Value = serde_json::from_str(&read(&path)).unwrap();
        let expected = case["expect"]["findings"].as_array();
        let (Some(expected), true) = (expected, case["node"].is_object()) else {
            continue;
        };
        // `env:` and `log:` are for other commands.
        let of_check = |f: &Value| {
            let about = f["about"].as_str().unwrap_or_default();
            !about.starts_with("env:") && !about.starts_with("log:")
        };
        if !expected.iter().any(of_check) {
            continue;
        }
        let root = dir.path().join(&name);
        let made = bare("python3")
            .arg("-B")
            .arg(shared.join("tools/mkroot.py"))
            .args([&path, &root])
            .output()
            .unwrap();
        assert_eq!(Run::of(&made).status, 0, "{name}");
        let (found, ids) = found(&case, &root);
        for finding in expected {
            let about = finding["about"].as_str().unwrap();
            let id = match about.split(':').next().unwrap_or(about) {
                text if text.starts_with("P_Key") => "port.pkey-limited",
                text => text,
            };
            if !ids.iter().any(|i| i == id) {
                continue;
            }
            let severity = finding["severity"].as_str().unwrap();
            for subject in finding["subject"].as_str().unwrap().split(", ") {
                count += 1;
                let there = found
                    .iter()
                    .any(|(i, s, text)| i == id && s == severity && text.contains(subject));
                if !there {
                    wrong.push(format!("{name}: no {severity} {id} about {subject}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 0, "no case has a finding");
    eprintln!("{count} findings of check agree");
}
