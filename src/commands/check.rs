//! `rdmactl check`: every check of the catalogue on this node.

use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};

use super::{Cx, select};
use crate::checks::{
    Check, Expectations, Facts, Report, Requirement, Severity, Thresholds, nearest_id, selected,
};
use crate::cli::SelectArgs;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::lint::{Analysis, Sources};
use crate::model::Node;
use crate::model::health::Health;
use crate::nccl::config::Settings;
use crate::nccl::release::Release;
use crate::report::check::{Context, Format, exit, write};
use crate::roles::{Decision, Rules, decide};
use crate::sys::{
    HealthScope, Scope, now, read_health, read_node, read_text_file, start_programs,
    write_atomically,
};

/// Arguments of `check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    rdmactl check                                   after SSH: what is wrong, and the fix\n  \
    rdmactl check --expect gpus=8 --expect hcas=8   against what the node ought to have\n  \
    rdmactl check --only port,gid --format json     some families, for programs\n  \
    rdmactl explain port.down                       a check's page\n\n\
Exit codes: 0 nothing at or above --fail-on; 1 something; 2 wrong usage, or could not run; 3 with --strict, nothing was \
found but some checks could not look. The formats nagios and npd have their own.")]
pub(crate) struct CheckArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    /// JSON in one line
    #[arg(long)]
    compact: bool,

    /// Write to this file instead of standard output, all at once
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) facts: FactsArgs,

    /// Only these checks: ids or families
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    only: Vec<String>,

    /// Not these checks: ids or families
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    skip: Vec<String>,

    /// Severity from which on a finding makes the command fail
    #[arg(long, value_enum, default_value_t, value_name = "SEVERITY")]
    fail_on: FailOn,

    /// Fail (exit 3) also where a check could not look
    #[arg(long)]
    strict: bool,

    /// Say on standard error how long reading, checks and output took
    #[arg(long, hide_short_help = true)]
    timing: bool,
}

/// What the checks are given, beside the node.
#[derive(Debug, Args)]
pub(crate) struct FactsArgs {
    #[command(flatten)]
    select: SelectArgs,

    /// What the node ought to have: gpus=N, hcas=N (data ports), rate=N (Gb/s) (can be repeated)
    #[arg(long, value_name = "NAME=N", value_parser = expectation, help_heading = "Expectations")]
    expect: Vec<String>,

    /// A version that is needed: ofed, doca, nvidia, nccl or kernel, with >= or = (can be repeated)
    #[arg(long, value_name = "NAME>=VERSION", help_heading = "Expectations")]
    require: Vec<Requirement>,

    /// Change a threshold (can be repeated); `rdmactl explain` lists them
    #[arg(long, value_name = "NAME=VALUE", value_parser = threshold, help_heading = "Expectations")]
    set_threshold: Vec<(String, u64)>,

    /// Thresholds from a JSON object of names and numbers
    #[arg(long, value_name = "FILE", help_heading = "Expectations")]
    thresholds: Option<PathBuf>,

    /// Read counters twice, so many seconds apart, and judge what they gained
    #[arg(long, value_name = "SECONDS", help_heading = "Expectations")]
    interval: Option<u16>,

    /// NCCL's release, where it is not the one that is found (2.27.7)
    #[arg(long, value_name = "VERSION", help_heading = "Expectations")]
    nccl_version: Option<Release>,
}

/// `--fail-on`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum FailOn {
    /// Errors
    #[default]
    Error,
    /// Warnings and errors
    Warning,
    /// Anything
    Note,
}

impl FailOn {
    /// The severity that is meant.
    pub(super) fn severity(self) -> Severity {
        match self {
            Self::Error => Severity::Error,
            Self::Warning => Severity::Warning,
            Self::Note => Severity::Note,
        }
    }
}

fn expectation(text: &str) -> std::result::Result<String, String> {
    Expectations::default().add(text).map(|()| text.to_owned())
}

fn threshold(text: &str) -> std::result::Result<(String, u64), String> {
    let (name, value) = text.split_once('=').ok_or("NAME=VALUE is needed")?;
    let value = value
        .parse()
        .map_err(|_| format!("{value:?} is no number"))?;
    Thresholds::default().set(name, value)?;
    Ok((name.to_owned(), value))
}

/// What was read for the checks.
pub(super) struct Read {
    pub(super) node: Node,
    pub(super) decision: Decision,
    health: Health,
    releases: Vec<Release>,
    settings: Settings,
    rules: Rules,
    sources: Sources,
    expect: Expectations,
    thresholds: Thresholds,
}

