//! What bad input gets: one clear error, the documented exit code, and never half an environment or a panic.
#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests lay out broken nodes"
)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use common::{Run, bare, on, on_node, package, program, read};

/// Formats with what they print where there is no answer.
const REFUSALS: [(&str, &str); 8] = [
    ("sh", "false;\n"),
    ("fish", "false;\n"),
    ("dotenv", ""),
    ("nccl-conf", ""),
    ("k8s", ""),
    ("json", ""),
    ("slurm", ""),
    ("mpirun", ""),
];

/// Runs `env` on a root in every format: the status, and what must be said; nothing else may be printed.
fn env_refuses(root: &Path, options: &[&str], status: i32, says: &[&str]) {
    for (format, refusal) in REFUSALS {
        let mut args = vec!["env", "--format", format];
        args.extend(options);
        let run = on(root, &args);
        assert_eq!(run.status, status, "{format}: {run:?}");
        assert_eq!(run.out, refusal, "{format}: {run:?}");
        for word in says {
            assert!(run.err.contains(word), "{word:?} is not in: {}", run.err);
        }
    }
}

fn seed() -> PathBuf {
    package().join("fixtures/nodes/a100-4gpu-roce")
}

// -- the command line ---------------------------------------------------------------------------------------------------

#[test]
fn wrong_options_are_usage_errors() {
    for options in [
        &["--no-such-option"][..],
        &["--format"],
        &["--profile", "fast"],
        &["--set", "no-value"],
        &["--set", "1X=2"],
        &["--set", "X=a\nb"],
        &["--nccl-version", "newest"],
        &["--link-layer", "opa"],
        &["--for", "nccl,mpi"],
        &["--gid-policy", "guess"],
        &["--fallback", "udp"],
        &["surplus"],
    ] {
        let mut args = vec!["env"];
        args.extend(options);
        let run = on(&seed(), &args);
        assert_eq!(
            (run.status, run.out.as_str()),
            (2, "false;\n"),
            "{options:?}"
        );
        assert!(run.err.starts_with("error: "), "{options:?}: {}", run.err);
    }
    // The format asked for decides what a refusal looks like, wherever it stands.
    for (format, refusal) in REFUSALS {
        for args in [
            vec!["env", "--format", format, "--no-such-option"],
            vec!["env", "--no-such-option", "--format", format],
        ] {
            let run = on(&seed(), &args);
            assert_eq!((run.status, run.out.as_str()), (2, refusal), "{args:?}");
        }
    }
    for args in [
        &["no-such-command"][..],
        &["devices", "--gid"],
        &["exec"],
        &[],
    ] {
        let run = on(&seed(), args);
        assert_eq!((run.status, run.out.as_str()), (2, ""), "{args:?}");
    }
    let misspelt = on(&seed(), &["env", "--proflie", "full"]);
    assert!(misspelt.err.contains("--profile"), "{}", misspelt.err);
}

#[test]
fn names_that_the_node_does_not_have_are_errors_that_list_what_it_has() {
    for (options, says) in [
        (&["--hca", "mlx5_9"][..], &["mlx5_9", "mlx5_1"][..]),
        (&["--hca", "=mlx5_1,mlx5_99"], &["mlx5_99"]),
        (&["--hca", "=mlx5_1:2"], &["mlx5_1:2"]),
        (&["--hca", "=mlx5"], &["mlx5"]),
        (&["--hca", ""], &["--hca"]),
        (&["--hca", "^="], &["--hca"]),
        (&["--exclude", "mlx5_7"], &["mlx5_7", "mlx5_1"]),
        (&["--main", "eth9"], &["eth9", "eth1"]),
        (&["--gpus", "5"], &["--gpus", "this node has 4"]),
        (&["--gpus", "0"], &["--gpus"]),
        (&["--gpus", "0,9"], &["no GPU 9"]),
        (&["--gpus", "one"], &["one"]),
        (
            &["--gpus", "99999999999999999999"],
            &["99999999999999999999"],
        ),
        (&["--gpus", "3-99999999"], &["99999999"]),
    ] {
        env_refuses(&seed(), options, 2, says);
    }
    let run = on(&seed(), &["gids", "mlx5_9"]);
    assert_eq!((run.status, run.out.as_str()), (2, ""));
    assert!(run.err.contains("mlx5_9") && run.err.contains("mlx5_1"));
}

