//! Runs one program with a limit of time and of output. A program that does not end is left behind, never waited for.

use std::io::Read;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use wait_timeout::ChildExt as _;

use crate::model::health::ProgramRun;

/// How long a program may take and how much it may print on each stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// From its start.
    pub(super) time: Duration,
    /// Bytes of each stream.
    pub(super) bytes: usize,
}

/// How long the streams of a program that has ended may stay open: something it started can hold them.
const LEFT_OPEN: Duration = Duration::from_millis(300);

/// A program that was started.
#[derive(Debug)]
pub(super) struct Running {
    path: String,
    child: Child,
    group: Pid,
    started: Instant,
    bounds: Bounds,
    out: Stream,
    err: Stream,
    too_much: Arc<AtomicBool>,
}

/// What a thread has read of a stream so far.
#[derive(Debug)]
struct Stream {
    bytes: Arc<Mutex<Vec<u8>>>,
    /// Hangs up when the stream has ended.
    end: Receiver<()>,
}

/// Starts a program in a process group of its own, with nothing on its standard input and a clean environment.
pub(super) fn start(
    path: &str,
    arguments: &[&str],
    search: &str,
    bounds: Bounds,
) -> Result<Running, ProgramRun> {
    let failed = |e: std::io::Error| ProgramRun::CouldNotStart(format!("{path}: {e}"));
    let mut child = Command::new(path)
        .args(arguments)
        .env_clear()
        .env("LC_ALL", "C")
        .env("PATH", search)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(failed)?;
    let started = Instant::now();
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
    let too_much = Arc::new(AtomicBool::new(false));
    let out = child.stdout.take();
    let err = child.stderr.take();
    let read = || -> std::io::Result<(Stream, Stream)> {
        Ok((
            collect(out, bounds.bytes, group, &too_much)?,
            collect(err, bounds.bytes, group, &too_much)?,
        ))
    };
    match read() {
        Ok((out, err)) => Ok(Running {
            path: path.to_owned(),
            child,
            group,
            started,
            bounds,
            out,
            err,
            too_much,
        }),
        Err(e) => {
            kill(group);
            Err(failed(e))
        }
    }
}

