//! Where a node is read from: the live machine, a directory, or a capture file.

use std::cell::RefCell;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, OpenHow, ResolveFlag, openat, openat2, readlinkat};
use nix::sys::stat::Mode;
use nix::unistd::{AccessFlags, faccessat};

use super::resolve::{join_link, resolve};
use super::tree::{Entry, Tree, TreeError, why_of_errno};
use crate::model::{Reading, Unread, Why};

/// Nothing that is read is longer: the kernel's files here are a page or a table, and PCI config space is 4 KiB.
const MAX_BYTES: usize = 4 << 20;
/// No directory that is read has more entries.
const MAX_NAMES: usize = 1 << 16;
/// Largest capture file, in bytes.
const MAX_CAPTURE: u64 = 256 << 20;

/// Where a node is read from. Paths given to it have no leading slash.
#[derive(Debug)]
pub(crate) struct Root {
    kind: Kind,
    /// What the user gave: `/`, a directory or a file.
    shown: String,
    /// The node as read, while a capture is being made.
    record: Option<RefCell<Tree>>,
    /// The paths read, when they are asked for.
    trace: Option<RefCell<Vec<String>>>,
}

#[derive(Debug)]
enum Kind {
    Live,
    Dir { fd: OwnedFd, offline: bool },
    Tree(Tree),
}