#[test]
fn excluding_everything_is_no_answer() {
    env_refuses(
        &seed(),
        &["--exclude", "mlx5_1,mlx5_2,mlx5_3,mlx5_4"],
        1,
        &["mlx5_1/1"],
    );
    env_refuses(&seed(), &["--link-layer", "ib"], 1, &["mlx5_1/1"]);
}

// -- roots ----------------------------------------------------------------------------------------------------------------

#[test]
fn a_root_that_is_no_node_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    env_refuses(&dir.path().join("missing"), &[], 2, &["missing"]);
    env_refuses(Path::new("/dev/null"), &[], 2, &["/dev/null"]);
    let empty = dir.path().join("empty");
    fs::write(&empty, "").unwrap();
    env_refuses(&empty, &[], 2, &["empty", "line 1"]);
    // A directory without a node in it: nothing is known of it, so there is no answer.
    let offline = dir.path().join("nothing");
    fs::create_dir_all(offline.join("commands")).unwrap();
    env_refuses(&offline, &[], 1, &["sys/class/infiniband"]);
    for command in ["devices", "gids", "topo"] {
        let run = on(&offline, &[command]);
        assert!(run.status == 0 && !run.err.is_empty(), "{command}: {run:?}");
    }
}

#[test]
fn a_malformed_capture_is_an_error_with_the_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("broken.capture");
    for (text, line) in [
        ("garbage\n", 1),
        ("rdmactl capture 2\n", 1),
        ("rdmactl capture 1\nno kind at all\n", 2),
        ("rdmactl capture 1\n# fine\n\nlink only-a-path\n", 4),
        ("rdmactl capture 1\nlink a b c\n", 2),
        ("rdmactl capture 1\nerrno a ENOTHING\n", 2),
        ("rdmactl capture 1\nrows a/gids many\n", 2),
        ("rdmactl capture 1\nrows a/gids 99999999\n", 2),
        ("rdmactl capture 1\nfile a END\n", 2),
        ("rdmactl capture 1\nfile a <<END\nnever closed\n", 2),
        ("rdmactl capture 1\nhex a 0\n", 2),
        ("rdmactl capture 1\nhex a 0g\n", 2),
        ("rdmactl capture 1\na = 1\nb = 2\na = 3\n", 4),
        ("rdmactl capture 1\na%zz = 1\n", 2),
        ("rdmactl capture 1\nenv NO_VALUE\n", 2),
        ("rdmactl capture 1\na%ff = 1\n", 2),
    ] {
        fs::write(&file, text).unwrap();
        let said = format!("line {line}:");
        let run = on(&file, &["env"]);
        assert_eq!((run.status, run.out.as_str()), (2, "false;\n"), "{text:?}");
        assert!(run.err.contains(&said), "{text:?}: {}", run.err);
        assert!(run.err.contains("broken.capture"), "{}", run.err);
    }
    fs::write(&file, b"rdmactl capture 1\na = \xff\xfe\n").unwrap();
    env_refuses(&file, &[], 2, &["broken.capture", "UTF-8"]);
    // A file too large to be a capture is not read.
    let large = fs::File::create(&file).unwrap();
    large.set_len(4 << 30).unwrap();
    env_refuses(&file, &[], 2, &["broken.capture"]);
}

