//! A node as one text file: what was read, line by line, errors included.
//!
//! ```text
//! rdmactl capture 1
//! sys/class/infiniband/mlx5_0/ports/1/state = 4: ACTIVE
//! link sys/class/infiniband/mlx5_0 ../../devices/pci0000:17/0000:17:01.0/0000:18:00.0/infiniband/mlx5_0
//! errno sys/class/net/eth0/speed EINVAL
//! rows sys/class/infiniband/mlx5_0/ports/1/gids 256
//! dir sys/class/infiniband
//! exists sys/class/net/eth0/statistics
//! env NCCL_DEBUG=INFO
//! file proc/net/route <<END
//! ...
//! END
//! hex sys/.../config 86800f22...
//! ```
//! `rows` says how many rows a GID table has: rows that are not listed are all zero. `exists` says that something is
//! there whose content was not read. In paths, bytes outside the printable ASCII range, blanks and `%` are written as `%XX`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use nix::errno::Errno;

use super::resolve::resolve;
use crate::model::{Why, errno_text};

/// First line of a capture.
pub(crate) const HEADER: &str = "rdmactl capture 1";

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A file and its content.
    File(Vec<u8>),
    /// A link and its target.
    Link(String),
    /// Reading it fails with this errno.
    Errno(i32),
    /// A directory.
    Dir,
    /// A GID table's directory with this many rows.
    Rows(u32),
    /// Something whose content was not read.
    Exists,
}

/// A node in memory: paths without a leading slash and what stands there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tree {
    entries: BTreeMap<String, Entry>,
    /// Variables of the process that was captured; `None` where the capture says nothing of them.
    pub(crate) env: Option<BTreeMap<String, String>>,
}

/// A capture file that cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub(crate) struct TreeError {
    /// Number of the line, from 1.
    pub(crate) line: usize,
    /// What is wrong with it.
    pub(crate) what: String,
}

impl Tree {
    /// Puts an entry; what is more than a mere `Exists` replaces it, and a `Dir` replaces nothing else.
    pub(crate) fn put(&mut self, path: &str, entry: Entry) {
        let known_better = match (&entry, self.entries.get(path)) {
            (Entry::Exists, old) => old.is_some(),
            (Entry::Dir, old) => old.is_some_and(|o| *o != Entry::Exists),
            _ => false,
        };
        if known_better {
            return;
        }
        self.entries.insert(path.to_owned(), entry);
    }

    /// Takes an entry out.
    pub(crate) fn remove(&mut self, path: &str) {
        self.entries.remove(path);
    }

    /// Puts an entry in the place of whatever stands there.
    #[cfg(test)]
    pub(crate) fn replace(&mut self, path: &str, entry: Entry) {
        self.entries.insert(path.to_owned(), entry);
    }

    /// Takes an entry out, and everything below it.
    #[cfg(test)]
    pub(crate) fn remove_all(&mut self, path: &str) {
        let below = format!("{path}/");
        self.entries
            .retain(|p, _| p != path && !p.starts_with(&below));
    }

