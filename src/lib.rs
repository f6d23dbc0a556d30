//! rdmactl: what is wrong with this GPU node's RDMA, and the NCCL settings that are right on it.
//!
//! The rooms, and who may use whom (left uses right):
//!
//! ```text
//! main -> lib -> cli, commands -> { sys, report, checks, roles, nccl }
//! sys -> parse -> model      roles -> nccl -> model      lint -> plan, roles, nccl -> model      checks -> lint, roles, nccl -> model      report -> all but sys
//! ```
//!
//! - `sys` is the only room that touches the machine; everything read goes through `sys::Root`.
//! - `joblog` turns the bytes of an NCCL log into findings; pure as well.
//! - `parse`, `model`, `roles`, `nccl`, `plan`, `lint` and `checks` are pure: they see no path on disk, no clock, no environment.
//! - `report` turns results into bytes.
//! - `commands` is glue: read, decide, print.

#![allow(
    dead_code,
    reason = "the NCCL model knows more than the first commands ask; lint and check use the rest"
)]

mod checks;
mod cli;
mod commands;
mod error;
mod exit;
#[cfg(test)]
mod faults;
mod joblog;
mod lint;
mod model;
mod nccl;
mod parse;
mod plan;
#[cfg(test)]
mod proofs;
mod redact;
mod report;
mod roles;
mod sys;

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write};
use std::process::ExitCode;

/// Everything the program has from outside.
#[derive(Debug)]
pub struct World {
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    stdout_is_terminal: bool,
    stderr_is_terminal: bool,
}

impl World {
    /// The real process's arguments, environment and standard streams.
    pub fn real() -> Self {
        Self {
            args: std::env::args_os().collect(),
            env: std::env::vars_os().collect(),
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
        }
    }
}

/// Runs the program and returns its exit code.
pub fn run(world: World) -> ExitCode {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut err = std::io::stderr().lock();
    let exit = commands::run(world, &mut out, &mut err);
    // A reader that has gone is no error, and what could be written was.
    let _ = out.flush();
    exit.into()
}
