//! A value read from the machine, or why there is none. Absence, refusal and nonsense are different answers.

use std::fmt;

/// A value, or the path it should have come from and why it did not.
pub(crate) type Reading<T> = Result<T, Unread>;

/// A path that gave no value, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unread {
    /// Path below the root, without a leading slash (`sys/class/infiniband/mlx5_0/ports/1/state`).
    pub(crate) path: String,
    /// Why it gave no value.
    pub(crate) why: Why,
}

/// Why a path gave no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    /// It does not exist (ENOENT, ENOTDIR, or the target of a link is missing).
    Absent,
    /// The kernel refused (EACCES, EPERM).
    Denied,
    /// The read failed with this errno, for example 22 (EINVAL) of an unused GID row's type.
    Errno(i32),
    /// It was read and makes no sense; the text that was found, shortened.
    Malformed(String),
    /// It is longer than anything the kernel writes there; the limit in bytes.
    TooLarge(usize),
    /// It exists, but the capture does not hold its content.
    NotCaptured,
    /// This command had no use for it.
    NotAsked,
}

impl Unread {
    /// Makes one from a path and a reason.
    pub(crate) fn new(path: impl Into<String>, why: Why) -> Self {
        Self {
            path: path.into(),
            why,
        }
    }

    /// Makes a `Malformed` one; keeps at most 60 characters of the text.
    pub(crate) fn malformed(path: impl Into<String>, text: &str) -> Self {
        Self::new(path, Why::Malformed(text.chars().take(60).collect()))
    }

    /// True where the path simply does not exist, which for an optional file is a fact and no failure.
    pub(crate) fn is_absent(&self) -> bool {
        self.why == Why::Absent
    }

    /// The errno behind it, when there is one.
    pub(crate) fn errno(&self) -> Option<i32> {
        match self.why {
            Why::Absent => Some(2),
            Why::Denied => Some(13),
            Why::Errno(n) => Some(n),
            Why::Malformed(_) | Why::TooLarge(_) | Why::NotCaptured | Why::NotAsked => None,
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => write!(f, "does not exist"),
            Self::Denied => write!(f, "permission denied"),
            Self::Errno(n) => write!(f, "{}", errno_text(*n)),
            Self::Malformed(text) => write!(f, "unexpected content {text:?}"),
            Self::TooLarge(limit) => write!(f, "longer than {limit} bytes"),
            Self::NotCaptured => write!(f, "not in the capture"),
            Self::NotAsked => write!(f, "not read"),
        }
    }
}

/// Returns an errno as the C library names and describes it: `EINVAL (Invalid argument)`.
pub(crate) fn errno_text(number: i32) -> String {
    let errno = nix::errno::Errno::from_raw(number);
    if errno == nix::errno::Errno::UnknownErrno {
        format!("errno {number}")
    } else {
        format!("{errno:?} ({})", errno.desc())
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}: {}", self.path, self.why)
    }
}

impl std::error::Error for Unread {}