/// Half of a capture: cut anywhere it is an error or a smaller node, and never a panic.
#[test]
fn a_capture_that_was_cut_never_panics() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("cut");
    let text = read(&package().join("fixtures/nodes/dual-port-hca"));
    for tenth in 0..40 {
        fs::write(&file, &text[..text.len() * tenth / 40]).unwrap();
        for command in ["env", "devices"] {
            let run = on(&file, &[command]);
            assert!((0..=2).contains(&run.status), "{tenth}: {run:?}");
            assert!(run.status == 0 || command != "env" || run.out == "false;\n");
        }
    }
}

// -- files of a node ------------------------------------------------------------------------------------------------------

/// A node of the fixtures with some entries replaced: lines by what they start with, `None` to take them out.
fn changed(dir: &Path, node: &str, changes: &[(&str, Option<&str>)]) -> PathBuf {
    let text = read(&package().join("fixtures/nodes").join(node));
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (part, new) in changes {
        let before = lines.len();
        let at: Vec<usize> = (0..before).filter(|i| lines[*i].contains(part)).collect();
        assert!(!at.is_empty(), "{node} has no line with {part:?}");
        for i in at.into_iter().rev() {
            match new {
                Some(new) => {
                    lines[i] = (*new).replace("PATH", lines[i].split(" = ").next().unwrap());
                }
                None => _ = lines.remove(i),
            }
        }
    }
    let file = dir.join("changed");
    fs::write(&file, lines.join("\n") + "\n").unwrap();
    file
}

/// One sick device never hides the others, and its state is said.
#[test]
fn a_sick_device_is_left_out_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let state = "infiniband/mlx5_2/ports/1/state = ";
    let rate = "infiniband/mlx5_2/ports/1/rate = ";
    let layer = "infiniband/mlx5_2/ports/1/link_layer = ";
    for (part, new, says) in [
        (state, "errno PATH EIO", "EIO"),
        (state, "errno PATH ENODEV", "ENODEV"),
        (state, "PATH = garbage", "garbage"),
        (
            state,
            "PATH = 99999999999999999999: ACTIVE",
            "99999999999999999999",
        ),
        (state, "PATH = 4", "\"4\""),
        (state, "file PATH <<END\nEND", "state"),
        (state, "hex PATH fffe00", "state"),
        (layer, "PATH = Token Ring", "Token Ring"),
        (layer, "errno PATH EACCES", "link_layer"),
    ] {
        let file = changed(dir.path(), "a100-4gpu-roce", &[(part, Some(new))]);
        let run = on(&file, &["env", "-v"]);
        assert_eq!(run.status, 0, "{new}: {run:?}");
        assert!(
            run.out.contains("'=mlx5_1,mlx5_3,mlx5_4'"),
            "{new}: {run:?}"
        );
        assert!(run.err.contains(says), "{new}: {}", run.err);
        let run = on(&file, &["devices"]);
        assert!(
            run.status == 0 && run.out.contains("mlx5_2"),
            "{new}: {run:?}"
        );
    }
    // A rate that cannot be read is no reason to leave a port out.
    for new in [
        "errno PATH EIO",
        "PATH = 99999999999999999999 Gb/sec (4X)",
        "PATH = fast",
        "PATH = -1 Gb/sec (4X)",
    ] {
        let file = changed(dir.path(), "a100-4gpu-roce", &[(rate, Some(new))]);
        let run = on(&file, &["env"]);
        assert!(
            run.out.contains("'=mlx5_1,mlx5_2,mlx5_3,mlx5_4'"),
            "{new}: {run:?}"
        );
    }
}

#[test]
fn gids_that_cannot_be_read_are_no_answer_for_that_port() {
    let dir = tempfile::tempdir().unwrap();
    for new in [
        "errno PATH EIO",
        "PATH = zzzz",
        "PATH = ::ffff:999.1.1.1",
        "file PATH <<END\nEND",
    ] {
        let file = changed(
            dir.path(),
            "a100-4gpu-roce",
            &[("infiniband/mlx5_2/ports/1/gids/3 = ", Some(new))],
        );
        let run = on(&file, &["env"]);
        assert!(
            run.out.contains("'=mlx5_1,mlx5_3,mlx5_4'"),
            "{new}: {run:?}"
        );
        let run = on(&file, &["gids", "mlx5_2"]);
        assert_eq!(run.status, 0, "{new}: {run:?}");
    }
}

