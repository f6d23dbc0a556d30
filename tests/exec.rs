//! `exec`: the program takes rdmactl's place, with the settings, and is not started without them.
#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests run programs"
)]

mod common;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use common::{Run, program};

const GOOD: &str = "fixtures/nodes/a100-8gpu-roce";
const BAD: &str = "fixtures/nodes/no-rdma-gpus";

fn exec(root: &str, options: &[&str], command: &[&str]) -> Command {
    let mut rdmactl = program();
    rdmactl
        .args(["--root", root, "exec"])
        .args(options)
        .arg("--")
        .args(command);
    rdmactl
}

fn run(command: &mut Command) -> Run {
    Run::of(&command.output().unwrap())
}

#[test]
fn arguments_arrive_untouched() {
    let arguments = ["", "a b", "--root", "-v", "$(id)", "*", "--", "é", "a\nb"];
    let mut words = vec!["printf", "<%s>"];
    words.extend(arguments);
    let run = run(&mut exec(GOOD, &[], &words));
    let expected = format!("<{}>", arguments.join("><"));
    assert_eq!((run.status, run.out, run.err.as_str()), (0, expected, ""));
}

#[test]
fn bytes_that_are_not_text_arrive_too() {
    use std::os::unix::ffi::OsStrExt as _;
    let odd = std::ffi::OsStr::from_bytes(b"a\xff\xfeb");
    let output = exec(GOOD, &[], &["printf", "%s"])
        .arg(odd)
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"a\xff\xfeb");
}

#[test]
fn the_exit_status_is_the_programs() {
    for status in [0, 1, 2, 3, 42, 126, 127, 255] {
        let script = format!("exit {status}");
        assert_eq!(
            run(&mut exec(GOOD, &[], &["sh", "-c", &script])).status,
            status
        );
    }
}

#[test]
fn variables_are_set_and_taken_out() {
    let run = run(exec("fixtures/nodes/indexes-differ", &["-q"], &["env"])
        .env("NCCL_IB_GID_INDEX", "3")
        .env("NCCL_IB_HCA", "mlx5")
        .env("KEPT", "as it was"));
    let has = |line: &str| run.out.lines().any(|l| l == line);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    assert!(!run.out.contains("NCCL_IB_GID_INDEX"), "{}", run.out);
    assert!(has(
        "NCCL_IB_HCA==mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8"
    ));
    assert!(has("NCCL_IB_DISABLE=0") && has("NCCL_IB_ADDR_FAMILY=AF_INET"));
    assert!(has("NCCL_SOCKET_IFNAME=eth0") && has("KEPT=as it was"));
}

/// The same variables as `env` prints, whatever the options.
#[test]
fn exec_sets_what_env_prints() {
    for options in [
        &[][..],
        &["--profile", "full"],
        &["--gpus", "4"],
        &["--for", "ucx,gloo"],
        &["--set", "NCCL_X=a b"],
    ] {
        let json = program()
            .args(["--root", GOOD, "env", "--format", "json"])
            .args(options)
            .output()
            .unwrap();
        let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
        let run = run(&mut exec(GOOD, options, &["env"]));
        for (name, value) in json["env"].as_object().unwrap() {
            let line = format!("{name}={}", value.as_str().unwrap());
            assert!(run.out.lines().any(|l| l == line), "{line}: {}", run.out);
        }
    }
}

