//! `rdmactl gpus`: the GPUs and their driver, from `nvidia-smi` when it answers, and from PCI and procfs when not.

use clap::Args;

use super::Cx;
use crate::cli::TextFormat;
use crate::error::Result;
use crate::exit::Exit;
use crate::report::gpus as report;
use crate::sys::{Scope, read_gpu_health, read_node, start_nvidia_smi};

/// Arguments of `gpus`.
#[derive(Debug, Args)]
#[command(
    after_help = "nvidia-smi is asked for at most 5 s. Where it does not answer, PCI and /proc/driver/nvidia are shown, and the \
                  output says so."
)]
pub(crate) struct GpusArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: TextFormat,
}

pub(crate) fn run(args: &GpusArgs, cx: &mut Cx) -> Result<Exit> {
    let programs = start_nvidia_smi(&cx.root, &cx.env);
    let node = read_node(&cx.root, Scope::SETTINGS);
    let health = read_gpu_health(&cx.root, &node, programs);
    match args.format {
        TextFormat::Text => cx
            .out
            .write_all(report::text(&node, &health, cx.style).as_bytes())?,
        TextFormat::Json => report::json(&node, &health, cx.out)?,
    }
    if let Err(unread) = &node.gpus {
        cx.warn(&format!("PCI functions could not be read: {unread}"));
    }
    Ok(Exit::Fine)
}
