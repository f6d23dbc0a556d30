//! Errors that end a command: what, why, and what to do next.

use std::io::Write;

use crate::exit::Exit;
use crate::report::{Style, escape};

/// An error that ends a command.
#[derive(Debug)]
pub(crate) struct Error {
    exit: Exit,
    source: anyhow::Error,
    hints: Vec<String>,
}

/// What a command returns.
pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The input is wrong, or the command could not run: exit code 2.
    pub(crate) fn could_not_run(source: impl Into<anyhow::Error>) -> Self {
        Self {
            exit: Exit::CouldNotRun,
            source: source.into(),
            hints: Vec::new(),
        }
    }

    /// The node has no answer: exit code 1.
    pub(crate) fn no_answer(source: impl Into<anyhow::Error>) -> Self {
        Self {
            exit: Exit::Problems,
            ..Self::could_not_run(source)
        }
    }

    /// Ends with this exit instead.
    pub(crate) fn with_exit(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    /// Adds something the user can do.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// How the program ends.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// True where the reader of standard output has gone, which is no error.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.source.chain().any(|cause| {
            cause
                .downcast_ref::<std::io::Error>()
                .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
        })
    }

    /// Prints the error with its causes and hints.
    pub(crate) fn print(&self, out: &mut dyn Write, style: Style) {
        let causes: Vec<String> = self.source.chain().map(ToString::to_string).collect();
        // Nothing is left to say where standard error is closed too.
        let _ = writeln!(
            out,
            "{} {}",
            style.error("error:"),
            escape(&causes.join(": "))
        );
        for hint in &self.hints {
            let _ = writeln!(out, "  {} {}", style.hint("hint:"), escape(hint));
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::could_not_run(anyhow::Error::from(error).context("could not write the output"))
    }
}
