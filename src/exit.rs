//! Exit codes: the only place that knows their numbers. They are promises.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: fine.
    Fine,
    /// 1: problems at or above `--fail-on`, or no usable answer.
    Problems,
    /// 2: wrong usage, or the command could not run.
    CouldNotRun,
    /// 3: nothing was found, but with `--strict` some checks could not be carried out.
    Incomplete,
    /// Any other number a format or a program of `exec` asks for.
    Code(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::Problems => 1,
            Exit::CouldNotRun => 2,
            Exit::Incomplete => 3,
            Exit::Code(code) => code,
        })
    }
}