#[test]
fn without_a_plan_nothing_is_started() {
    let dir = tempfile::tempdir().unwrap();
    let mark = dir.path().join("started");
    let touch = ["touch", mark.to_str().unwrap()];
    for (root, options, status) in [
        (BAD, &[][..], 1),
        (GOOD, &["--hca", "mlx5_99"], 2),
        (GOOD, &["--no-such-option"], 2),
        ("/nonexistent/root", &[], 2),
        ("fixtures/nodes/hostile-names", &[], 1),
    ] {
        let run = run(&mut exec(root, options, &touch));
        assert_eq!(
            (run.status, run.out.as_str()),
            (status, ""),
            "{root} {options:?}"
        );
        assert!(
            run.err.starts_with("error: "),
            "{root} {options:?}: {}",
            run.err
        );
        assert!(!mark.exists(), "{root} {options:?}");
    }
    let run = run(&mut exec(
        BAD,
        &["--fallback", "tcp"],
        &["sh", "-c", "echo $NCCL_IB_DISABLE $NCCL_SOCKET_IFNAME"],
    ));
    assert_eq!((run.status, run.out.as_str()), (0, "1 eno1\n"));
    assert!(run.err.starts_with("warning: "), "{}", run.err);
}

#[test]
fn a_program_that_cannot_be_started_is_126_or_127() {
    let dir = tempfile::tempdir().unwrap();
    let plain = dir.path().join("plain");
    fs::write(&plain, "not a program\n").unwrap();
    let interpreter = dir.path().join("interpreter");
    fs::write(&interpreter, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&interpreter, fs::Permissions::from_mode(0o755)).unwrap();
    for (command, status) in [
        ("no-such-program-anywhere", 127),
        ("/no/such/program", 127),
        (plain.to_str().unwrap(), 126),
        (dir.path().to_str().unwrap(), 126),
        (interpreter.to_str().unwrap(), 127),
    ] {
        let run = run(&mut exec(GOOD, &[], &[command]));
        assert_eq!(run.status, status, "{command}: {}", run.err);
        assert!(
            run.err.starts_with("error: ") && run.err.contains(command),
            "{}",
            run.err
        );
    }
}

/// The program is the process that was started: signals reach it, and its end by a signal is seen as that.
#[test]
fn signals_are_the_programs() {
    let script = "trap 'echo term; exit 5' TERM; echo $$; while :; do sleep 0.05; done";
    let mut child = exec(GOOD, &[], &["sh", "-c", script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut pid = String::new();
    out.read_line(&mut pid).unwrap();
    assert_eq!(
        pid.trim(),
        child.id().to_string(),
        "the program has another process id"
    );
    let killed = Command::new("kill")
        .args(["-TERM", pid.trim()])
        .status()
        .unwrap();
    assert!(killed.success());
    let mut said = String::new();
    out.read_line(&mut said).unwrap();
    assert_eq!(said, "term\n");
    assert_eq!(child.wait().unwrap().code(), Some(5));
    let ended = run(&mut exec(GOOD, &[], &["sh", "-c", "kill -KILL $$"]));
    assert_eq!(ended.status, 128 + 9);
}

/// Rust ignores SIGPIPE for itself; a program does not expect it to be ignored.
#[test]
fn no_signal_is_left_ignored() {
    // Those above 31 are the C library's own.
    let ignored = |command: &mut Command| {
        let run = run(command.args(["-c", "sed -n 's/^SigIgn://p' /proc/$$/status"]));
        u64::from_str_radix(run.out.trim(), 16).unwrap() & 0x7fff_ffff
    };
    let plain = ignored(&mut common::bare("sh"));
    assert_eq!(ignored(&mut exec(GOOD, &[], &["sh"])), plain);
}

/// The directory that was read is not left open.
#[test]
fn no_file_is_left_open() {
    const ADDRESSES: &str = r#"[{"ifindex":2,"ifname":"eth0","flags":["UP"],"addr_info":[{"local":"10.0.0.1","prefixlen":24}]}]"#;
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("commands")).unwrap();
    fs::write(root.path().join("commands/ip-addr.json"), ADDRESSES).unwrap();
    let path = root.path().to_str().unwrap();
    let list = ["sh", "-c", "ls -l /proc/$$/fd; echo $NCCL_SOCKET_IFNAME"];
    let run = run(&mut exec(path, &["-q", "--fallback", "tcp"], &list));
    assert!(run.out.ends_with("eth0\n"), "{run:?}");
    assert!(!run.out.contains(path), "{run:?}");
}