    /// Every entry in order of its path.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(p, e)| (p.as_str(), e))
    }

    /// Replaces every content with what `change` makes of it; for redaction.
    pub(crate) fn map_text(&mut self, mut change: impl FnMut(&str, &str) -> String) {
        for (path, entry) in &mut self.entries {
            if let Entry::File(bytes) = entry
                && let Ok(text) = std::str::from_utf8(bytes)
            {
                *bytes = change(path, text).into_bytes();
            }
        }
    }

    fn resolve(&self, path: &str, follow_last: bool) -> Result<String, Why> {
        resolve(path, follow_last, |p| match self.entries.get(p) {
            Some(Entry::Link(target)) => Some(target.clone()),
            _ => None,
        })
    }

    /// Reads a file's content, following links.
    pub(super) fn bytes(&self, path: &str) -> Result<Vec<u8>, Why> {
        let path = self.resolve(path, true)?;
        match self.entries.get(&path) {
            Some(Entry::File(bytes)) => Ok(bytes.clone()),
            Some(Entry::Errno(n)) => Err(why_of_errno(*n)),
            Some(Entry::Exists) => Err(Why::NotCaptured),
            Some(Entry::Dir | Entry::Rows(_)) => Err(Why::Errno(Errno::EISDIR as i32)),
            Some(Entry::Link(_)) | None => self.row_of_table(&path).ok_or(Why::Absent),
        }
    }

    /// The content of an unlisted row of a GID table: the all-zero GID.
    fn row_of_table(&self, path: &str) -> Option<Vec<u8>> {
        let (dir, name) = path.rsplit_once('/')?;
        let Some(Entry::Rows(rows)) = self.entries.get(dir) else {
            return None;
        };
        (name.parse::<u32>().ok()? < *rows)
            .then(|| b"0000:0000:0000:0000:0000:0000:0000:0000".to_vec())
    }

    /// Lists a directory's names, following links, in no particular order.
    pub(super) fn list(&self, path: &str) -> Result<Vec<String>, Why> {
        let path = self.resolve(path, true)?;
        let mut names: Vec<String> = Vec::new();
        match self.entries.get(&path) {
            Some(Entry::Errno(n)) => return Err(why_of_errno(*n)),
            Some(Entry::File(_)) => return Err(Why::Absent),
            Some(Entry::Exists) => return Err(Why::NotCaptured),
            Some(Entry::Rows(rows)) => return Ok((0..*rows).map(|i| i.to_string()).collect()),
            Some(Entry::Dir | Entry::Link(_)) | None => {}
        }
        let prefix = if path.is_empty() {
            String::new()
        } else {
            format!("{path}/")
        };
        for (key, _) in self.entries.range(prefix.clone()..) {
            let Some(rest) = key.strip_prefix(&prefix) else {
                break;
            };
            let name = rest.split('/').next().unwrap_or(rest);
            if names.last().is_none_or(|n| n != name) {
                names.push(name.to_owned());
            }
        }
        // Siblings such as `a` and `a-b` interleave with `a/x` in byte order.
        names.sort();
        names.dedup();
        if names.is_empty() && !self.entries.contains_key(&path) {
            return Err(Why::Absent);
        }
        Ok(names)
    }

    /// Reads a link's target; EINVAL for anything else, as the kernel answers.
    pub(super) fn link(&self, path: &str) -> Result<String, Why> {
        let path = self.resolve(path, false)?;
        match self.entries.get(&path) {
            Some(Entry::Link(target)) => Ok(target.clone()),
            Some(Entry::Errno(n)) => Err(why_of_errno(*n)),
            Some(_) => Err(Why::Errno(Errno::EINVAL as i32)),
            None if self.list(&path).is_ok() => Err(Why::Errno(Errno::EINVAL as i32)),
            None => Err(Why::Absent),
        }
    }

    /// True where something stands at the path, links followed.
    pub(super) fn exists(&self, path: &str) -> Result<bool, Why> {
        let path = self.resolve(path, true)?;
        Ok(match self.entries.get(&path) {
            Some(Entry::Link(_)) => false,
            Some(_) => true,
            None => self.row_of_table(&path).is_some() || self.list(&path).is_ok(),
        })
    }

    /// Parses a capture.
    pub(crate) fn parse(text: &str) -> Result<Self, TreeError> {
        let mut tree = Self::default();
        let mut lines = text.lines().enumerate().map(|(i, l)| (i + 1, l));
        match lines.next() {
            Some((_, HEADER)) => {}
            Some((_, first)) if first.starts_with("rdmactl capture ") => {
                return Err(TreeError {
                    line: 1,
                    what: format!(
                        "{first:?} is a format this release does not know; it reads {HEADER:?}"
                    ),
                });
            }
            _ => {
                return Err(TreeError {
                    line: 1,
                    what: format!("not a capture: the first line is not {HEADER:?}"),
                });
            }
        }
        while let Some((number, line)) = lines.next() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |what: String| TreeError { line: number, what };
            let (path, entry) = if let Some((kind, rest)) = line.split_once(' ')
                && !rest.starts_with("= ")
            {
                if kind == "env" {
                    let (name, value) = rest
                        .split_once('=')
                        .ok_or_else(|| wrong("`env` needs NAME=VALUE".to_owned()))?;
                    let value = decode(value).map_err(wrong)?;
                    let value = String::from_utf8_lossy(&value).into_owned();
                    tree.env
                        .get_or_insert_default()
                        .insert(name.to_owned(), value);
                    continue;
                }
                parse_entry(kind, rest, &mut lines).map_err(wrong)?
            } else if let Some((path, value)) = line.split_once(" = ") {
                (path, Entry::File(format!("{value}\n").into_bytes()))
            } else {
                return Err(wrong(format!(
                    "{:?} is neither `PATH = TEXT` nor one of file, hex, link, errno, dir, rows, exists, env",
                    line.chars().take(60).collect::<String>()
                )));
            };
            let path = decode_path(path).map_err(wrong)?;
            if tree.entries.insert(path.clone(), entry).is_some() {
                return Err(wrong(format!("{path:?} is already given")));
            }
        }
        Ok(tree)
    }

    /// Writes the capture.
    pub(crate) fn write(&self) -> String {
        let mut out = format!("{HEADER}\n");
        for (name, value) in self.env.iter().flatten() {
            let _ = writeln!(out, "env {name}={}", encode(value.as_bytes(), b" ="));
        }
        for (path, entry) in &self.entries {
            let path = encode(path.as_bytes(), b"");
            let _ = match entry {
                Entry::Link(target) => {
                    writeln!(out, "link {path} {}", encode(target.as_bytes(), b""))
                }
                Entry::Errno(n) => writeln!(out, "errno {path} {}", errno_name(*n)),
                Entry::Dir => writeln!(out, "dir {path}"),
                Entry::Rows(n) => writeln!(out, "rows {path} {n}"),
                Entry::Exists => writeln!(out, "exists {path}"),
                Entry::File(bytes) => write_file(&mut out, &path, bytes),
            };
        }
        out
    }
}

