//! `rdmactl exec`: runs a program with the NCCL settings for this node, in this process's place.

use std::ffi::OsString;

use clap::Args;

use super::Cx;
use super::plan::{PlanArgs, planned};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::sys::replace_process;

/// Arguments of `exec`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  rdmactl exec -- torchrun --nproc-per-node 8 train.py\n\n\
The program takes this process's place, so that signals, its exit status and its arguments are its own. Without a \
correct answer it is not started (exit code 1). 126 and 127: it could not be started, or was not found."
)]
pub(crate) struct ExecArgs {
    #[command(flatten)]
    plan: PlanArgs,

    /// Program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &ExecArgs, cx: &mut Cx) -> Result<Exit> {
    const NOT_FOUND: u8 = 127;
    const CANNOT_START: u8 = 126;
    let planned = planned(&args.plan, cx)?;
    cx.out.flush()?;
    let changes: Vec<(&str, Option<&str>)> = planned
        .plan
        .variables
        .iter()
        .map(|v| (v.name.as_str(), v.value()))
        .collect();
    let Some((program, arguments)) = args.command.split_first() else {
        return Err(Error::could_not_run(anyhow::anyhow!("no program is given")));
    };
    let error = replace_process(program, arguments, &changes);
    let code = if error.kind() == std::io::ErrorKind::NotFound {
        NOT_FOUND
    } else {
        CANNOT_START
    };
    Err(Error::could_not_run(
        anyhow::Error::from(error)
            .context(format!("could not start {}", program.to_string_lossy())),
    )
    .with_exit(Exit::Code(code)))
}
