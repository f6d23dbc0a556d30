//! From the command line to a plan: reads the node, twice where the first, quick reading does not settle the answer.

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::Args;

use super::{Cx, select};
use crate::cli::SelectArgs;
use crate::error::{Error, Result};
use crate::lint::is_adoptable;
use crate::model::Node;
use crate::nccl::config::{ConfigFile, Settings, candidates};
use crate::nccl::release::Release;
use crate::plan::{
    Action, Library, Plan, PlanError, Policy, Profile, Request, Variable, build, extend,
};
use crate::roles::{Decision, decide};
use crate::sys::{Env, Scope, find_nccl, passwd_home, read_node};

/// What `env` and `exec` share.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) select: SelectArgs,

    /// Which variables: what makes RDMA work, or also timeout, queue pairs and log level
    #[arg(long, value_enum, default_value_t, help_heading = "Settings")]
    pub(crate) profile: Profile,

    /// How the GID is chosen on RoCE
    #[arg(long, value_enum, default_value_t, help_heading = "Settings")]
    pub(crate) gid_policy: Policy,

    /// Libraries whose variables are wanted
    #[arg(
        long = "for",
        value_enum,
        value_delimiter = ',',
        default_value = "nccl",
        value_name = "LIST",
        help_heading = "Settings"
    )]
    pub(crate) libraries: Vec<Library>,

    /// Leave variables alone that have another value already
    #[arg(long, help_heading = "Settings")]
    pub(crate) keep: bool,

    /// Set one more variable, or another value (can be repeated)
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment, help_heading = "Settings")]
    pub(crate) set: Vec<(String, String)>,

    /// Start from the settings that this process was started with, and take over those of the libraries that are not found out
    #[arg(long, value_name = "PID", help_heading = "Settings")]
    pub(crate) from_pid: Option<u32>,

    /// What to do when RDMA has no answer: plain sockets instead of an error
    #[arg(long, value_enum, value_name = "NETWORK", help_heading = "Settings")]
    pub(crate) fallback: Option<Fallback>,

    /// NCCL's release, where it is not the one that is found (2.27.7)
    #[arg(long, value_name = "VERSION", help_heading = "Settings")]
    pub(crate) nccl_version: Option<Release>,

    /// Say on standard error why each port is in or out, and how each value was chosen (as -v does)
    #[arg(long)]
    pub(crate) explain: bool,
}

/// `--fallback`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Fallback {
    /// NCCL's socket transport
    Tcp,
}

