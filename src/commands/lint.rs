//! `rdmactl lint`: what an existing NCCL configuration would really do on this node.

use std::path::{Path, PathBuf};

use clap::Args;

use super::check::FailOn;
use super::{Cx, select, settings};
use crate::checks::{Expectations, Facts, Thresholds, selected};
use crate::cli::{SelectArgs, TextFormat};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::lint::{Analysis, Sources, is_known_variable, parse_env_file};
use crate::model::health::Health;
use crate::nccl::config::ConfigFile;
use crate::nccl::release::Release;
use crate::report::check::{Context, Format, exit};
use crate::report::lint::{Lint, json, text};
use crate::roles::decide;
use crate::sys::{Scope, read_node, read_text_file};

/// Arguments of `lint`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    rdmactl lint                                this shell's settings, and those of PID 1 beside them\n  \
    rdmactl lint --pid 4242                     a running rank's\n  \
    rdmactl lint --env-file job.env             before the job is started\n  \
    rdmactl lint --nccl-version 2.20.5          with the release that an image has\n  \
    rdmactl explain env.gid-index-wrong         a finding's page\n\n\
Only the libraries' own variables are ever shown. Exit codes: 0 nothing at or above --fail-on; 1 something; 2 wrong \
usage, or could not run; 3 with --strict, nothing was found but something could not be looked at.")]
pub(crate) struct LintArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: TextFormat,

    /// The environment that this process was started with, instead of this shell's
    #[arg(long, value_name = "PID", conflicts_with = "env_file")]
    pid: Option<u32>,

    /// A file of variables: `export NAME=VALUE` lines as a shell reads them, others as docker --env-file does
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,

    /// A configuration file in place of `NCCL_CONF_FILE` and ~/.nccl.conf, in NCCL's syntax
    #[arg(long, value_name = "FILE")]
    conf: Option<PathBuf>,

    /// NCCL's release, where it is not the one that is found (2.27.7)
    #[arg(long, value_name = "VERSION")]
    nccl_version: Option<Release>,

    /// Severity from which on a finding makes the command fail
    #[arg(long, value_enum, default_value_t, value_name = "SEVERITY")]
    fail_on: FailOn,

    /// Fail (exit 3) also where something could not be looked at
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    select: SelectArgs,
}

pub(crate) fn run(args: &LintArgs, cx: &mut Cx) -> Result<Exit> {
    let sources = sources(args, cx)?;
    let node = read_node(&cx.root, Scope::FULL);
    let rules = select::rules(&args.select, &node, cx)?;
    let decision = decide(&node, &rules);
    let releases = match args.nccl_version {
        Some(release) => vec![release],
        None => super::plan::found_releases(cx),
    };
    let analysis = Analysis::new(&node, &decision, &rules, &sources, &releases);
    let (health, expect, thresholds) = (
        Health::default(),
        Expectations::default(),
        Thresholds::default(),
    );
    let newest = sources.settings(releases.last().copied().unwrap_or(Release::NEWEST));
    let checks = selected(&["env".to_owned()], &[]).unwrap_or_default();
    let report = crate::checks::run(
        &checks,
        &Facts {
            node: &node,
            decision: &decision,
            health: &health,
            releases: &releases,
            settings: &newest,
            lint: Some(&analysis),
            expect: &expect,
            thresholds: &thresholds,
        },
    );
    let lint = Lint {
        analysis: &analysis,
        report: &report,
        root: cx.root.shown(),
        style: cx.style,
    };
    match args.format {
        TextFormat::Text => cx.out.write_all(text(&lint).as_bytes())?,
        TextFormat::Json => json(&lint, cx.out)?,
    }
    let context = Context {
        node: &node,
        decision: &decision,
        style: cx.style,
        verbose: cx.verbose > 0,
        compact: false,
        fail_on: args.fail_on.severity(),
        strict: args.strict,
        root: cx.root.shown(),
    };
    Ok(exit(&report, &context, Format::Text))
}

/// Reads the settings that are meant.
fn sources(args: &LintArgs, cx: &Cx) -> Result<Sources> {
    let mut sources = settings::own_sources(&cx.root, &cx.env);
    if let Some(pid) = args.pid {
        sources = Sources {
            whose: format!("PID {pid}"),
            environment: settings::of_process(pid, &cx.root).map_err(|unread| {
                Error::could_not_run(anyhow::anyhow!(
                    "the environment of process {pid} could not be read: {unread}"
                ))
                .hint("its owner and root can read it")
            })?,
            home: sources.home,
            ..Sources::default()
        };
        settings::complete(&mut sources, &cx.root, &cx.env);
    } else if let Some(path) = &args.env_file {
        let file = parse_env_file(&read_given(path)?);
        // What a file says comes on top of nothing: which shell will source it is not known.
        let mut environment = file.variables;
        environment.retain(|name, _| is_known_variable(name));
        sources = Sources {
            whose: path.display().to_string(),
            environment,
            remarks: file.remarks,
            home: sources.home,
            ..Sources::default()
        };
        settings::complete(&mut sources, &cx.root, &cx.env);
    }
    if let Some(path) = &args.conf {
        sources.conf = Some(ConfigFile {
            path: path.display().to_string(),
            text: read_given(path)?,
        });
        settings::complete(&mut sources, &cx.root, &cx.env);
    }
    let is_pid1 =
        args.pid == Some(1) || args.pid.is_none() && cx.root.is_live() && std::process::id() == 1;
    if args.env_file.is_none() && !is_pid1 {
        sources.pid1 = Some(settings::of_process(1, &cx.root));
    }
    Ok(sources)
}

fn read_given(path: &Path) -> Result<String> {
    read_text_file(path).map_err(|e| {
        Error::could_not_run(
            anyhow::Error::from(e).context(format!("could not read {}", path.display())),
        )
    })
}
