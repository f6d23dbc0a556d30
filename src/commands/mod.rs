//! One file a command: its arguments and `run`, which reads, decides and prints. Here: what they share.

pub(crate) mod capture;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod devices;
pub(crate) mod env;
pub(crate) mod exec;
pub(crate) mod explain;
pub(crate) mod gids;
pub(crate) mod gpus;
pub(crate) mod lint;
pub(crate) mod log;
mod plan;
mod select;
pub(crate) mod settings;
pub(crate) mod topo;

use std::io::Write;

use clap::{CommandFactory as _, Parser as _};

use crate::World;
use crate::cli::{Cli, Command};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::report::{ColorChoice, Style, escape};
use crate::sys::{Env, Root};

/// What a command works with.
pub(crate) struct Cx<'a> {
    /// The node.
    pub(crate) root: Root,
    /// The environment: this process's, or the one a capture holds.
    pub(crate) env: Env,
    /// Data.
    pub(crate) out: &'a mut dyn Write,
    /// Talk.
    pub(crate) err: &'a mut dyn Write,
    /// Colour on standard output.
    pub(crate) style: Style,
    /// Colour on standard error.
    pub(crate) err_style: Style,
    /// Errors only.
    pub(crate) quiet: bool,
    /// 1: say why; 2: say every file.
    pub(crate) verbose: u8,
}

impl Cx<'_> {
    /// Says something on standard error, unless `--quiet`.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.quiet {
            let _ = writeln!(self.err, "{} {}", self.err_style.dim("note:"), escape(text));
        }
    }

    /// Warns on standard error, unless `--quiet`.
    pub(crate) fn warn(&mut self, text: &str) {
        if !self.quiet {
            let _ = writeln!(
                self.err,
                "{} {}",
                self.err_style.warning("warning:"),
                escape(text)
            );
        }
    }
}

/// Parses the command line, opens the root and runs the command.
pub(crate) fn run(world: World, out: &mut dyn Write, err: &mut dyn Write) -> Exit {
    let env = Env::new(world.env);
    let no_color = env.var("NO_COLOR").is_some_and(|v| !v.is_empty());
    let style = |choice, terminal| Style::new(choice, no_color, terminal);
    let cli = match Cli::try_parse_from(&world.args) {
        Ok(cli) => cli,
        Err(error) => {
            return usage(
                &error,
                &world.args,
                style(ColorChoice::Auto, world.stdout_is_terminal),
                style(ColorChoice::Auto, world.stderr_is_terminal),
                out,
                err,
            );
        }
    };
    let err_style = style(cli.global.color, world.stderr_is_terminal);
    let result = open_root(&cli, &env).and_then(|(root, env)| {
        let mut cx = Cx {
            root,
            env,
            out,
            err,
            style: style(cli.global.color, world.stdout_is_terminal),
            err_style,
            quiet: cli.global.quiet,
            verbose: cli.global.verbose,
        };
        dispatch(&cli.command, &mut cx)
    });
    match result {
        Ok(exit) => exit,
        Err(error) if error.is_broken_pipe() => Exit::Fine,
        Err(error) => {
            fail_closed(&cli.command, out);
            error.print(err, err_style);
            error.exit()
        }
    }
}

fn dispatch(command: &Command, cx: &mut Cx) -> Result<Exit> {
    let result = match command {
        Command::Check(args) => check::run(args, cx),
        Command::Env(args) => env::run(args, cx),
        Command::Lint(args) => lint::run(args, cx),
        Command::Exec(args) => exec::run(args, cx),
        Command::Devices(args) => devices::run(args, cx),
        Command::Gids(args) => gids::run(args, cx),
        Command::Gpus(args) => gpus::run(args, cx),
        Command::Topo(args) => topo::run(args, cx),
        Command::Log(args) => log::run(args, cx),
        Command::Capture(args) => capture::run(args, cx),
        Command::Explain(args) => explain::run(args, cx),
        Command::Completions(args) => completions::run(args, cx),
        Command::Man(_) => completions::man(cx),
    };
    cx.out.flush()?;
    for path in cx.root.traced() {
        let _ = writeln!(cx.err, "read /{}", escape(&path));
    }
    result
}

/// Opens the root, and takes the environment of a capture that holds one.
fn open_root(cli: &Cli, env: &Env) -> Result<(Root, Env)> {
    const VERBOSE_FILES: u8 = 2;
    let mut root = match &cli.global.root {
        None => Root::live(),
        Some(path) => Root::open(path).map_err(|e| {
            Error::could_not_run(e)
                .hint("--root takes a node's directory, or a file that `rdmactl capture` wrote")
        })?,
    };
    let env = match root.captured_env() {
        Some(vars) => Env::new(vars.iter().map(|(k, v)| (k.into(), v.into()))),
        None => env.clone(),
    };
    if cli.global.verbose >= VERBOSE_FILES {
        root.start_tracing();
    }
    Ok((root, env))
}

/// `env` must stop a script that evaluates its output, whatever the reason.
fn fail_closed(command: &Command, out: &mut dyn Write) {
    if let Command::Env(args) = command {
        let _ = out.write_all(args.format.refusal().as_bytes());
    }
}

/// Prints help, the version, or what is wrong with the command line.
fn usage(
    error: &clap::Error,
    args: &[std::ffi::OsString],
    out_style: Style,
    err_style: Style,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Exit {
    let text = |style: Style| {
        let rendered = error.render();
        if style.is_colored() {
            rendered.ansi().to_string()
        } else {
            rendered.to_string()
        }
    };
    if error.use_stderr() {
        // `eval $(rdmactl env --no-such-option)` must stop as well.
        if named_command(args).as_deref() == Some("env") {
            let _ = out.write_all(env::refusal_for(args).as_bytes());
        }
        let _ = err.write_all(text(err_style).as_bytes());
        return Exit::CouldNotRun;
    }
    match out.write_all(text(out_style).as_bytes()) {
        Ok(()) => Exit::Fine,
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Exit::Fine,
        Err(_) => Exit::CouldNotRun,
    }
}

/// The command of a command line that could not be parsed: the first word that is the name of one.
fn named_command(args: &[std::ffi::OsString]) -> Option<String> {
    let program = Cli::command();
    args.iter()
        .skip(1)
        .map(|a| a.to_string_lossy().into_owned())
        .take_while(|a| a != "--")
        .find(|a| program.find_subcommand(a).is_some())
}

/// Says on standard error which whole parts of the node could not be read.
pub(crate) fn say_unread(cx: &mut Cx, node: &crate::model::Node) {
    if let Err(unread) = &node.hcas {
        let text = if unread.is_absent() {
            format!(
                "no RDMA device: /{} does not exist (is the driver loaded?)",
                unread.path
            )
        } else {
            format!("RDMA devices could not be listed: {unread}")
        };
        cx.warn(&text);
    } else if node.hcas().is_empty() {
        cx.warn("no RDMA device: /sys/class/infiniband is empty");
    }
    let parts = [
        ("network devices", node.netdevs.as_ref().err()),
        ("addresses", node.interfaces.as_ref().err()),
        ("PCI functions", node.gpus.as_ref().err()),
    ];
    let unread: Vec<String> = parts
        .into_iter()
        .filter_map(|(what, unread)| Some(format!("{what} could not be read: {}", unread?)))
        .collect();
    for text in unread {
        cx.warn(&text);
    }
}