/// Parses what follows the kind of a line; takes the further lines of a `file` or a `hex` block.
fn parse_entry<'a>(
    kind: &str,
    rest: &'a str,
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
) -> Result<(&'a str, Entry), String> {
    let two = || {
        rest.split_once(' ')
            .ok_or_else(|| format!("`{kind}` needs a path and a value"))
    };
    Ok(match kind {
        "dir" => (rest, Entry::Dir),
        "exists" => (rest, Entry::Exists),
        "link" => {
            let (path, target) = two()?;
            (path, Entry::Link(decode_path(target)?))
        }
        "errno" => {
            let (path, name) = two()?;
            let number = errno_number(name)
                .ok_or_else(|| format!("{name:?} is no errno this system knows"))?;
            (path, Entry::Errno(number))
        }
        "rows" => {
            let (path, count) = two()?;
            let rows: u32 = count
                .parse()
                .ok()
                .filter(|n| *n <= 65536)
                .ok_or_else(|| format!("{count:?} is no number of rows (at most 65536)"))?;
            (path, Entry::Rows(rows))
        }
        "hex" => {
            let (path, digits) = two()?;
            (path, Entry::File(decode_hex(digits)?))
        }
        "file" => {
            let (path, mark) = two()?;
            let end = mark
                .strip_prefix("<<")
                .filter(|e| !e.is_empty())
                .ok_or_else(|| format!("`file` needs <<MARK after the path, not {mark:?}"))?;
            let mut content = String::new();
            loop {
                let Some((_, line)) = lines.next() else {
                    return Err(format!(
                        "the file ends before the line {end:?} that closes this block"
                    ));
                };
                if line == end {
                    break;
                }
                content.push_str(line);
                content.push('\n');
            }
            (path, Entry::File(content.into_bytes()))
        }
        other => return Err(format!("{other:?} is no kind of line")),
    })
}