#[test]
fn tables_of_the_network_that_make_no_sense_are_said() {
    let dir = tempfile::tempdir().unwrap();
    for (content, says) in [
        ("not json", "ip-addr.json"),
        ("[{]", "ip-addr.json"),
        ("{}", "ip-addr.json"),
        ("[{\"ifname\": 3}]", "ip-addr.json"),
    ] {
        let text = read(&seed());
        let (head, rest) = text
            .split_once("file commands/ip-addr.json <<END\n")
            .unwrap();
        let (_, tail) = rest.split_once("\nEND\n").unwrap();
        let file = dir.path().join("node");
        fs::write(
            &file,
            format!("{head}commands/ip-addr.json = {content}\n{tail}"),
        )
        .unwrap();
        env_refuses(&file, &[], 1, &["error: "]);
        let run = on(&file, &["devices"]);
        assert!(
            run.status == 0 && run.err.contains(says),
            "{content}: {run:?}"
        );
    }
}

/// Names that a shell would run never reach it, whatever the format.
#[test]
fn hostile_names_are_never_printed_as_values() {
    let node = package().join("fixtures/nodes/hostile-names");
    env_refuses(&node, &[], 1, &["$(reboot)"]);
    env_refuses(&node, &["--fallback", "tcp"], 1, &["error: "]);
    let text = read(&node);
    let dir = tempfile::tempdir().unwrap();
    for bad in [
        "mlx5_`id`",
        "mlx5_'",
        "mlx5_\\",
        "mlx5_|x",
        "mlx5_>x",
        "mlx5_&",
        "mlx5_*",
        "mlx5_é",
        "mlx5_%0Aid",
        "mlx5_%20x",
        "mlx5_%1B[31m",
    ] {
        let file = dir.path().join("node");
        fs::write(
            &file,
            text.replace("mlx5_1;id", bad).replace("$(reboot)", "eno1"),
        )
        .unwrap();
        let run = on(&file, &["env"]);
        // The file with the device's name beside its uverbs number knows no `%0A`, so that one has none.
        let block = if bad.contains('%') {
            on(&file, &["env", "--hca", "=mlx5_0"]).out
        } else {
            "false;\n".to_owned()
        };
        assert_eq!(run.out, block, "{bad}: {run:?}");
        let shown = on(&file, &["devices"]);
        let control = |c: char| c.is_control() && c != '\n';
        assert!(
            !shown.out.contains(control) && !run.err.contains(control),
            "{bad}: {shown:?}"
        );
    }
}

// -- real directories -------------------------------------------------------------------------------------------------------

/// Lays a node of the fixtures out as a directory, links and all.
fn laid_out(node: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let text = read(&package().join("fixtures/nodes").join(node));
    let mut lines = text.lines();
    let put = |path: &str, content: &str| {
        let file = dir.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    };
    let mut targets = BTreeMap::new();
    while let Some(line) = lines.next() {
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        match words[..] {
            ["rdmactl" | "#" | "errno" | "hex", ..] => {}
            ["file", path, _] => {
                let body: Vec<&str> = lines.by_ref().take_while(|l| *l != "END").collect();
                put(path, &(body.join("\n") + "\n"));
            }
            ["link", path, target] => _ = targets.insert(path.to_owned(), target.to_owned()),
            ["rows", path, count] => {
                for row in 0..count.parse::<u32>().unwrap().min(16) {
                    put(
                        &format!("{path}/{row}"),
                        "0000:0000:0000:0000:0000:0000:0000:0000\n",
                    );
                }
            }
            ["dir", path] => fs::create_dir_all(dir.path().join(path)).unwrap(),
            ["exists", path] => put(path, ""),
            [path, "=", value] => put(path, &format!("{value}\n")),
            _ => panic!("{line}"),
        }
    }
    // A listed row comes before its table in the file, and must not be overwritten.
    for line in text
        .lines()
        .filter(|l| l.contains("/gids/") && l.contains(" = "))
    {
        let (path, value) = line.split_once(" = ").unwrap();
        fs::write(dir.path().join(path), format!("{value}\n")).unwrap();
    }
    for (path, target) in targets {
        let link = dir.path().join(path);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(target, link).unwrap();
    }
    dir
}