/// Reads a stream in a thread. Past the limit the program is killed and the rest is not read.
fn collect(
    stream: Option<impl Read + Send + 'static>,
    limit: usize,
    group: Pid,
    too_much: &Arc<AtomicBool>,
) -> std::io::Result<Stream> {
    const CHUNK: usize = 16 << 10;
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let (done, end) = channel();
    let (kept, too_much) = (Arc::clone(&bytes), Arc::clone(too_much));
    std::thread::Builder::new().spawn(move || {
        let _done = done;
        let Some(mut stream) = stream else { return };
        let mut chunk = vec![0; CHUNK];
        loop {
            match stream.read(&mut chunk) {
                Ok(0) => return,
                Ok(n) => {
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    if kept.len() + n > limit {
                        too_much.store(true, Ordering::SeqCst);
                        kill(group);
                        return;
                    }
                    kept.extend_from_slice(chunk.get(..n).unwrap_or_default());
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    })?;
    Ok(Stream { bytes, end })
}

/// Kills a whole process group. It has gone where that fails.
fn kill(group: Pid) {
    let _ = killpg(group, Signal::SIGKILL);
}

impl Stream {
    /// Waits for the end of the stream; false where it is still open.
    fn ended_by(&self, until: Instant) -> bool {
        let left = until.saturating_duration_since(Instant::now());
        self.end.recv_timeout(left) != Err(RecvTimeoutError::Timeout)
    }

    /// What was read so far; bytes that are not UTF-8 are replaced.
    fn text(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Running {
    /// When its time is over.
    pub(super) fn deadline(&self) -> Instant {
        self.started + self.bounds.time
    }

    /// Waits for the program as long as its limit allows, and takes its answer.
    pub(super) fn finish(mut self) -> ProgramRun {
        let left = self.deadline().saturating_duration_since(Instant::now());
        let status = match self.child.wait_timeout(left) {
            Ok(Some(status)) => status,
            Ok(None) => {
                // It may sit in an uninterruptible sleep, where not even this ends it: nobody waits for it.
                kill(self.group);
                return self.too_much().unwrap_or(ProgramRun::Hung {
                    limit: self.bounds.time,
                    path: self.path,
                });
            }
            Err(e) => {
                kill(self.group);
                return ProgramRun::CouldNotStart(format!("{}: {e}", self.path));
            }
        };
        let until = Instant::now() + LEFT_OPEN;
        let ended = [self.out.ended_by(until), self.err.ended_by(until)];
        if ended.contains(&false) {
            kill(self.group);
        }
        self.too_much().unwrap_or_else(|| ProgramRun::Ended {
            status: status.code(),
            signal: status.signal(),
            stdout: self.out.text(),
            stderr: self.err.text(),
            path: self.path,
        })
    }

    fn too_much(&self) -> Option<ProgramRun> {
        self.too_much
            .load(Ordering::SeqCst)
            .then(|| ProgramRun::TooMuch {
                limit: self.bounds.bytes,
                path: self.path.clone(),
            })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::{Duration, Instant};

    use super::{Bounds, start};
    use crate::model::health::ProgramRun;

    const BOUNDS: Bounds = Bounds {
        time: Duration::from_millis(700),
        bytes: 64 << 10,
    };

    /// Runs a script; also returns how long that took.
    fn run(script: &str, mode: u32) -> (ProgramRun, Duration) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fake");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let begin = Instant::now();
        let run = loop {
            let run = match start(path.to_str().unwrap(), &["-x"], "/usr/bin:/bin", BOUNDS) {
                Ok(running) => running.finish(),
                Err(run) => run,
            };
            // Another test's fork can hold the script open for writing for a moment.
            match &run {
                ProgramRun::CouldNotStart(why) if why.contains("Text file busy") => {}
                _ => break run,
            }
        };
        (run, begin.elapsed())
    }

    fn is_soon(taken: Duration) -> bool {
        taken < BOUNDS.time + Duration::from_secs(1)
    }

    #[test]
    fn an_answer_is_taken_whole() {
        let (run, _) = run("echo \"$1\"; echo oops >&2; exit 3", 0o755);
        let ProgramRun::Ended {
            status,
            signal,
            stdout,
            stderr,
            path,
        } = run
        else {
            panic!("{run:?}");
        };
        assert_eq!((status, signal), (Some(3), None));
        assert_eq!((stdout.as_str(), stderr.as_str()), ("-x\n", "oops\n"));
        assert!(path.ends_with("/fake"));
    }

    #[test]
    fn the_environment_is_clean_and_the_input_empty() {
        let (run, _) = run(
            "cat; env | grep -v '^_=\\|^PWD=\\|^SHLVL=\\|^OLDPWD='",
            0o755,
        );
        let ProgramRun::Ended { stdout, .. } = run else {
            panic!("{run:?}");
        };
        let mut lines: Vec<&str> = stdout.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["LC_ALL=C", "PATH=/usr/bin:/bin"]);
    }

    #[test]
    fn one_that_never_ends_is_left_behind() {
        for script in [
            "sleep 1000",
            "trap '' TERM INT HUP; while :; do sleep 1; done",
        ] {
            let (run, taken) = run(script, 0o755);
            assert!(matches!(run, ProgramRun::Hung { .. }), "{run:?}");
            assert!(is_soon(taken), "{taken:?}");
        }
    }

    #[test]
    fn one_that_prints_without_end_is_stopped() {
        for script in ["yes", "yes >&2"] {
            let (run, taken) = run(script, 0o755);
            assert!(matches!(run, ProgramRun::TooMuch { .. }), "{run:?}");
            assert!(is_soon(taken), "{taken:?}");
        }
    }

    #[test]
    fn a_death_by_signal_is_told() {
        let (run, _) = run("echo half; kill -SEGV $$", 0o755);
        assert!(
            matches!(&run, ProgramRun::Ended { status: None, signal: Some(11), stdout, .. } if stdout == "half\n"),
            "{run:?}"
        );
    }

    #[test]
    fn a_grandchild_that_keeps_the_pipe_holds_nothing_up() {
        for script in ["sleep 1000 & echo done", "setsid sleep 20 & echo done"] {
            let (run, taken) = run(script, 0o755);
            assert!(
                matches!(&run, ProgramRun::Ended { status: Some(0), stdout, .. } if stdout == "done\n"),
                "{run:?}"
            );
            assert!(is_soon(taken), "{taken:?}");
        }
    }

    #[test]
    fn one_that_cannot_be_started_says_why() {
        let (run, _) = run("true", 0o644);
        assert!(
            matches!(&run, ProgramRun::CouldNotStart(why) if why.contains("Permission denied")),
            "{run:?}"
        );
    }
}