fn write_file(out: &mut String, path: &str, bytes: &[u8]) -> std::fmt::Result {
    let text = std::str::from_utf8(bytes)
        .ok()
        .filter(|t| !t.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
    let Some(text) = text else {
        let digits: String = bytes.iter().fold(String::new(), |mut s, b| {
            let _ = write!(s, "{b:02x}");
            s
        });
        return writeln!(out, "hex {path} {digits}");
    };
    let body = text.strip_suffix('\n').unwrap_or(text);
    let plain = !body.is_empty() && !body.contains(['\n', '\t']) && body.trim() == body;
    if plain {
        return writeln!(out, "{path} = {body}");
    }
    let mut mark = "END".to_owned();
    while text.lines().any(|l| l == mark) {
        mark.push('_');
    }
    let newline = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    writeln!(out, "file {path} <<{mark}\n{text}{newline}{mark}")
}

/// Writes bytes outside printable ASCII, blanks, and the format's own signs `%`, `#` and `=` as `%XX`, but for those in `keep`.
fn encode(bytes: &[u8], keep: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for &b in bytes {
        if (b.is_ascii_graphic() && !b"%#=".contains(&b)) || keep.contains(&b) {
            out.push(char::from(b));
        } else {
            let _ = write!(out, "%{b:02X}");
        }
    }
    out
}

fn decode(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        if *first == b'%' {
            let code = tail
                .get(..2)
                .and_then(|d| std::str::from_utf8(d).ok())
                .and_then(|d| u8::from_str_radix(d, 16).ok())
                .ok_or_else(|| format!("{text:?} has a `%` without two hexadecimal digits"))?;
            bytes.push(code);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    Ok(bytes)
}

/// Decodes a path and takes a leading slash off.
fn decode_path(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(' ') {
        return Err(format!("{text:?} is no path"));
    }
    let bytes = decode(text)?;
    String::from_utf8(bytes).map_err(|_| format!("{text:?} is not UTF-8"))
}

fn decode_hex(digits: &str) -> Result<Vec<u8>, String> {
    if !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return Err("`hex` needs an even number of digits".to_owned());
    }
    (0..digits.len())
        .step_by(2)
        .map(|i| {
            u8::from_str_radix(&digits[i..i + 2], 16)
                .map_err(|_| "`hex` has a digit that is none".to_owned())
        })
        .collect()
}

/// Refusal and absence have names of their own.
pub(super) fn why_of_errno(number: i32) -> Why {
    match Errno::from_raw(number) {
        Errno::ENOENT | Errno::ENOTDIR => Why::Absent,
        Errno::EACCES | Errno::EPERM => Why::Denied,
        _ => Why::Errno(number),
    }
}

fn errno_name(number: i32) -> String {
    let text = errno_text(number);
    match text.split_once(' ') {
        Some((name, _)) if name.starts_with('E') => name.to_owned(),
        _ => number.to_string(),
    }
}

fn errno_number(name: &str) -> Option<i32> {
    const LAST: i32 = 133;
    name.parse()
        .ok()
        .filter(|n| (1..4096).contains(n))
        .or_else(|| (1..=LAST).find(|n| errno_name(*n) == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "rdmactl capture 1\n\
        env NCCL_IB_HCA==mlx5_1 x\n\
        link sys/class/infiniband/mlx5_0 ../../devices/pci0000:17/infiniband/mlx5_0\n\
        errno sys/class/net/eth0/speed EINVAL\n\
        sys/devices/pci0000:17/infiniband/mlx5_0/node_type = 1: CA\n\
        rows sys/devices/pci0000:17/infiniband/mlx5_0/ports/1/gids 4\n\
        sys/devices/pci0000:17/infiniband/mlx5_0/ports/1/gids/0 = fe80:0000:0000:0000:0000:0000:0000:0001\n\
        file proc/net/route <<END\nIface\tDestination\nEND\n\
        hex sys/config 00ff\n\
        exists sys/other\n\
        dir dev/infiniband\n";

    #[test]
    fn every_kind_is_read_back() {
        let tree = Tree::parse(SAMPLE).unwrap();
        assert_eq!(
            tree.bytes("sys/class/infiniband/mlx5_0/node_type").unwrap(),
            b"1: CA\n"
        );
        assert_eq!(tree.bytes("sys/class/net/eth0/speed"), Err(Why::Errno(22)));
        assert_eq!(
            tree.list("sys/class/infiniband/mlx5_0/ports/1/gids")
                .unwrap()
                .len(),
            4
        );
        assert!(
            tree.bytes("sys/class/infiniband/mlx5_0/ports/1/gids/3")
                .unwrap()
                .starts_with(b"0000")
        );
        assert_eq!(
            tree.bytes("sys/class/infiniband/mlx5_0/ports/1/gids/4"),
            Err(Why::Absent)
        );
        assert_eq!(tree.bytes("sys/config").unwrap(), [0, 255]);
        assert_eq!(tree.bytes("sys/other"), Err(Why::NotCaptured));
        assert!(tree.exists("sys/other").unwrap());
        assert!(tree.list("dev/infiniband").unwrap().is_empty());
        assert_eq!(tree.env.as_ref().unwrap()["NCCL_IB_HCA"], "=mlx5_1 x");
    }

    #[test]
    fn writing_and_parsing_is_the_identity() {
        let tree = Tree::parse(SAMPLE).unwrap();
        assert_eq!(Tree::parse(&tree.write()).unwrap(), tree);
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line, part) in [
            ("", 1, "not a capture"),
            ("rdmactl capture 9\n", 1, "does not know"),
            ("rdmactl capture 1\n\nnonsense\n", 3, "neither"),
            ("rdmactl capture 1\nerrno a EWHAT\n", 2, "no errno"),
            ("rdmactl capture 1\nfile a <<END\nx\n", 2, "closes"),
            ("rdmactl capture 1\na = 1\na = 2\n", 3, "already"),
            ("rdmactl capture 1\nlink a%zz b\n", 2, "hexadecimal"),
        ] {
            let error = Tree::parse(text).unwrap_err();
            assert_eq!(error.line, line, "{text:?}");
            assert!(error.what.contains(part), "{text:?}: {}", error.what);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_content_survives(path in "[ -~\u{80}-\u{ff}]{1,12}", bytes in proptest::collection::vec(0u8.., 0..40)) {
            let mut tree = Tree::default();
            let path = path.replace('/', "_");
            tree.put(&path, Entry::File(bytes.clone()));
            let back = Tree::parse(&tree.write()).unwrap();
            let read = back.bytes(&path);
            // A text's last newline is not kept apart from its absence; readers trim it.
            let trim = |b: &[u8]| b.strip_suffix(b"\n").unwrap_or(b).to_vec();
            if path != "." && path != ".." {
                proptest::prop_assert_eq!(trim(&read.unwrap()), trim(&bytes));
            }
        }

        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = Tree::parse(&format!("rdmactl capture 1\n{text}\nfile {text}"));
        }
    }
}
