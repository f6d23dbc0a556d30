//! `rdmactl completions` and `rdmactl man`: what the packages install.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::Cx;
use crate::cli::Cli;
use crate::error::Result;
use crate::exit::Exit;

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {}

pub(crate) fn run(args: &CompletionsArgs, cx: &mut Cx) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "rdmactl", &mut script);
    cx.out.write_all(&script)?;
    Ok(Exit::Fine)
}

/// Prints the manual page: the program's, then a section for each command.
pub(crate) fn man(cx: &mut Cx) -> Result<Exit> {
    let command = Cli::command();
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    cx.out.write_all(&page)?;
    Ok(Exit::Fine)
}
