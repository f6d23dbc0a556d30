//! `rdmactl log`: reads NCCL logs and says which network was used and what the errors mean.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::Cx;
use crate::checks::Severity;
use crate::cli::TextFormat;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::joblog::{Job, NodeFacts, Scanner, findings, here, summary};
use crate::model::Node;
use crate::report::log as report;
use crate::sys::{Input, OpenError, Scope, Tail, read_node, wait_for_growth};

/// Bytes of the buffer for each input.
const BUFFER: usize = 256 << 10;
/// Paths by which NCCL tells that a peer memory module is there.
const PEER_MEMORY: [&str; 4] = [
    "sys/kernel/mm/memory_peers/nv_mem/version",
    "sys/kernel/mm/memory_peers/nv_mem_nc/version",
    "sys/kernel/mm/memory_peers/nvidia-peermem/version",
    "sys/module/nvidia_peermem/version",
];

/// Arguments of `log`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    rdmactl log job.out                       one log, of one or many ranks\n  \
    rdmactl log rank*.log.gz --format json    several, compressed, for programs\n  \
    kubectl logs -f job/train | rdmactl log --follow -\n\n\
The log is what NCCL_DEBUG=INFO (or WARN) writes; NCCL_DEBUG_SUBSYS=INIT,ENV,NET,BOOTSTRAP,GRAPH shows more. Prefixes of \
torchrun, mpirun, srun, kubectl and others are looked through.\n\n\
Exit codes: 0 nothing at or above --fail-on; 1 something, or no message of NCCL in the input; 2 wrong usage, or an input \
could not be read.")]
pub(crate) struct LogArgs {
    /// Logs, plain or gzip; `-` and none: standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Go on reading what is appended, and print findings as they first appear; ends with Ctrl-C
    #[arg(short, long)]
    follow: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: TextFormat,

    /// Severity from which on a finding makes the command fail
    #[arg(long, value_enum, default_value_t, value_name = "SEVERITY")]
    fail_on: FailOn,
}

/// `--fail-on`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum FailOn {
    /// Errors
    #[default]
    Error,
    /// Warnings and errors
    Warning,
    /// Anything
    Note,
}

impl FailOn {
    fn severity(self) -> Severity {
        match self {
            Self::Error => Severity::Error,
            Self::Warning => Severity::Warning,
            Self::Note => Severity::Note,
        }
    }
}

