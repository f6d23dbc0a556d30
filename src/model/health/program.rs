//! A vendor program's answer.

use std::time::Duration;

/// A program that may be asked. The argument list is fixed; no shell is involved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Program {
    /// Name of the answer in an offline copy: `commands/NAME.stdout`.
    pub(crate) name: &'static str,
    /// Program and arguments.
    pub(crate) argv: &'static [&'static str],
    /// Arguments for releases that do not know an argument of the first list; empty where there are none.
    pub(crate) fallback: &'static [&'static str],
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProgramRun {
    /// It was not run, and why: not installed, not in the offline copy, or not this machine's to run.
    NotFound(&'static str),
    /// It could not be started.
    CouldNotStart(String),
    /// It ended.
    Ended {
        /// Exit status; `None` where a signal ended it.
        status: Option<i32>,
        /// The signal, when one did.
        signal: Option<i32>,
        /// Standard output; bytes that are not UTF-8 are replaced.
        stdout: String,
        /// Standard error.
        stderr: String,
        /// Where it was found.
        path: String,
    },
    /// It did not end within the limit and was left behind.
    Hung {
        /// The limit.
        limit: Duration,
        /// Where it was found.
        path: String,
    },
    /// It printed more than the limit of bytes and was stopped.
    TooMuch {
        /// The limit in bytes.
        limit: usize,
        /// Where it was found.
        path: String,
    },
}
