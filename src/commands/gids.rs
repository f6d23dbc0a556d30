//! `rdmactl gids`: every GID table in full.

use clap::{Args, ValueEnum};

use super::Cx;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::report::gids as report;
use crate::sys::{Scope, read_node};

/// Arguments of `gids`.
#[derive(Debug, Args)]
pub(crate) struct GidsArgs {
    /// Devices to show; all by default
    #[arg(value_name = "DEVICE")]
    devices: Vec<String>,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// A table for people
    #[default]
    Text,
    /// JSON
    Json,
    /// The columns of `show_gids`
    #[value(name = "show_gids", alias = "show-gids")]
    ShowGids,
}

pub(crate) fn run(args: &GidsArgs, cx: &mut Cx) -> Result<Exit> {
    let node = read_node(&cx.root, Scope::FULL);
    for device in &args.devices {
        if node.hca(device).is_none() {
            let names: Vec<&str> = node.hcas().iter().map(|h| h.name.as_str()).collect();
            return Err(Error::could_not_run(anyhow::anyhow!(
                "{device:?} is no RDMA device of this node"
            ))
            .hint(format!("there are {}", names.join(", "))));
        }
    }
    let wanted = |name: &str| args.devices.is_empty() || args.devices.iter().any(|d| d == name);
    match args.format {
        Format::Text => cx
            .out
            .write_all(report::text(&node, &wanted, cx.style).as_bytes())?,
        Format::Json => report::json(&node, &wanted, cx.out)?,
        Format::ShowGids => cx
            .out
            .write_all(report::show_gids(&node, &wanted).as_bytes())?,
    }
    super::say_unread(cx, &node);
    Ok(Exit::Fine)
}