pub(crate) fn run(args: &LogArgs, cx: &mut Cx) -> Result<Exit> {
    let files = if args.files.is_empty() {
        vec![PathBuf::from("-")]
    } else {
        args.files.clone()
    };
    if files.iter().filter(|f| is_stdin(f)).count() > 1 {
        return Err(Error::could_not_run(anyhow::anyhow!(
            "standard input can be read only once"
        )));
    }
    let mut job = Job::default();
    let mut shown = Shown::default();
    let all_read = if args.follow && files.iter().all(|f| !is_stdin(f)) {
        follow_files(&files, args, &mut job, &mut shown, cx)?
    } else {
        read_files(&files, args, &mut job, &mut shown, cx)?
    };
    finish(args, &job, all_read, cx)
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn name_of(path: &Path) -> String {
    if is_stdin(path) {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

/// Reads each input to its end; true where all could be read.
fn read_files(
    files: &[PathBuf],
    args: &LogArgs,
    job: &mut Job,
    shown: &mut Shown,
    cx: &mut Cx,
) -> Result<bool> {
    let mut all_read = true;
    for path in files {
        let opened = if is_stdin(path) {
            Input::stdin()
        } else {
            Input::file(path)
        };
        let mut input = match opened {
            Ok(input) => input,
            Err(error) => {
                say_unreadable(cx, path, error);
                all_read = false;
                continue;
            }
        };
        let file = job.add_file(&name_of(path));
        let mut scanner = Scanner::new(BUFFER);
        loop {
            match input.read(scanner.space()) {
                Ok(0) => break,
                Ok(n) => scanner.advance(n, &mut |line, text| job.feed(file, line, text)),
                // What was readable of a log that is cut off is judged all the same.
                Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
                    cx.warn(&format!(
                        "{} ends in the middle of its compressed data; what was readable is judged",
                        name_of(path)
                    ));
                    break;
                }
                Err(e) => {
                    say_unreadable(cx, path, OpenError::Io(e));
                    all_read = false;
                    break;
                }
            }
            if args.follow {
                shown.news(args, job, cx)?;
            }
        }
        scanner.finish(&mut |line, text| job.feed(file, line, text));
        if args.follow {
            shown.news(args, job, cx)?;
        }
    }
    Ok(all_read)
}

fn say_unreadable(cx: &mut Cx, path: &Path, error: OpenError) {
    let name = name_of(path);
    let compressed = match &error {
        OpenError::Compressed(program) => Some(*program),
        OpenError::Io(_) => None,
    };
    let mut shown =
        Error::could_not_run(anyhow::Error::from(error).context(format!("could not read {name}")));
    if let Some(program) = compressed {
        shown = shown.hint(format!("{program} -dc {name} | rdmactl log -"));
    }
    shown.print(cx.err, cx.err_style);
}

/// Reads files for ever. Returns only where none can be opened.
fn follow_files(
    files: &[PathBuf],
    args: &LogArgs,
    job: &mut Job,
    shown: &mut Shown,
    cx: &mut Cx,
) -> Result<bool> {
    let mut tails = Vec::new();
    for path in files {
        match Tail::open(path) {
            Ok(tail) => tails.push((job.add_file(&name_of(path)), tail, Scanner::new(BUFFER))),
            Err(error) => say_unreadable(cx, path, OpenError::Io(error)),
        }
    }
    while !tails.is_empty() {
        let mut any = false;
        for (file, tail, scanner) in &mut tails {
            let read = tail.read(scanner.space()).map_err(|e| {
                Error::could_not_run(anyhow::Error::from(e).context("could not go on reading"))
            })?;
            if read > 0 {
                any = true;
                scanner.advance(read, &mut |line, text| job.feed(*file, line, text));
            }
        }
        if !any {
            shown.news(args, job, cx)?;
            wait_for_growth();
        }
    }
    Ok(false)
}

/// Findings that `--follow` has printed.
#[derive(Debug, Default)]
struct Shown {
    keys: std::collections::BTreeSet<(&'static str, String)>,
    messages: u64,
}

impl Shown {
    /// Prints what is new.
    fn news(&mut self, args: &LogArgs, job: &Job, cx: &mut Cx) -> Result<()> {
        if job.messages() == self.messages {
            return Ok(());
        }
        self.messages = job.messages();
        for finding in findings(job) {
            // The same fault on one more host or device is no news.
            let place = finding.finding.evidence.first().map(|e| e.source.clone());
            if !self.keys.insert((finding.id, place.unwrap_or_default())) {
                continue;
            }
            match args.format {
                TextFormat::Text => report::write_finding(&finding, cx.style, cx.out)?,
                TextFormat::Json => report::write_finding_json(&finding, cx.out)?,
            }
        }
        cx.out.flush()?;
        Ok(())
    }
}

/// Prints the report and decides how the command ends.
fn finish(args: &LogArgs, job: &Job, all_read: bool, cx: &mut Cx) -> Result<Exit> {
    if !all_read && job.messages() == 0 {
        return Ok(Exit::CouldNotRun);
    }
    let found = findings(job);
    let node = node_at_hand(cx);
    let seen = node.as_ref().map(|node| facts(node, cx));
    let here = seen
        .as_ref()
        .map(|facts| here(job, facts))
        .unwrap_or_default();
    let answer = report::Answer {
        summary: &summary(job),
        findings: &found,
        here: &here,
        host: node
            .as_ref()
            .and_then(|n| n.hostname.as_ref().ok())
            .map(String::as_str),
    };
    let no_message = job.messages() == 0;
    match args.format {
        TextFormat::Json => report::json(&answer, cx.out)?,
        TextFormat::Text if no_message => {}
        TextFormat::Text => report::text(&answer, args.follow, cx.style, cx.out)?,
    }
    if no_message {
        return Err(
            Error::no_answer(anyhow::anyhow!("no message of NCCL is in the input")).hint(
                "run the job with NCCL_DEBUG=INFO, and give the output of all ranks (or the files of NCCL_DEBUG_FILE)",
            ),
        );
    }
    if !all_read {
        return Ok(Exit::CouldNotRun);
    }
    let worst = found.iter().map(|f| f.finding.severity).max();
    Ok(if worst.is_some_and(|w| w >= args.fail_on.severity()) {
        Exit::Problems
    } else {
        Exit::Fine
    })
}

/// The node of `--root`, or the live one where it has RDMA devices.
fn node_at_hand(cx: &Cx) -> Option<Node> {
    const DEVICES: &str = "sys/class/infiniband";
    if cx.root.is_live() && !cx.root.list(DEVICES).is_ok_and(|names| !names.is_empty()) {
        return None;
    }
    Some(read_node(&cx.root, Scope::FULL))
}

fn facts<'a>(node: &'a Node, cx: &Cx) -> NodeFacts<'a> {
    let peer_memory: Vec<(&'static str, bool)> = PEER_MEMORY
        .iter()
        .filter_map(|p| Some((*p, cx.root.exists(p).ok()?)))
        .collect();
    NodeFacts {
        node,
        limits: cx.root.text("proc/self/limits"),
        meminfo: cx.root.text("proc/meminfo"),
        is_arm: cx.root.text("proc/cpuinfo").ok().and_then(|t| {
            if t.contains("CPU implementer") {
                Some(true)
            } else {
                t.contains("vendor_id").then_some(false)
            }
        }),
        peer_memory,
    }
}
