//! `rdmactl devices`: every RDMA port with its role and why.

use clap::{Args, ValueEnum};

use super::{Cx, select};
use crate::cli::SelectArgs;
use crate::error::Result;
use crate::exit::Exit;
use crate::report::devices as report;
use crate::roles::decide;
use crate::sys::{Scope, read_node};

/// Arguments of `devices`.
#[derive(Debug, Args)]
pub(crate) struct DevicesArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    #[command(flatten)]
    select: SelectArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// A table for people
    #[default]
    Text,
    /// JSON
    Json,
    /// The lines of `ibdev2netdev`: mlx5_0 port 1 ==> eth0 (Up)
    #[value(name = "ibdev2netdev")]
    Ibdev2netdev,
}

pub(crate) fn run(args: &DevicesArgs, cx: &mut Cx) -> Result<Exit> {
    let node = read_node(&cx.root, Scope::FULL);
    let rules = select::rules(&args.select, &node, cx)?;
    let decision = decide(&node, &rules);
    match args.format {
        Format::Text => cx
            .out
            .write_all(report::text(&node, &decision, cx.style).as_bytes())?,
        Format::Json => report::json(&node, &decision, cx.out)?,
        Format::Ibdev2netdev => cx.out.write_all(report::ibdev2netdev(&node).as_bytes())?,
    }
    super::say_unread(cx, &node);
    Ok(Exit::Fine)
}
