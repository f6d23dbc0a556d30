//! Vendor programs: fixed arguments, no shell, a limit of time and of output, beside the reading of sysfs.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use super::run::{self, Bounds, Running};
use crate::model::health::{Program, ProgramRun};
use crate::sys::{Env, Root};

/// Where the RDMA stack says its version.
const OFED_INFO: Program = Program {
    name: "ofed_info",
    argv: &["ofed_info", "-s"],
    fallback: &[],
};

/// The GPUs as their driver sees them. The last fields came with release 450; for older ones MIG's place is taken by a
/// field whose values are no switch.
const NVIDIA_SMI_QUERY: Program = Program {
    name: "nvidia-smi-query",
    argv: &[
        "nvidia-smi",
        "--query-gpu=index,pci.bus_id,uuid,name,driver_version,memory.total,persistence_mode,mig.mode.current,\
         ecc.errors.uncorrected.volatile.total,remapped_rows.pending,remapped_rows.failure",
        "--format=csv,noheader,nounits",
    ],
    fallback: &[
        "nvidia-smi",
        "--query-gpu=index,pci.bus_id,uuid,name,driver_version,memory.total,persistence_mode,pstate,\
         ecc.errors.uncorrected.volatile.total",
        "--format=csv,noheader,nounits",
    ],
};

/// How the driver sees the distances; only asked for by who shows them.
pub(crate) const NVIDIA_SMI_TOPO: Program = Program {
    name: "nvidia-smi-topo",
    argv: &["nvidia-smi", "topo", "-m"],
    fallback: &[],
};

const BOUNDS: Bounds = Bounds {
    time: Duration::from_secs(5),
    bytes: 4 << 20,
};

/// Why a program that was looked for was not run.
const NOT_INSTALLED: &str = "not installed";

/// Where programs are looked for first when running as root, so that nobody's PATH decides what root runs.
const DIRECTORIES: [&str; 6] = [
    "/usr/bin",
    "/usr/sbin",
    "/bin",
    "/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
];

/// Programs that were started and are running, or what is known of them already.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    asked: Vec<(Program, Asked)>,
}

#[derive(Debug)]
enum Asked {
    Running(Running),
    Known(ProgramRun),
}

/// Starts the vendor programs that `check` asks; in an offline copy their recorded answers are taken.
pub(crate) fn start_programs(root: &Root, env: &Env) -> Programs {
    start(root, env, &[OFED_INFO, NVIDIA_SMI_QUERY])
}

/// Starts `nvidia-smi` alone.
pub(crate) fn start_nvidia_smi(root: &Root, env: &Env) -> Programs {
    start(root, env, &[NVIDIA_SMI_QUERY])
}

/// Starts programs on the live machine. Under another root they would be this machine's or this container's, and say
/// nothing about that root.
pub(crate) fn start(root: &Root, env: &Env, programs: &[Program]) -> Programs {
    let ask = |program: &Program| {
        if root.is_offline() {
            Asked::Known(recorded(root, program.name))
        } else if root.is_live() {
            let is_root = is_root(root);
            match find(program.argv, env, is_root) {
                Some(path) => launch(&path, program.argv, BOUNDS),
                None => Asked::Known(ProgramRun::NotFound(NOT_INSTALLED)),
            }
        } else {
            Asked::Known(ProgramRun::NotFound(
                "not started: --root is not this machine",
            ))
        }
    };
    Programs {
        asked: programs.iter().map(|p| (*p, ask(p))).collect(),
    }
}

impl Programs {
    /// Waits for the programs as long as their limit allows, and takes their answers.
    pub(crate) fn finish(self, root: &Root) -> BTreeMap<&'static str, ProgramRun> {
        self.asked
            .into_iter()
            .map(|(program, asked)| {
                let run = match asked {
                    Asked::Known(run) => run,
                    Asked::Running(running) => {
                        let deadline = running.deadline();
                        with_fallback(&program, running.finish(), deadline)
                    }
                };
                record(root, program.name, &run);
                (program.name, run)
            })
            .collect()
    }
}

fn launch(path: &str, argv: &[&str], bounds: Bounds) -> Asked {
    let arguments = argv.get(1..).unwrap_or_default();
    match run::start(path, arguments, &DIRECTORIES.join(":"), bounds) {
        Ok(running) => Asked::Running(running),
        Err(run) => Asked::Known(run),
    }
}