/// A root that cannot be used at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RootError {
    /// It could not be opened.
    #[error("could not open {}", .0.display())]
    Open(PathBuf, #[source] std::io::Error),
    /// It is neither a directory nor a regular file.
    #[error("{} is neither a directory nor a file", .0.display())]
    Kind(PathBuf),
    /// It is a file and no capture.
    #[error("could not read the capture {}", .0.display())]
    Capture(PathBuf, #[source] TreeError),
    /// It is a file too large to be a capture.
    #[error("{} is larger than {MAX_CAPTURE} bytes", .0.display())]
    TooLarge(PathBuf),
    /// It is a file that is not UTF-8.
    #[error("{} is not a capture: it is not UTF-8 text", .0.display())]
    NotText(PathBuf),
}

impl Root {
    /// The machine itself.
    pub(crate) fn live() -> Self {
        Self::new(Kind::Live, "/".to_owned())
    }

    /// A capture that is already in memory.
    pub(crate) fn tree(tree: Tree, shown: &str) -> Self {
        Self::new(Kind::Tree(tree), shown.to_owned())
    }

    fn new(kind: Kind, shown: String) -> Self {
        Self {
            kind,
            shown,
            record: None,
            trace: None,
        }
    }

    /// Opens a directory or a capture file. `/` is the live machine.
    pub(crate) fn open(path: &Path) -> Result<Self, RootError> {
        let fail = |e| RootError::Open(path.to_owned(), e);
        let meta = std::fs::metadata(path).map_err(fail)?;
        let shown = path.display().to_string();
        if meta.is_dir() {
            if path == Path::new("/") {
                return Ok(Self::live());
            }
            let fd = OwnedFd::from(File::open(path).map_err(fail)?);
            let offline = path.join("commands").is_dir();
            return Ok(Self::new(Kind::Dir { fd, offline }, shown));
        }
        if !meta.is_file() {
            return Err(RootError::Kind(path.to_owned()));
        }
        if meta.len() > MAX_CAPTURE {
            return Err(RootError::TooLarge(path.to_owned()));
        }
        let bytes = std::fs::read(path).map_err(fail)?;
        let text = String::from_utf8(bytes).map_err(|_| RootError::NotText(path.to_owned()))?;
        let tree = Tree::parse(&text).map_err(|e| RootError::Capture(path.to_owned(), e))?;
        Ok(Self::new(Kind::Tree(tree), shown))
    }

    /// Starts to keep everything that is read, for a capture.
    pub(crate) fn start_recording(&mut self) {
        self.record = Some(RefCell::default());
    }

    /// Returns what was kept since [`Root::start_recording`].
    pub(crate) fn recorded(self) -> Tree {
        self.record.map(RefCell::into_inner).unwrap_or_default()
    }

    /// Adds something to the recording that was not read from a path, such as a program's output.
    pub(crate) fn note(&self, path: &str, content: &[u8]) {
        if let Some(record) = &self.record {
            record.borrow_mut().put(path, Entry::File(content.to_vec()));
        }
    }

    /// Starts to keep the paths that are read.
    pub(crate) fn start_tracing(&mut self) {
        self.trace = Some(RefCell::default());
    }

    /// The paths read since [`Root::start_tracing`], in order.
    pub(crate) fn traced(&self) -> Vec<String> {
        self.trace
            .as_ref()
            .map(|t| t.borrow().clone())
            .unwrap_or_default()
    }

    /// True for the machine itself.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.kind, Kind::Live)
    }

    /// True for a capture and for a directory with `commands/`: nothing live is asked then.
    pub(crate) fn is_offline(&self) -> bool {
        match &self.kind {
            Kind::Live => false,
            Kind::Dir { offline, .. } => *offline,
            Kind::Tree(_) => true,
        }
    }

    /// What the user gave: `/`, a directory or a file.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// The environment a capture holds.
    pub(crate) fn captured_env(&self) -> Option<&std::collections::BTreeMap<String, String>> {
        match &self.kind {
            Kind::Tree(tree) => tree.env.as_ref(),
            _ => None,
        }
    }

    fn traces(&self, path: &str) {
        if let Some(trace) = &self.trace {
            trace.borrow_mut().push(path.to_owned());
        }
    }

    fn records(&self, path: &str, entry: impl FnOnce() -> Entry) {
        if let Some(record) = &self.record {
            record.borrow_mut().put(path, entry());
        }
    }

    /// Keeps a failure; an absent path needs no entry, it is absent in the capture too.
    fn failed(&self, path: &str, why: Why) -> Unread {
        match &why {
            Why::Errno(n) => self.records(path, || Entry::Errno(*n)),
            Why::Denied => self.records(path, || Entry::Errno(Errno::EACCES as i32)),
            _ => {}
        }
        Unread::new(path, why)
    }

    /// Reads a file's bytes.
    pub(crate) fn bytes(&self, path: &str) -> Reading<Vec<u8>> {
        self.traces(path);
        let read = match &self.kind {
            Kind::Live => open_live(path).and_then(|f| read_all(f, path)),
            Kind::Dir { fd, .. } => open_inside(fd, path, OFlag::O_RDONLY | OFlag::O_NONBLOCK)
                .and_then(|f| read_all(File::from(f), path)),
            Kind::Tree(tree) => tree.bytes(path),
        };
        match read {
            Ok(bytes) => {
                self.records(path, || Entry::File(bytes.clone()));
                Ok(bytes)
            }
            Err(why) => Err(self.failed(path, why)),
        }
    }

    /// Reads a file's text without the white space and NUL bytes at its end.
    pub(crate) fn text(&self, path: &str) -> Reading<String> {
        let bytes = self.bytes(path)?;
        match String::from_utf8(bytes) {
            Ok(mut text) => {
                text.truncate(
                    text.trim_end_matches(|c: char| c.is_whitespace() || c == '\0')
                        .len(),
                );
                Ok(text)
            }
            Err(e) => Err(Unread::malformed(
                path,
                &String::from_utf8_lossy(e.as_bytes()),
            )),
        }
    }

    /// Reads a text whose every character counts, such as a configuration file; bytes that are not UTF-8 are replaced.
    pub(crate) fn raw_text(&self, path: &str) -> Reading<String> {
        let bytes = self.bytes(path)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Reads a file's text and parses it.
    pub(crate) fn parsed<T, E>(
        &self,
        path: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Reading<T> {
        let text = self.text(path)?;
        parse(&text).map_err(|_| Unread::malformed(path, &text))
    }

    /// Lists a directory's names in natural order. A name that is not UTF-8 shows the replacement character.
    pub(crate) fn list(&self, path: &str) -> Reading<Vec<String>> {
        self.traces(path);
        let names = match &self.kind {
            Kind::Live => list_live(path),
            Kind::Dir { fd, .. } => list_inside(fd, path),
            Kind::Tree(tree) => tree.list(path),
        };
        match names {
            Ok(mut names) => {
                names.sort_by(|a, b| crate::model::order::natural(a, b));
                if self.record.is_some() {
                    self.records(path, || Entry::Dir);
                    for name in &names {
                        self.records(&format!("{path}/{name}"), || Entry::Exists);
                    }
                }
                Ok(names)
            }
            Err(why) => Err(self.failed(path, why)),
        }
    }

    /// Reads a link's target as it is written.
    pub(crate) fn link(&self, path: &str) -> Reading<String> {
        self.traces(path);
        let target = match &self.kind {
            Kind::Live => std::fs::read_link(live(path))
                .map(|t| t.to_string_lossy().into_owned())
                .map_err(|e| why_of_io(&e)),
            Kind::Dir { fd, .. } => link_inside(fd, path),
            Kind::Tree(tree) => tree.link(path),
        };
        match target {
            Ok(target) => {
                self.records(path, || Entry::Link(target.clone()));
                Ok(target)
            }
            // EINVAL only says that it is no link.
            Err(why @ Why::Errno(n)) if n == Errno::EINVAL as i32 => Err(Unread::new(path, why)),
            Err(why) => Err(self.failed(path, why)),
        }
    }

    /// Returns the directory that a path of sysfs stands for: its last component's links followed.
    pub(crate) fn real(&self, path: &str) -> Reading<String> {
        const MAX_LINKS: usize = 8;
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            match self.link(&path) {
                Ok(target) => path = join_link(&path, &target),
                Err(Unread {
                    why: Why::Errno(n), ..
                }) if n == Errno::EINVAL as i32 => return Ok(path),
                Err(unread) => return Err(unread),
            }
        }
        Err(Unread::new(path, Why::Errno(Errno::ELOOP as i32)))
    }

    /// Asks the kernel whether this process, with its effective user, may read and write a device node, which is not opened.
    ///
    /// `None`: of a copied tree nothing can be said, and of a capture only where it was asked when it was made; there a
    /// file stands for a yes, EACCES for a no.
    pub(crate) fn may_open(&self, path: &str) -> Option<Reading<()>> {
        self.traces(path);
        let allowed = match &self.kind {
            Kind::Live => faccessat(
                AT_FDCWD,
                &live(path),
                AccessFlags::R_OK | AccessFlags::W_OK,
                AtFlags::AT_EACCESS,
            )
            .map_err(why_of_nix),
            Kind::Dir { .. } => return None,
            Kind::Tree(tree) => match tree.bytes(path) {
                Err(Why::NotCaptured) => return None,
                other => other.map(drop),
            },
        };
        Some(match allowed {
            Ok(()) => {
                self.records(path, || Entry::File(Vec::new()));
                Ok(())
            }
            Err(why) => Err(self.failed(path, why)),
        })
    }

    /// Tells whether something stands at a path, links followed.
    pub(crate) fn exists(&self, path: &str) -> Reading<bool> {
        self.traces(path);
        let found = match &self.kind {
            Kind::Live => match std::fs::metadata(live(path)) {
                Ok(_) => Ok(true),
                Err(e) => absent_is_false(why_of_io(&e)),
            },
            Kind::Dir { fd, .. } => match open_inside(fd, path, OFlag::O_PATH) {
                Ok(_) => Ok(true),
                Err(why) => absent_is_false(why),
            },
            Kind::Tree(tree) => tree.exists(path),
        };
        match found {
            Ok(found) => {
                if found {
                    self.records(path, || Entry::Exists);
                }
                Ok(found)
            }
            Err(why) => Err(self.failed(path, why)),
        }
    }
}

fn absent_is_false(why: Why) -> Result<bool, Why> {
    if why == Why::Absent {
        Ok(false)
    } else {
        Err(why)
    }
}

fn live(path: &str) -> PathBuf {
    Path::new("/").join(path)
}

fn why_of_io(error: &std::io::Error) -> Why {
    match error.raw_os_error() {
        Some(n) => why_of_errno(n),
        None => Why::Malformed(error.to_string()),
    }
}

fn why_of_nix(errno: Errno) -> Why {
    why_of_errno(errno as i32)
}

/// Opens without waiting: a pipe in the place of a file must not stop the program.
fn open_live(path: &str) -> Result<File, Why> {
    File::options()
        .read(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(live(path))
        .map_err(|e| why_of_io(&e))
}

fn read_all(mut file: File, path: &str) -> Result<Vec<u8>, Why> {
    const PAGE: usize = 4096;
    let mut bytes = vec![0; PAGE];
    let mut filled = 0;
    loop {
        let space = bytes.get_mut(filled..).unwrap_or_default();
        match file.read(space) {
            Ok(0) => break,
            Ok(n) => {
                filled += n;
                // A sysfs attribute is at most a page and comes in one read, so a short one needs no second.
                if filled < PAGE && path.starts_with("sys/") {
                    break;
                }
                if filled > MAX_BYTES {
                    return Err(Why::TooLarge(MAX_BYTES));
                }
                if filled == bytes.len() {
                    bytes.resize(bytes.len() * 4, 0);
                }
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(why_of_io(&e)),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

fn list_live(path: &str) -> Result<Vec<String>, Why> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(live(path)).map_err(|e| why_of_io(&e))? {
        let entry = entry.map_err(|e| why_of_io(&e))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
        if names.len() > MAX_NAMES {
            return Err(Why::TooLarge(MAX_NAMES));
        }
    }
    Ok(names)
}

/// Opens a path below a directory so that no link leads outside: `openat2` does it, and where the kernel or a seccomp
/// filter does not have it, the links are followed one by one.
fn open_inside(dir: &OwnedFd, path: &str, flags: OFlag) -> Result<OwnedFd, Why> {
    // `openat2` refuses other flags beside O_PATH.
    let flags = if flags.contains(OFlag::O_PATH) {
        flags | OFlag::O_CLOEXEC
    } else {
        flags | OFlag::O_CLOEXEC | OFlag::O_NOCTTY
    };
    let path = if path.is_empty() { "." } else { path };
    let how = OpenHow::new()
        .flags(flags)
        .resolve(ResolveFlag::RESOLVE_IN_ROOT);
    match openat2(dir.as_fd(), path, how) {
        Err(Errno::ENOSYS | Errno::EPERM) => {
            let follow = !flags.contains(OFlag::O_NOFOLLOW);
            let inside = resolve(path, follow, |p| {
                readlinkat(dir.as_fd(), p)
                    .ok()
                    .map(|t| t.to_string_lossy().into_owned())
            })?;
            let inside = if inside.is_empty() { "." } else { &inside };
            openat(
                dir.as_fd(),
                inside,
                flags | OFlag::O_NOFOLLOW,
                Mode::empty(),
            )
            .map_err(why_of_nix)
        }
        other => other.map_err(why_of_nix),
    }
}

fn list_inside(dir: &OwnedFd, path: &str) -> Result<Vec<String>, Why> {
    let fd = open_inside(dir, path, OFlag::O_RDONLY | OFlag::O_DIRECTORY)?;
    let mut names = Vec::new();
    for entry in Dir::from_fd(fd).map_err(why_of_nix)?.iter() {
        let name = entry
            .map_err(why_of_nix)?
            .file_name()
            .to_string_lossy()
            .into_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
        if names.len() > MAX_NAMES {
            return Err(Why::TooLarge(MAX_NAMES));
        }
    }
    Ok(names)
}

fn link_inside(dir: &OwnedFd, path: &str) -> Result<String, Why> {
    let fd = open_inside(dir, path, OFlag::O_PATH | OFlag::O_NOFOLLOW)?;
    match readlinkat(fd.as_fd(), "") {
        Ok(target) => Ok(target.to_string_lossy().into_owned()),
        // An empty path on something that is no link is ENOENT; the kernel's word for that is EINVAL.
        Err(Errno::ENOENT) => Err(Why::Errno(Errno::EINVAL as i32)),
        Err(e) => Err(why_of_nix(e)),
    }
}
