//! `rdmactl explain`: a check's page, the list of checks, or a check on this node.

use clap::Args;

use super::Cx;
use super::check::{FactsArgs, read, unknown_check};
use crate::checks::{REMOVED, find};
use crate::cli::TextFormat;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::report::explain as report;

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// A check's id (port.down); without one, all checks and thresholds are listed
    #[arg(value_name = "ID")]
    id: Option<String>,

    /// Also run the check on this node and show its evidence
    #[arg(long, requires = "id")]
    here: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: TextFormat,

    #[command(flatten)]
    facts: FactsArgs,
}

pub(crate) fn run(args: &ExplainArgs, cx: &mut Cx) -> Result<Exit> {
    let Some(id) = &args.id else {
        match args.format {
            TextFormat::Text => cx.out.write_all(report::index(cx.style).as_bytes())?,
            TextFormat::Json => report::index_json(cx.out)?,
        }
        return Ok(Exit::Fine);
    };
    let Some(check) = find(id) else {
        return Err(match REMOVED.iter().find(|(name, ..)| name == id) {
            Some((_, since, why)) => {
                Error::could_not_run(anyhow::anyhow!("{id} was withdrawn in {since}: {why}"))
            }
            None => unknown_check(id),
        });
    };
    let outcome = if args.here {
        read(&args.facts, cx)?
            .run(&[check])
            .outcomes
            .into_iter()
            .next()
    } else {
        None
    };
    match args.format {
        TextFormat::Text => cx
            .out
            .write_all(report::page(check, outcome.as_ref(), cx.style).as_bytes())?,
        TextFormat::Json => report::page_json(check, outcome.as_ref(), cx.out)?,
    }
    Ok(Exit::Fine)
}