/// The directory of a device in a laid-out node.
fn device(root: &Path, name: &str) -> PathBuf {
    fs::canonicalize(root.join("sys/class/infiniband").join(name)).unwrap()
}

fn seed_answer() -> String {
    on_node("a100-4gpu-roce", &["env"]).out
}

#[test]
fn a_directory_answers_like_the_capture() {
    for node in [
        "a100-4gpu-roce",
        "h100-8gpu-infiniband",
        "vlan-address-only",
        "bond-only",
        "software-only",
    ] {
        let root = laid_out(node);
        let (dir, file) = (on(root.path(), &["env"]), on_node(node, &["env"]));
        assert_eq!(
            (dir.status, dir.out),
            (file.status, file.out),
            "{node}: {}",
            dir.err
        );
    }
}

/// Odd things in the place of a sysfs file of one port: the port is left out, the rest is as before, and nothing hangs.
#[test]
fn odd_files_in_sysfs_do_no_harm() {
    let root = laid_out("a100-4gpu-roce");
    let state = device(root.path(), "mlx5_2").join("ports/1/state");
    let answer = |what: &str| {
        let output = bare("timeout")
            .args(["20", env!("CARGO_BIN_EXE_rdmactl"), "--root"])
            .arg(root.path())
            .args(["env", "-v"])
            .output()
            .unwrap();
        let run = Run::of(&output).sane(what);
        assert_eq!(run.status, 0, "{what}: {run:?}");
        assert!(
            run.out.contains("'=mlx5_1,mlx5_3,mlx5_4'"),
            "{what}: {run:?}"
        );
        assert!(run.err.contains("mlx5_2/1 unusable"), "{what}: {run:?}");
    };
    fs::remove_file(&state).unwrap();
    answer("a file that is not there");
    fs::create_dir(&state).unwrap();
    answer("a directory");
    fs::remove_dir(&state).unwrap();
    let made = bare("mkfifo").arg(&state).status().unwrap();
    assert!(made.success());
    answer("a pipe that nobody writes to");
    fs::remove_file(&state).unwrap();
    fs::write(&state, b"4: ACTIVE \xff\xfe\n").unwrap();
    answer("bytes that are not UTF-8");
    fs::write(&state, "").unwrap();
    answer("an empty file");
    fs::File::create(&state).unwrap().set_len(4 << 30).unwrap();
    answer("4 GiB of nothing");
    symlink("state", state.with_file_name("loop")).unwrap();
    fs::remove_file(&state).unwrap();
    symlink("loop", &state).unwrap();
    answer("a loop of links");
    fs::remove_file(&state).unwrap();
    symlink("/dev/zero", &state).unwrap();
    answer("a device outside");
}

#[test]
fn a_device_that_vanished_does_not_hide_the_rest() {
    let root = laid_out("a100-4gpu-roce");
    fs::remove_dir_all(device(root.path(), "mlx5_2")).unwrap();
    let run = on(root.path(), &["env"]);
    assert!(run.out.contains("'=mlx5_1,mlx5_3,mlx5_4'"), "{run:?}");
    let run = on(root.path(), &["devices"]);
    assert_eq!(run.status, 0, "{run:?}");
}

