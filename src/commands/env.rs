//! `rdmactl env`: the NCCL settings for this node, as text to evaluate.

use std::ffi::OsString;

use clap::{Args, ValueEnum as _};

use super::Cx;
use super::plan::{PlanArgs, planned};
use crate::error::Result;
use crate::exit::Exit;
use crate::report::env::{EnvFormat, write};

/// Arguments of `env`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    eval \"$(rdmactl env)\" || exit 1              in a job's entrypoint\n  \
    rdmactl env --gpus 4 --profile full           for the first four GPUs, with all settings\n  \
    rdmactl env --format dotenv > nccl.env        for docker --env-file\n  \
    rdmactl env --for nccl,ucx,gloo               also in other libraries' names\n\n\
Where there is no correct answer, the exit code is 1 and the output is the single command `false;`, so that a script \
that evaluates it stops.")]
pub(crate) struct EnvArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: EnvFormat,

    #[command(flatten)]
    pub(crate) plan: PlanArgs,
}

pub(crate) fn run(args: &EnvArgs, cx: &mut Cx) -> Result<Exit> {
    stop_scripts_on_panic(args.format.refusal());
    let planned = planned(&args.plan, cx)?;
    let mut text = Vec::new();
    let cannot = write(&planned.plan, args.format, &planned.node, &mut text)?;
    // In one piece: half an environment is worse than none.
    cx.out.write_all(&text)?;
    for name in cannot {
        if cx.env.var(&name.0).is_some() {
            cx.warn(&format!(
                "{} must not be set, and this format cannot unset it",
                name.0
            ));
        }
    }
    Ok(Exit::Fine)
}

/// Even a bug of this program must not let a script go on without its settings.
fn stop_scripts_on_panic(refusal: &'static str) {
    use std::io::Write as _;
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        // Nothing of the answer is out yet: it is written in one piece at the end.
        let _ = std::io::stdout().write_all(refusal.as_bytes());
        report(info);
    }));
}

/// What to print when the command line itself is wrong: judged by the `--format` that stands in it, if any.
pub(crate) fn refusal_for(args: &[OsString]) -> &'static str {
    let words: Vec<String> = args
        .iter()
        .map(|a| a.to_string_lossy().into_owned())
        .collect();
    let given =
        words
            .iter()
            .enumerate()
            .find_map(|(i, word)| match word.strip_prefix("--format") {
                Some("") => words.get(i + 1).cloned(),
                Some(value) => value.strip_prefix('=').map(str::to_owned),
                None => None,
            });
    given
        .and_then(|name| EnvFormat::from_str(&name, true).ok())
        .unwrap_or_default()
        .refusal()
}
