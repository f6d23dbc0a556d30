//! `rdmactl check` in the formats of other systems, held to what those systems read.
#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests run programs and read their output"
)]

mod common;

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{Run, bare, nodes, none, on_node, package, program, read};

fn check(node: &str, format: &str) -> Run {
    on_node(node, &["check", "--format", format])
}

/// Runs `tests/validate.py KIND` on every node's output, one file a node.
fn validate(kind: &str, format: &str) {
    let dir = tempfile::tempdir().unwrap();
    for node in nodes() {
        std::fs::write(dir.path().join(&node), check(&node, format).out).unwrap();
    }
    let output = bare("python3")
        .arg("tests/validate.py")
        .arg(kind)
        .arg(dir.path())
        .output()
        .unwrap();
    let run = Run::of(&output);
    eprintln!("{}{}", run.out, run.err);
    assert!(matches!(run.status, 0 | 77), "{kind}");
}

#[test]
fn json_is_what_the_schema_says() {
    validate("json", "json");
}

#[test]
fn junit_is_what_the_schema_says() {
    validate("junit", "junit");
}

#[test]
fn prometheus_reads_the_text_file() {
    validate("prometheus", "prometheus");
}

#[test]
fn nagios_gets_one_line_with_performance_data_and_its_exit_codes() {
    let mut wrong = Vec::new();
    for node in nodes() {
        let run = check(&node, "nagios");
        let words = [("OK", 0), ("WARNING", 1), ("CRITICAL", 2), ("UNKNOWN", 3)];
        let line = run.out.strip_suffix('\n').unwrap_or_default();
        let (text, data) = line.split_once(" | ").unwrap_or_default();
        let status = words
            .iter()
            .find(|(w, _)| text.starts_with(&format!("RDMA {w}: ")));
        let is_data = |item: &str| {
            item.split_once('=').is_some_and(|(name, values)| {
                name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
                    && values
                        .split(';')
                        .all(|v| v.is_empty() || v.parse::<f64>().is_ok())
            })
        };
        let fine = status.is_some_and(|(_, code)| *code == run.status)
            && !line.contains('\n')
            && !data.contains('|')
            && data.split(' ').all(is_data);
        if !fine {
            wrong.push(format!("{node}: {} {:?}", run.status, run.out));
        }
    }
    none(&wrong);
}

#[test]
fn npd_nhc_and_slurm_get_one_short_line() {
    let mut wrong = Vec::new();
    for node in nodes() {
        let bad = check(&node, "json").status;
        let npd = check(&node, "npd");
        if npd.out.len() > 81 || npd.out.matches('\n').count() != 1 || npd.status != bad {
            wrong.push(format!("{node}: npd {:?} {}", npd.out, npd.status));
        }
        let nhc = check(&node, "nhc");
        if nhc.out.matches('\n').count() != 1 || nhc.status != bad {
            wrong.push(format!("{node}: nhc {:?}", nhc.out));
        }
        let slurm = check(&node, "slurm");
        let lines = slurm.out.matches('\n').count();
        if lines != usize::from(bad != 0) || slurm.status != bad {
            wrong.push(format!("{node}: slurm {:?} {}", slurm.out, slurm.status));
        }
    }
    none(&wrong);
}

#[test]
fn a_file_is_written_in_one_piece_and_in_the_place_of_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let (other, link) = (dir.path().join("other"), dir.path().join("rdma.prom"));
    std::fs::write(&other, "keep").unwrap();
    std::os::unix::fs::symlink(&other, &link).unwrap();
    let shown = link.to_str().unwrap();
    let run = on_node(
        "a100-8gpu-roce",
        &["check", "--format", "prometheus", "--output", shown],
    );
    assert_eq!((run.status, run.out.as_str()), (0, ""), "{}", run.err);
    assert_eq!(read(&other), "keep");
    assert!(read(&link).starts_with("# HELP"));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn wrong_words_are_refused_with_the_nearest_right_one() {
    let run = on_node("a100-8gpu-roce", &["check", "--only", "port.dwon"]);
    assert_eq!((run.status, run.out.as_str()), (2, ""));
    assert!(
        run.err.contains("port.dwon") && run.err.contains("port.down"),
        "{}",
        run.err
    );
    for args in [
        &["check", "--expect", "gpus=many"][..],
        &["check", "--require", "ofed>5"],
        &["check", "--set-threshold", "shm=1"],
        &["check", "--thresholds", "/nonexistent"],
        &["explain", "no.such-check"],
    ] {
        let run = on_node("a100-8gpu-roce", args);
        assert_eq!(run.status, 2, "{args:?}: {}", run.err);
        assert!(run.out.is_empty() && run.err.contains("error"), "{args:?}");
    }
}

#[test]
fn fail_on_and_strict_decide_about_the_exit_code() {
    let run = |args: &[&str]| on_node("h100-8gpu-infiniband", &[&["check"], args].concat()).status;
    assert_eq!(run(&[]), 0);
    assert_eq!(run(&["--fail-on", "warning"]), 1);
    // The copy of this node has no PCI configuration space.
    let cloud = |args: &[&str]| on_node("cloud-16-nics", &[&["check"], args].concat()).status;
    assert_eq!((cloud(&[]), cloud(&["--strict"])), (0, 3));
    let expect = |text| on_node("a100-8gpu-roce", &["check", "--expect", text]).status;
    assert_eq!(
        (
            expect("gpus=8"),
            expect("gpus=9"),
            expect("hcas=8"),
            expect("hcas=9")
        ),
        (0, 1, 0, 1)
    );
}

/// A vendor program that never ends, prints without end or dies: the command ends all the same, and says it.
#[test]
fn vendor_programs_cannot_hold_the_command() {
    let dir = tempfile::tempdir().unwrap();
    let fake = |body: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        let path = dir.path().join("nvidia-smi");
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    let mut said = String::new();
    for (body, word, limit) in [
        ("trap '' TERM INT; while :; do sleep 100; done", "5", 6),
        ("exec yes 0123456789", "4 MiB", 3),
        ("kill -SEGV $$", "signal", 3),
    ] {
        fake(body);
        let start = Instant::now();
        let path = format!("{}:/usr/bin:/bin", dir.path().display());
        let output = program().env("PATH", path).args(["gpus"]).output().unwrap();
        let took = start.elapsed();
        let run = Run::of(&output).sane(body);
        let text = format!("{}{}", run.out, run.err);
        assert!(took < Duration::from_secs(limit), "{body}: {took:?}");
        assert!(text.contains(word), "{body}: {text}");
        let _ = writeln!(
            said,
            "{body}: {:.1} s: {}",
            took.as_secs_f64(),
            text.lines().last().unwrap_or_default()
        );
    }
    eprintln!("{said}");
}

#[test]
fn explain_prints_a_page_a_list_and_this_nodes_evidence() {
    let page = on_node("a100-8gpu-roce", &["explain", "port.down"]);
    let file = read(&package().join("src/checks/port/down.md"));
    assert_eq!((page.status, page.out), (0, file));
    let list = on_node("a100-8gpu-roce", &["explain"]);
    assert!(list.out.contains("port.down") && list.out.contains("memlock-error"));
    let here = on_node(
        "main-only-better-broken-down",
        &["explain", "port.down", "--here"],
    );
    assert!(
        here.out.contains("## On this node") && here.out.contains("mlx5_1/1"),
        "{}",
        here.out
    );
    assert!(Path::new("src").is_dir());
}