/// Asks a release that does not know a field of the query again, without the newer fields.
fn with_fallback(program: &Program, run: ProgramRun, deadline: Instant) -> ProgramRun {
    const UNKNOWN_FIELD: &str = "is not a valid field to query";
    match &run {
        ProgramRun::Ended {
            stdout,
            stderr,
            path,
            ..
        } if !program.fallback.is_empty()
            && (stdout.contains(UNKNOWN_FIELD) || stderr.contains(UNKNOWN_FIELD)) =>
        {
            let bounds = Bounds {
                time: deadline.saturating_duration_since(Instant::now()),
                ..BOUNDS
            };
            match launch(path, program.fallback, bounds) {
                Asked::Running(running) => running.finish(),
                Asked::Known(run) => run,
            }
        }
        _ => run,
    }
}

/// Whether this process runs as root.
fn is_root(root: &Root) -> bool {
    root.text("proc/self/status").is_ok_and(|status| {
        status
            .lines()
            .find_map(|l| l.strip_prefix("Uid:"))
            .and_then(|ids| ids.split_whitespace().nth(1))
            == Some("0")
    })
}

/// Finds a program. Relative entries of PATH are never followed.
fn find(argv: &[&str], env: &Env, is_root: bool) -> Option<String> {
    let name = argv.first()?;
    let fixed = || {
        DIRECTORIES
            .iter()
            .map(|dir| format!("{dir}/{name}"))
            .find(|path| is_program(Path::new(path)))
    };
    let path: Vec<&str> = env
        .var("PATH")
        .unwrap_or_default()
        .split(':')
        .filter(|dir| dir.starts_with('/'))
        .collect();
    let searched = || {
        which::which_in(name, Some(path.join(":")), "/")
            .ok()
            .map(|path| path.display().to_string())
    };
    if is_root {
        fixed().or_else(searched)
    } else {
        searched().or_else(fixed)
    }
}

fn is_program(path: &Path) -> bool {
    const ANY_EXECUTE: u32 = 0o111;
    std::fs::metadata(path)
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & ANY_EXECUTE != 0)
}

/// The recorded answer of an offline copy. `NAME.exit` holds the exit status, or what became of the program.
fn recorded(root: &Root, name: &str) -> ProgramRun {
    let file = |kind: &str| format!("commands/{name}.{kind}");
    let exit = root.text(&file("exit")).unwrap_or_default();
    let path = format!("/{}", file("stdout"));
    let (word, rest) = exit.split_once(' ').unwrap_or((&exit, ""));
    match word {
        "hung" => {
            let limit = rest.parse().map_or(BOUNDS.time, Duration::from_secs);
            let path = format!("/{}", file("exit"));
            return ProgramRun::Hung { limit, path };
        }
        "too-much" => {
            let limit = rest.parse().unwrap_or(BOUNDS.bytes);
            let path = format!("/{}", file("exit"));
            return ProgramRun::TooMuch { limit, path };
        }
        "not-found" => return ProgramRun::NotFound(NOT_INSTALLED),
        "not-started" => return ProgramRun::CouldNotStart(rest.to_owned()),
        _ => {}
    }
    let Ok(stdout) = root.raw_text(&file("stdout")) else {
        return ProgramRun::NotFound("not in the offline copy");
    };
    let signal = (word == "signal").then(|| rest.parse().ok()).flatten();
    ProgramRun::Ended {
        status: word.parse().ok().or_else(|| exit.is_empty().then_some(0)),
        signal,
        stdout,
        stderr: root.raw_text(&file("stderr")).unwrap_or_default(),
        path,
    }
}

