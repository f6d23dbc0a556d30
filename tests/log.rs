//! `rdmactl log` from outside: logs of every release, prefixes, compression, broken input, exit codes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    clippy::format_collect,
    clippy::format_push_string,
    clippy::too_many_lines,
    reason = "tests may be plain and long; helpers fail by panicking, and start the program"
)]

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

struct Answer {
    status: i32,
    out: String,
    err: String,
}

fn program(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rdmactl"));
    command
        .env_clear()
        .env("NO_COLOR", "1")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// An empty directory as the node, so that nothing of this machine is seen.
fn nowhere() -> &'static str {
    static DIR: std::sync::OnceLock<tempfile::TempDir> = std::sync::OnceLock::new();
    DIR.get_or_init(|| tempfile::tempdir().unwrap())
        .path()
        .to_str()
        .unwrap()
}

fn log_with(args: &[&str], input: &[u8]) -> Answer {
    let mut all = vec!["--root", nowhere(), "log"];
    all.extend(args);
    let mut child = program(&all).spawn().unwrap();
    // The program may end before it has read everything.
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Answer {
        status: output.status.code().expect("ended by a signal"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn log(input: &[u8]) -> Answer {
    log_with(&["-"], input)
}

fn fixture(release: &str) -> String {
    format!("fixtures/logs/{release}.txt")
}

fn fixture_text(release: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(fixture(release))).unwrap()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Severities and ids in the report, in order.
fn found(answer: &Answer) -> Vec<String> {
    answer
        .out
        .lines()
        .filter_map(|l| {
            let (label, _) = l.split_once("]: ")?;
            label.contains("[log.").then(|| format!("{label}]"))
        })
        .collect()
}

#[test]
fn each_releases_log_leads_to_its_causes() {
    #[rustfmt::skip]
    let expected: [(&str, i32, &[&str]); 12] = [
        ("2.18", 1, &["error[log.retries-link-local]", "warning[log.gdr-partly]", "note[log.completion-flushed]", "note[log.plugin-missing]"]),
        ("2.19", 1, &["error[log.query]", "error[log.gid-foreign]", "error[log.async-event]"]),
        ("2.20", 1, &["error[log.retries]", "warning[log.device-counts-differ]", "warning[log.async-event]", "warning[log.ports-differ]"]),
        ("2.21.5", 1, &["error[log.gid-type-unreadable]", "warning[log.open-device]", "note[log.plugin-missing]"]),
        ("2.22.3", 1, &["error[log.shared-memory]", "error[log.retries-infiniband]", "warning[log.gdr-off]"]),
        ("2.23.4", 1, &["error[log.mixed-networks]", "error[log.async-event]", "note[log.peer-gone]"]),
        ("2.24.3", 1, &["error[log.rail-unreachable]", "error[log.socket-refused]", "note[log.plugin-missing]"]),
        ("2.26.2", 1, &["error[log.link-layers-mixed]", "error[log.ports-differ]", "warning[log.link-layers-selected]"]),
        ("2.27.7", 0, &["note[log.data-direct]"]),
        ("2.28.7", 1, &["error[log.queue-enomem]", "error[log.completion-protection]", "warning[log.async-event]", "warning[log.async-event]"]),
        ("2.29.7", 1, &[
            "error[log.no-socket-interface]", "error[log.no-ip-interface]", "error[log.query]", "error[log.query]", "error[log.comm-id]",
            "error[log.graph-file]", "error[log.cuda]", "error[log.release-mismatch]", "error[log.register-enomem]",
        ]),
        ("2.30.7", 1, &["error[log.retries]", "error[log.gid-mismatch]", "warning[log.device-counts-differ]", "warning[log.other]", "note[log.plugin]"]),
    ];
    for (release, status, expected) in expected {
        let answer = log_with(&[&fixture(release)], b"");
        assert_eq!(found(&answer), expected, "{release}\n{}", answer.out);
        assert_eq!(answer.status, status, "{release}");
        assert!(answer.err.is_empty(), "{release}: {}", answer.err);
    }
}

#[test]
fn a_good_run_says_what_was_used() {
    let answer = log_with(&[&fixture("2.27.7")], b"");
    for words in [
        "NCCL 2.27.7+cuda12.9: 4 of 4 ranks on 2 hosts",
        "fir-1,fir-2",
        "4 of 4 channels",
        "2 RoCE: mlx5_0 mlx5_1",
    ] {
        assert!(answer.out.contains(words), "{words}\n{}", answer.out);
    }
}

#[test]
fn every_launchers_prefix_is_looked_through() {
    let text = fixture_text("2.24.3");
    let plain = log(text.as_bytes());
    for prefix in [
        "[rank3]:",
        "[default3]:",
        "[1,3]<stdout>:",
        "3: ",
        "  3: ",
        "[pod/worker-0/pytorch] ",
        "worker-0: ",
        "2026-03-01T10:00:00.123456789Z ",
        "2026-03-01 10:00:00,123 - ",
        "Mar 01 10:00:00 node-7 python3[4711]: ",
        "worker-1  | ",
        "\u{1b}[36mworker-0 | \u{1b}[0m",
    ] {
        let prefixed: String = text.lines().map(|l| format!("{prefix}{l}\n")).collect();
        let answer = log(prefixed.as_bytes());
        assert_eq!(found(&answer), found(&plain), "{prefix:?}\n{}", answer.out);
        assert!(
            answer.out.contains("on 2 hosts"),
            "{prefix:?}\n{}",
            answer.out
        );
    }
    let ranked: String = text
        .lines()
        .map(|l| format!("[1,5]<stdout>:{l}\n"))
        .collect();
    assert!(log(ranked.as_bytes()).out.contains("ranks 5"));
}

#[test]
fn compression_line_ends_and_interleaving_change_nothing() {
    let text = fixture_text("2.20");
    let plain = found(&log(text.as_bytes()));
    assert_eq!(found(&log(&gzip(text.as_bytes()))), plain);
    assert_eq!(found(&log(text.replace('\n', "\r\n").as_bytes())), plain);
    assert_eq!(found(&log(text.trim_end().as_bytes())), plain);
    // Two members, as `cat a.gz b.gz` makes them.
    let (first, second) = text.split_at(text.len() / 2);
    let mut members = gzip(first.as_bytes());
    members.extend(gzip(second.as_bytes()));
    assert_eq!(found(&log(&members)), plain);
    let among: String = text
        .lines()
        .map(|l| format!("step 1 loss 3.2\n{l}\n12%|#### \r13%|####\n"))
        .collect();
    assert_eq!(found(&log(among.as_bytes())), plain);
}

#[test]
fn broken_input_is_judged_as_far_as_it_goes() {
    // Enough of it that the first part comes out of the decoder.
    let mut text = fixture_text("2.24.3");
    for i in 0..20_000 {
        text.push_str(&format!("step {i} loss {}\n", i * 7919 % 1009));
    }
    let mut cut = gzip(text.as_bytes());
    cut.truncate(cut.len() - 20);
    let answer = log(&cut);
    assert_eq!(answer.status, 1);
    assert!(answer.err.contains("compressed data"), "{}", answer.err);
    assert!(answer.out.contains("log.rail-unreachable"));

    let mut noise: Vec<u8> = (0..200_000_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    noise.extend(format!("\n{}", fixture_text("2.24.3")).bytes());
    assert!(log(&noise).out.contains("log.rail-unreachable"));

    let mut huge = vec![b'x'; 3 << 20];
    huge.extend(format!("\n{}", fixture_text("2.24.3")).bytes());
    assert!(log(&huge).out.contains("log.rail-unreachable"));
}

#[test]
fn without_a_message_of_nccl_it_says_so() {
    for input in [&b""[..], b"hello\nworld\n", b"export NCCL_DEBUG=INFO\n"] {
        let answer = log(input);
        assert_eq!(answer.status, 1);
        assert!(answer.out.is_empty());
        assert!(answer.err.contains("NCCL_DEBUG=INFO"), "{}", answer.err);
    }
}

#[test]
fn what_cannot_be_read_ends_with_2() {
    let missing = log_with(&["no-such-file", &fixture("2.27.7")], b"");
    assert_eq!(missing.status, 2);
    assert!(missing.err.contains("no-such-file"));
    assert!(missing.out.contains("fir-1"), "the other is judged");
    assert_eq!(log_with(&["src"], b"").status, 2);
    assert_eq!(log_with(&["-", "-"], b"").status, 2);
    let zstd = log(&[0x28, 0xb5, 0x2f, 0xfd, 0, 0, 0, 0]);
    assert_eq!(zstd.status, 2);
    assert!(zstd.err.contains("zstd -dc"), "{}", zstd.err);
}

#[test]
fn fail_on_decides_the_exit() {
    let file = fixture("2.27.7");
    assert_eq!(log_with(&["--fail-on", "note", &file], b"").status, 1);
    assert_eq!(log_with(&["--fail-on", "warning", &file], b"").status, 0);
}

#[test]
fn json_has_the_frame_and_everything_of_the_text() {
    let answer = log_with(&["--format", "json", &fixture("2.24.3")], b"");
    let value: serde_json::Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!(value["schema"], 1);
    assert_eq!(value["tool"]["name"], "rdmactl");
    assert_eq!(value["releases"][0], "2.24.3+cuda12.6");
    let first = &value["findings"][0];
    assert_eq!(first["id"], "log.rail-unreachable");
    assert_eq!(first["devices"][0], "mlx5_3:1");
    assert_eq!(first["check"], "net.rails-share-subnet");
    assert!(
        first["evidence"][0]["source"]
            .as_str()
            .unwrap()
            .ends_with("2.24.3.txt:10")
    );
}

#[test]
fn follow_prints_what_is_appended() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("job.log");
    std::fs::write(&path, "n1:1:2 [0] NCCL INFO Using network IB\n").unwrap();
    let mut child = program(&[
        "--root",
        nowhere(),
        "log",
        "--follow",
        path.to_str().unwrap(),
    ])
    .spawn()
    .unwrap();
    let mut file = std::fs::File::options().append(true).open(&path).unwrap();
    file.write_all(fixture_text("2.24.3").as_bytes()).unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut text = String::new();
    let mut space = [0; 4096];
    while !text.contains("log.rail-unreachable") {
        let n = out.read(&mut space).unwrap();
        assert!(n > 0, "ended with {text}");
        text.push_str(&String::from_utf8_lossy(&space[..n]));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_node_at_hand_agrees_or_not() {
    let node = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = node.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put("commands/ip-addr.json", "[]");
    put("proc/sys/kernel/hostname", "yew-3\n");
    put(
        "proc/self/limits",
        "Max locked memory         65536                65536                bytes\n",
    );
    let port = "sys/class/infiniband/mlx5_0/ports/1";
    put(&format!("{port}/state"), "1: DOWN\n");
    put(&format!("{port}/link_layer"), "Ethernet\n");
    let answer = {
        let root = node.path().to_str().unwrap();
        let output = program(&["--root", root, "log", &fixture("2.28.7")])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    for words in [
        "on yew-3\n",
        "mlx5_0/1 is DOWN",
        "memlock is 65536 bytes here",
    ] {
        assert!(answer.contains(words), "{words}\n{answer}");
    }
    assert!(
        !log_with(&[&fixture("2.28.7")], b"")
            .out
            .contains("memlock is 65536")
    );
}

#[test]
fn every_case_leads_to_its_cause() {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/tools/run_cases.py");
    if !tools.exists() {
        println!("skipped: ../shared is absent");
        return;
    }
    let tools: PathBuf = tools.canonicalize().unwrap();
    let output = Command::new("python3")
        .arg(&tools)
        .args([
            "--bin",
            env!("CARGO_BIN_EXE_rdmactl"),
            "--what",
            "log",
            "--show",
        ])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}