impl Read {
    /// Runs checks on it.
    pub(super) fn run(&self, checks: &[&'static Check]) -> Report {
        // Without any setting there is nothing to hold against the node: `rdmactl env` is what is missing then.
        let analysis = self.sources.has_settings().then(|| {
            Analysis::new(
                &self.node,
                &self.decision,
                &self.rules,
                &self.sources,
                &self.releases,
            )
        });
        crate::checks::run(
            checks,
            &Facts {
                node: &self.node,
                decision: &self.decision,
                health: &self.health,
                releases: &self.releases,
                settings: &self.settings,
                lint: analysis.as_ref(),
                expect: &self.expect,
                thresholds: &self.thresholds,
            },
        )
    }
}

/// Reads everything the checks look at; programs run meanwhile.
pub(super) fn read(args: &FactsArgs, cx: &mut Cx) -> Result<Read> {
    const MS: u64 = 1000;
    let thresholds = thresholds(args)?;
    let mut expect = Expectations {
        requirements: args.require.clone(),
        ..Expectations::default()
    };
    for text in &args.expect {
        expect
            .add(text)
            .map_err(|e| Error::could_not_run(anyhow::anyhow!("--expect {text:?}: {e}")))?;
    }
    let programs = start_programs(&cx.root, &cx.env);
    let node = read_node(&cx.root, Scope::FULL);
    let scope = HealthScope {
        interval_ms: args.interval.map(|s| u64::from(s) * MS),
    };
    let health = read_health(&cx.root, &cx.env, &node, programs, scope);
    let rules = select::rules(&args.select, &node, cx)?;
    let decision = decide(&node, &rules);
    let releases = match args.nccl_version {
        Some(release) => vec![release],
        None => super::plan::found_releases(cx),
    };
    let newest = releases.last().copied().unwrap_or(Release::NEWEST);
    let settings = super::plan::existing_settings(cx)(newest);
    Ok(Read {
        node,
        decision,
        health,
        releases,
        settings,
        rules,
        sources: super::settings::own_sources(&cx.root, &cx.env),
        expect,
        thresholds,
    })
}

fn thresholds(args: &FactsArgs) -> Result<Thresholds> {
    let mut thresholds = Thresholds::default();
    if let Some(path) = &args.thresholds {
        let shown = path.display();
        let text = read_text_file(path).map_err(|e| {
            Error::could_not_run(anyhow::Error::from(e).context(format!("could not read {shown}")))
        })?;
        let values: std::collections::BTreeMap<String, u64> =
            serde_json::from_str(&text).map_err(|e| {
                Error::could_not_run(anyhow::Error::from(e).context(format!(
                    "{shown} is no JSON object of names and whole numbers"
                )))
                .hint("for example {\"memlock-error\": 68719476736}")
            })?;
        for (name, value) in values {
            thresholds
                .set(&name, value)
                .map_err(|e| Error::could_not_run(anyhow::anyhow!("{shown}: {e}")))?;
        }
    }
    for (name, value) in &args.set_threshold {
        thresholds
            .set(name, *value)
            .map_err(|e| Error::could_not_run(anyhow::anyhow!("--set-threshold: {e}")))?;
    }
    Ok(thresholds)
}

/// The checks of `--only` and `--skip`; an unknown word is an error that offers the nearest.
fn chosen(only: &[String], skip: &[String]) -> Result<Vec<&'static Check>> {
    selected(only, skip).map_err(|word| unknown_check(&word))
}

/// The error for an id that does not exist.
pub(super) fn unknown_check(word: &str) -> Error {
    let error = Error::could_not_run(anyhow::anyhow!("{word:?} is neither a check nor a family"));
    match nearest_id(word) {
        Some(near) => error.hint(format!("did you mean {near}? `rdmactl explain` lists all")),
        None => error.hint("`rdmactl explain` lists all checks"),
    }
}

pub(crate) fn run(args: &CheckArgs, cx: &mut Cx) -> Result<Exit> {
    let checks = chosen(&args.only, &args.skip)?;
    let start = now();
    let read = read(&args.facts, cx)?;
    let has_read = now();
    let report = read.run(&checks);
    let has_run = now();
    let context = Context {
        node: &read.node,
        decision: &read.decision,
        style: if args.output.is_some() {
            crate::report::Style::PLAIN
        } else {
            cx.style
        },
        verbose: cx.verbose > 0,
        compact: args.compact,
        fail_on: args.fail_on.severity(),
        strict: args.strict,
        root: cx.root.shown(),
    };
    let mut text = Vec::new();
    write(&report, &context, args.format, &mut text)?;
    let exit = exit(&report, &context, args.format);
    match &args.output {
        None => cx.out.write_all(&text)?,
        Some(path) => write_atomically(path, &text).map_err(|e| {
            Error::could_not_run(
                anyhow::Error::from(e).context(format!("could not write {}", path.display())),
            )
        })?,
    }
    if args.timing {
        let ms = |from: Instant, to: Instant| to.duration_since(from).as_secs_f64() * 1000.0;
        let _ = writeln!(
            cx.err,
            "reading {:.1} ms, checks {:.1} ms, output {:.1} ms",
            ms(start, has_read),
            ms(has_read, has_run),
            ms(has_run, now())
        );
    }
    Ok(exit)
}