/// Reads `NAME=VALUE`.
fn assignment(text: &str) -> std::result::Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("NAME=VALUE is needed")?;
    let mut letters = name.chars();
    let first = letters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if !first || !letters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(format!("{name:?} is no name of a variable"));
    }
    if value.contains(['\0', '\n', '\r']) {
        return Err("the value must be one line".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// A plan with what it was made from.
pub(super) struct Planned {
    pub(super) node: Node,
    pub(super) decision: Decision,
    pub(super) plan: Plan,
}

/// Reads the node and plans; says warnings and notes on standard error.
pub(super) fn planned(args: &PlanArgs, cx: &mut Cx) -> Result<Planned> {
    let adopted = match args.from_pid {
        Some(pid) => adopt(pid, cx)?,
        None => BTreeMap::new(),
    };
    let releases = match args.nccl_version {
        Some(release) => vec![release],
        None => found_releases(cx),
    };
    let existing = existing_settings(cx);
    let mut node = read_node(&cx.root, Scope::SETTINGS);
    let mut rules = select::rules(&args.select, &node, cx)?;
    let mut decision = decide(&node, &rules);
    let mut result = plan_once(args, &node, &decision, &rules, &releases, &existing);
    let settled = result
        .as_ref()
        .is_ok_and(|p| p.policy.is_none_or(|p| p == Policy::Pin));
    if !settled {
        // The quick reading ends a GID table where a pinned answer cannot change any more; nothing else may rest on it.
        node = read_node(&cx.root, Scope::FULL);
        rules.hca = select::rules(&args.select, &node, cx)?.hca;
        decision = decide(&node, &rules);
        result = plan_once(args, &node, &decision, &rules, &releases, &existing);
    }
    if args.explain || cx.verbose > 0 {
        explain(&decision, cx);
    }
    let mut plan = match result {
        Ok(plan) => plan,
        Err(error) => match args.fallback {
            Some(Fallback::Tcp) => tcp(&node, &rules.main, &error, cx)?,
            None => return Err(refusal(&node, error)),
        },
    };
    extend(&mut plan, &args.libraries, &node, &decision);
    for (name, value) in adopted {
        if plan.variables.iter().all(|v| v.name != name) {
            plan.variables.push(Variable {
                name,
                action: Action::Set(value),
                why: "as the process of --from-pid has it".to_owned(),
            });
        }
    }
    say(args, &plan, cx);
    Ok(Planned {
        node,
        decision,
        plan,
    })
}

/// Puts another process's settings of the libraries in the place of this one's, and returns what can be taken over.
fn adopt(pid: u32, cx: &mut Cx) -> Result<BTreeMap<String, String>> {
    let theirs = super::settings::of_process(pid, &cx.root).map_err(|unread| {
        Error::could_not_run(anyhow::anyhow!(
            "the environment of process {pid} could not be read: {unread}"
        ))
        .hint("its owner and root can read it")
    })?;
    let adopted: BTreeMap<String, String> = theirs
        .into_iter()
        .filter(|(name, value)| is_adoptable(name) && !value.contains(char::is_control))
        .collect();
    let own = cx.env.vars().iter().filter(|(name, _)| !is_adoptable(name));
    let merged: Vec<(OsString, OsString)> = own
        .chain(&adopted)
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    cx.env = Env::new(merged);
    Ok(adopted)
}

fn plan_once(
    args: &PlanArgs,
    node: &Node,
    decision: &Decision,
    rules: &crate::roles::Rules,
    releases: &[Release],
    existing: &dyn Fn(Release) -> Settings,
) -> std::result::Result<Plan, PlanError> {
    build(&Request {
        node,
        decision,
        rules,
        existing,
        releases,
        policy: args.gid_policy,
        profile: args.profile,
        keep: args.keep,
        set: &args.set,
    })
}

/// The releases of the NCCL libraries a job could load; several when they differ.
pub(super) fn found_releases(cx: &mut Cx) -> Vec<Release> {
    let found = find_nccl(&cx.root, &cx.env);
    let mut releases: Vec<Release> = found.iter().map(|f| f.release).collect();
    releases.sort_unstable();
    releases.dedup();
    if cx.verbose > 0 {
        for library in &found {
            cx.note(&format!("NCCL {} at {}", library.release, library.path));
        }
    }
    releases
}

/// The settings that are there already, as each release would read them.
pub(super) fn existing_settings(cx: &Cx) -> impl Fn(Release) -> Settings + use<> {
    let env = cx.env.vars().clone();
    let home = passwd_home(&cx.root);
    // Every release's files are read at once: there are three or four of them.
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for release in [Release::OLDEST, Release::NEWEST] {
        for path in candidates(&env, home.as_deref(), release) {
            if let Ok(text) = cx.root.raw_text(path.trim_start_matches('/')) {
                files.insert(path, text);
            }
        }
    }
    move |release| {
        let used: Vec<ConfigFile> = candidates(&env, home.as_deref(), release)
            .into_iter()
            .filter_map(|path| {
                let text = files.get(&path)?.clone();
                Some(ConfigFile { path, text })
            })
            .collect();
        Settings::resolve(&env, &used, release)
    }
}

/// The socket transport on purpose.
fn tcp(node: &Node, main: &[String], error: &PlanError, cx: &mut Cx) -> Result<Plan> {
    let Some(plan) = crate::plan::sockets(node, main) else {
        return Err(refusal(node, PlanError::NoInterface));
    };
    cx.warn(&format!("RDMA is not used (--fallback tcp): {error}"));
    Ok(plan)
}

fn refusal(node: &Node, error: PlanError) -> Error {
    let mut hints = error.hints();
    if let Err(unread) = &node.hcas {
        hints.insert(0, format!("RDMA devices could not be listed: {unread}"));
    }
    if let (PlanError::NoInterface, Err(unread)) = (&error, &node.interfaces) {
        hints.insert(0, format!("addresses could not be read: {unread}"));
    }
    hints.into_iter().fold(Error::no_answer(error), Error::hint)
}

fn explain(decision: &Decision, cx: &mut Cx) {
    for port in &decision.ports {
        let gid = port.gid.as_ref().map_or_else(String::new, |row| {
            let netdev = row.ndev.as_deref().unwrap_or("an unknown netdev");
            format!("; GID {} is {} of {netdev}", row.index, row.gid.address())
        });
        let gpu = port.nearest().map_or_else(String::new, |distance| {
            format!("; {distance} to the nearest GPU")
        });
        cx.note(&format!(
            "{} {}: {}{gid}{gpu}",
            port.key,
            port.role.word(),
            port.reason
        ));
    }
}

fn say(args: &PlanArgs, plan: &Plan, cx: &mut Cx) {
    for warning in &plan.warnings {
        cx.warn(warning);
    }
    for note in &plan.notes {
        cx.note(note);
    }
    if args.explain || cx.verbose > 0 {
        for variable in &plan.variables {
            let what = match variable.value() {
                Some(value) => format!("{}={value}", variable.name),
                None => format!("{} unset", variable.name),
            };
            cx.note(&format!("{what}: {}", variable.why));
        }
    }
}