/// A link out of the root leads to nothing: what lies outside is never read.
#[test]
fn links_never_lead_outside() {
    const SECRET: &str = "secret-outside";
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("hostname"), SECRET).unwrap();
    fs::create_dir_all(outside.path().join("infiniband/mlx5_evil/ports/1")).unwrap();
    fs::write(
        outside.path().join("infiniband/mlx5_evil/ports/1/state"),
        "4: ACTIVE\n",
    )
    .unwrap();
    let root = laid_out("a100-4gpu-roce");
    let hostname = root.path().join("proc/sys/kernel/hostname");
    let depth = "../".repeat(20);
    for target in [
        outside.path().join("hostname"),
        PathBuf::from(format!(
            "{depth}{}",
            outside.path().join("hostname").display()
        )),
    ] {
        fs::remove_file(&hostname).unwrap();
        symlink(target, &hostname).unwrap();
        let run = on(root.path(), &["env", "--format", "json"]);
        assert_eq!(run.status, 0, "{run:?}");
        assert!(
            !run.out.contains(SECRET) && !run.err.contains(SECRET),
            "{run:?}"
        );
        assert!(run.out.contains("\"host\": null"), "{run:?}");
    }
    let evil = root.path().join("sys/class/infiniband/mlx5_evil");
    symlink(outside.path().join("infiniband/mlx5_evil"), evil).unwrap();
    let run = on(root.path(), &["devices", "--format", "json"]);
    assert!(
        run.status == 0 && !run.out.contains("mlx5_evil\",\n      \"port\": 1"),
        "{run:?}"
    );
    assert_eq!(on(root.path(), &["env"]).out, seed_answer());
    // A whole class of devices that lies outside is not there.
    let class = root.path().join("sys/class/infiniband");
    fs::remove_dir_all(&class).unwrap();
    symlink(outside.path().join("infiniband"), &class).unwrap();
    env_refuses(root.path(), &[], 1, &["no RDMA device"]);
}

/// Files that only root may read. Root reads everything, so this says nothing where root runs the tests.
#[test]
fn a_file_that_may_not_be_read_is_named() {
    use std::os::unix::fs::PermissionsExt as _;
    let root = laid_out("a100-4gpu-roce");
    let state = device(root.path(), "mlx5_2").join("ports/1/state");
    fs::set_permissions(&state, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&state).is_ok() {
        eprintln!("skipped: this user reads everything");
        return;
    }
    let run = on(root.path(), &["env", "-v"]);
    assert!(run.out.contains("'=mlx5_1,mlx5_3,mlx5_4'"), "{run:?}");
    assert!(
        run.err.contains("mlx5_2/1 unusable") && run.err.contains("state"),
        "{run:?}"
    );
}

// -- output ---------------------------------------------------------------------------------------------------------------

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let script = "\"$0\" --root fixtures/nodes/multi-plane-12-port devices --format json | head -c 10 >/dev/null; echo \"${PIPESTATUS[0]}\"";
    let output = bare("bash")
        .args(["-c", script, env!("CARGO_BIN_EXE_rdmactl")])
        .output()
        .unwrap();
    let run = Run::of(&output);
    assert_eq!((run.out.as_str(), run.err.as_str()), ("0\n", ""));
}

#[test]
fn a_full_disk_is_an_error() {
    if !Path::new("/dev/full").exists() {
        eprintln!("skipped: there is no /dev/full");
        return;
    }
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = program()
        .args(["--root", "fixtures/nodes/a100-8gpu-roce", "env"])
        .stdout(full)
        .output()
        .unwrap();
    let run = Run::of(&output).sane("env > /dev/full");
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.starts_with("error: "), "{run:?}");
}

#[test]
fn a_capture_never_replaces_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("kept");
    fs::write(&file, "precious").unwrap();
    let run = on_node("a100-4gpu-roce", &["capture", "-o", file.to_str().unwrap()]);
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.contains("kept"), "{run:?}");
    assert_eq!(read(&file), "precious");
    let link = dir.path().join("link");
    symlink(dir.path().join("elsewhere"), &link).unwrap();
    let run = on_node("a100-4gpu-roce", &["capture", "-o", link.to_str().unwrap()]);
    assert_eq!(run.status, 2, "{run:?}");
    assert!(!dir.path().join("elsewhere").exists());
}