/// Puts an answer into a capture, in the form that [`recorded`] reads.
fn record(root: &Root, name: &str, run: &ProgramRun) {
    let put =
        |kind: &str, text: &str| root.note(&format!("commands/{name}.{kind}"), text.as_bytes());
    match run {
        ProgramRun::NotFound(why) if *why == NOT_INSTALLED => put("exit", "not-found\n"),
        ProgramRun::NotFound(_) => {}
        ProgramRun::CouldNotStart(why) => put("exit", &format!("not-started {why}\n")),
        ProgramRun::Hung { limit, .. } => put("exit", &format!("hung {}\n", limit.as_secs())),
        ProgramRun::TooMuch { limit, .. } => put("exit", &format!("too-much {limit}\n")),
        ProgramRun::Ended {
            status,
            signal,
            stdout,
            stderr,
            ..
        } => {
            put("stdout", stdout);
            if !stderr.is_empty() {
                put("stderr", stderr);
            }
            let exit = match (status, signal) {
                (Some(status), _) => status.to_string(),
                (None, Some(signal)) => format!("signal {signal}"),
                (None, None) => "unknown".to_owned(),
            };
            put("exit", &format!("{exit}\n"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{
        Asked, BOUNDS, NVIDIA_SMI_QUERY, Programs, find, launch, record, recorded, start_programs,
    };
    use crate::model::health::ProgramRun;
    use crate::sys::{Env, Root, Tree};

    fn script(dir: &std::path::Path, name: &str, text: &str, mode: u32) -> String {
        use std::os::unix::fs::PermissionsExt as _;
        let path = dir.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path.display().to_string()
    }

    #[test]
    fn what_was_recorded_is_read_back() {
        let path = "/commands/x.stdout".to_owned();
        let ended = |status, signal, stderr: &str| ProgramRun::Ended {
            status,
            signal,
            stdout: "out\n".to_owned(),
            stderr: stderr.to_owned(),
            path: path.clone(),
        };
        for run in [
            ended(Some(0), None, ""),
            ended(Some(255), None, "err\n"),
            ended(None, Some(11), ""),
            ProgramRun::Hung {
                limit: Duration::from_secs(5),
                path: "/commands/x.exit".to_owned(),
            },
            ProgramRun::TooMuch {
                limit: 4096,
                path: "/commands/x.exit".to_owned(),
            },
            ProgramRun::CouldNotStart("/bin/x: Permission denied".to_owned()),
            ProgramRun::NotFound("not in the offline copy"),
            ProgramRun::NotFound("not installed"),
        ] {
            let mut root = Root::tree(Tree::default(), "");
            root.start_recording();
            record(&root, "x", &run);
            let replay = Root::tree(root.recorded(), "");
            assert_eq!(recorded(&replay, "x"), run);
        }
    }

    #[test]
    fn an_offline_copy_starts_nothing_and_another_root_neither() {
        let offline = Root::tree(Tree::default(), "");
        let dir = tempfile::tempdir().unwrap();
        let other = Root::open(dir.path()).unwrap();
        for (root, why) in [
            (offline, "not in the offline copy"),
            (other, "not started: --root is not this machine"),
        ] {
            let runs = start_programs(&root, &Env::default()).finish(&root);
            assert_eq!(runs.len(), 2);
            assert!(
                runs.values().all(|r| *r == ProgramRun::NotFound(why)),
                "{runs:?}"
            );
        }
    }

    #[test]
    fn relative_directories_and_files_that_are_no_programs_are_not_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = script(dir.path(), "rdmactl-fake", "true", 0o755);
        script(dir.path(), "rdmactl-plain", "true", 0o644);
        let env = |text: String| Env::new([("PATH".into(), text.into())]);
        let here = env(format!(".:{}", dir.path().display()));
        assert_eq!(find(&["rdmactl-fake"], &here, false), Some(path.clone()));
        assert_eq!(find(&["rdmactl-fake"], &here, true), Some(path));
        assert_eq!(find(&["rdmactl-plain"], &here, false), None);
        assert_eq!(
            find(&["rdmactl-fake"], &env(".:relative".to_owned()), false),
            None
        );
    }

    #[test]
    fn an_old_release_is_asked_again_with_fewer_fields() {
        let dir = tempfile::tempdir().unwrap();
        let text = "case $1 in *mig*) echo 'Field \"mig.mode.current\" is not a valid field to query.'; exit 2;; esac\n\
                    echo '0, 00000000:1B:00.0, GPU-1, Tesla V100, 418.67, 32480, Enabled, P0, 0'";
        let path = script(dir.path(), "nvidia-smi", text, 0o755);
        let asked = loop {
            match launch(&path, NVIDIA_SMI_QUERY.argv, BOUNDS) {
                Asked::Known(ProgramRun::CouldNotStart(why)) if why.contains("busy") => {}
                asked => break asked,
            }
        };
        let root = Root::tree(Tree::default(), "");
        let programs = Programs {
            asked: vec![(NVIDIA_SMI_QUERY, asked)],
        };
        let runs = programs.finish(&root);
        assert!(
            matches!(&runs["nvidia-smi-query"], ProgramRun::Ended { status: Some(0), stdout, .. } if stdout.starts_with("0, ")),
            "{runs:?}"
        );
    }
}
