//! What the black-box tests share: the program in a bare environment, the fixtures, and committed expectations.
#![allow(
    dead_code,
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stderr,
    unreachable_pub,
    reason = "helpers of tests; not every test file uses each of them"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What a run left behind, as text.
#[derive(Debug, Clone)]
pub struct Run {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Run {
    /// Takes a finished process's output; a signal is 128 and its number, as a shell says it.
    pub fn of(output: &Output) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        let signal = output.status.signal().map(|s| 128 + s);
        Self {
            status: output.status.code().or(signal).unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Fails where the program panicked or was killed; every test wants that.
    pub fn sane(self, what: &str) -> Self {
        assert!(
            self.status < 100 || self.status == 126 || self.status == 127,
            "{what}: status {}\n{}",
            self.status,
            self.err
        );
        assert!(!self.err.contains("panicked"), "{what}:\n{}", self.err);
        self
    }
}

/// The package's directory, where `fixtures/` and `tests/` are.
pub fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The program, with nothing of the caller's environment but what it needs to be found.
pub fn program() -> Command {
    bare(env!("CARGO_BIN_EXE_rdmactl"))
}

/// Any program in a bare environment, in the package's directory.
pub fn bare(program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", "/nonexistent")
        .env("LANG", "C")
        .current_dir(package())
        .stdin(Stdio::null());
    command
}

/// Runs the program on a root.
pub fn on(root: &Path, args: &[&str]) -> Run {
    let mut command = program();
    command.arg("--root").arg(root).args(args);
    let shown = format!("rdmactl --root {} {}", root.display(), args.join(" "));
    Run::of(&command.output().unwrap()).sane(&shown)
}

/// Runs the program on a node of `fixtures/nodes`, by the path a user would type.
pub fn on_node(node: &str, args: &[&str]) -> Run {
    on(Path::new(&format!("fixtures/nodes/{node}")), args)
}

/// The names of the nodes in order.
pub fn nodes() -> Vec<String> {
    let mut names = names_in(&package().join("fixtures/nodes"));
    assert!(!names.is_empty(), "fixtures/nodes is empty");
    names.sort();
    names
}

/// The names in a directory; none where it does not exist.
pub fn names_in(dir: &Path) -> Vec<String> {
    std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect()
}

pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// True where a program of that name is in PATH; says on standard error that something is skipped where it is not.
pub fn have(program: &str) -> bool {
    let found = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|dir: PathBuf| dir.join(program).is_file())
    });
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

/// Compares with a committed file, or writes it where `UPDATE_EXPECT` is set. Returns the difference.
pub fn compare(path: &Path, actual: &str) -> Option<String> {
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if expected == actual {
        return None;
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, actual).unwrap();
        return None;
    }
    Some(format!(
        "{} differs (UPDATE_EXPECT=1 cargo test writes it anew):\n{}",
        path.strip_prefix(package()).unwrap_or(path).display(),
        difference(&expected, actual)
    ))
}

/// The lines from the first to the last that differ, at most thirty of each.
fn difference(expected: &str, actual: &str) -> String {
    const MOST: usize = 30;
    let (old, new): (Vec<_>, Vec<_>) = (expected.lines().collect(), actual.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old[head..]
        .iter()
        .rev()
        .zip(new[head..].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let mut text = format!("  from line {}\n", head + 1);
    for (sign, lines) in [('-', &old), ('+', &new)] {
        for line in lines[head..lines.len() - tail].iter().take(MOST) {
            let _ = writeln!(text, "  {sign} {line}");
        }
    }
    text
}

/// Fails with all the differences at once.
pub fn none(differences: &[String]) {
    assert!(
        differences.is_empty(),
        "{} differ\n\n{}",
        differences.len(),
        differences.join("\n")
    );
}
