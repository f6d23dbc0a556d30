//! This process: its user's home, its place, the files it writes.

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use super::Root;

/// The home directory of the process's user in the password file, as `getpwuid` gives it.
pub(crate) fn passwd_home(root: &Root) -> Option<String> {
    let status = root.text("proc/self/status").ok()?;
    let uid = status
        .lines()
        .find_map(|l| l.strip_prefix("Uid:"))?
        .split_whitespace()
        .next()?
        .to_owned();
    let passwd = root.text("etc/passwd").ok();
    let entry = passwd
        .as_deref()
        .unwrap_or_default()
        .lines()
        .find_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            let &[_, _, id, _, _, home, ..] = fields.as_slice() else {
                return None;
            };
            (id == uid).then(|| home.to_owned())
        });
    // A copy of a node rarely has the password file, and root's home is the same everywhere.
    entry.or_else(|| (uid == "0").then(|| "/root".to_owned()))
}

/// Runs a program in this process's place with changed variables (`None` takes one out); returns only if that fails.
pub(crate) fn replace_process(
    program: &OsString,
    arguments: &[OsString],
    changes: &[(&str, Option<&str>)],
) -> std::io::Error {
    let mut command = std::process::Command::new(program);
    command.args(arguments);
    for (name, value) in changes {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.exec()
}

/// Writes a new file that only its owner can read. An existing file or link is never replaced or followed.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> std::io::Result<()> {
    const OWNER_ONLY: u32 = 0o600;
    let mut file = std::fs::File::options()
        .write(true)
        .create_new(true)
        .mode(OWNER_ONLY)
        .open(path)?;
    file.write_all(content)
}

/// Writes a file so that a reader sees the old or the new content and nothing between: a new file beside it takes its
/// place, also that of a link.
pub(crate) fn write_atomically(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let name = path
        .file_name()
        .ok_or_else(|| std::io::Error::from(std::io::ErrorKind::InvalidInput))?;
    let mut beside = OsString::from(".");
    beside.push(name);
    beside.push(format!(".{}", std::process::id()));
    let beside = path.with_file_name(beside);
    let written = std::fs::File::options()
        .write(true)
        .create_new(true)
        .open(&beside)
        .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        // What is left of a failed try would stay for ever.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

/// Reads a text file that the user names on the command line.
pub(crate) fn read_text_file(path: &Path) -> std::io::Result<String> {
    std::fs::read_to_string(path)
}

/// The moment, for durations that the user asks for.
pub(crate) fn now() -> std::time::Instant {
    std::time::Instant::now()
}
