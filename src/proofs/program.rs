//! The whole program on a described node, in this process.

use std::ffi::OsString;
use std::io::Write as _;

use crate::World;
use crate::sys::Tree;

/// What a run printed, and its exit code as `Debug` shows it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) exit: String,
}

/// Runs `rdmactl --root CAPTURE ARGUMENTS`.
pub(super) fn run(tree: &Tree, arguments: &[&str]) -> Output {
    run_on(&tree.write(), arguments)
}

/// The same on the text of a capture.
pub(super) fn run_on(capture: &str, arguments: &[&str]) -> Output {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(capture.as_bytes()).unwrap();
    let path = file.path().as_os_str().to_owned();
    let args = [OsString::from("rdmactl"), "--root".into(), path]
        .into_iter()
        .chain(arguments.iter().map(OsString::from));
    let world = World {
        args: args.collect(),
        env: Vec::new(),
        stdout_is_terminal: false,
        stderr_is_terminal: false,
    };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let exit = crate::commands::run(world, &mut stdout, &mut stderr);
    Output {
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
        exit: format!("{exit:?}"),
    }
}
