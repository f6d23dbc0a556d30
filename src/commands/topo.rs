//! `rdmactl topo`: the distances between GPUs and RDMA ports, and which port serves which GPU.

use clap::Args;

use super::{Cx, select};
use crate::cli::{SelectArgs, TextFormat};
use crate::error::Result;
use crate::exit::Exit;
use crate::report::topo as report;
use crate::roles::decide;
use crate::sys::{Scope, read_node};

/// Arguments of `topo`.
#[derive(Debug, Args)]
pub(crate) struct TopoArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: TextFormat,

    #[command(flatten)]
    select: SelectArgs,
}

pub(crate) fn run(args: &TopoArgs, cx: &mut Cx) -> Result<Exit> {
    let node = read_node(&cx.root, Scope::FULL);
    let rules = select::rules(&args.select, &node, cx)?;
    let decision = decide(&node, &rules);
    match args.format {
        TextFormat::Text => cx
            .out
            .write_all(report::text(&node, &decision, cx.style).as_bytes())?,
        TextFormat::Json => report::json(&node, &decision, cx.out)?,
    }
    super::say_unread(cx, &node);
    Ok(Exit::Fine)
}
