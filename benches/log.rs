//! `rdmactl log` against `grep -c NCCL` on the same file: ratio of the processor times, and peak memory.
//!
//! `cargo bench --bench log` makes 256 MiB, `cargo bench --bench log -- 1024` makes 1 GiB. One log is what a job prints
//! (a line in four is NCCL's), the other has nothing but NCCL's lines.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::format_push_string,
    clippy::cast_precision_loss,
    reason = "a benchmark starts programs, prints figures and fails by panicking"
)]

use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

const TRIES: usize = 3;
const NODES: usize = 64;
const GPUS: usize = 8;

fn main() {
    let mebibytes = std::env::args()
        .skip(1)
        .find_map(|a| a.parse().ok())
        .unwrap_or(256_u64);
    let dir = tempfile::tempdir().unwrap();
    println!(
        "{:<8} {:>6} {:>10} {:>10} {:>9} {:>7} {:>9}",
        "log", "MiB", "grep s", "rdmactl s", "MiB/s", "ratio", "peak MiB"
    );
    for (name, plain_lines) in [("job", 3), ("nccl", 0)] {
        let path = dir.path().join(name);
        write_log(&path, mebibytes << 20, plain_lines);
        let grep = best(|| run(Command::new("grep").args(["-c", "NCCL"]).arg(&path)));
        let own = best(|| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_rdmactl"));
            run(command.arg("--root").arg(dir.path()).arg("log").arg(&path))
        });
        println!(
            "{name:<8} {mebibytes:>6} {:>10.2} {:>10.2} {:>9.0} {:>7.2} {:>9.1}",
            grep.0.as_secs_f64(),
            own.0.as_secs_f64(),
            mebibytes as f64 / own.0.as_secs_f64(),
            own.0.as_secs_f64() / grep.0.as_secs_f64(),
            own.1 as f64 / 1024.0
        );
        std::fs::remove_file(&path).unwrap();
    }
}

/// The shortest time of some tries, and the greatest memory.
fn best(mut once: impl FnMut() -> (Duration, u64)) -> (Duration, u64) {
    let runs: Vec<_> = (0..TRIES).map(|_| once()).collect();
    (
        runs.iter().map(|r| r.0).min().unwrap(),
        runs.iter().map(|r| r.1).max().unwrap(),
    )
}

/// Runs a program; the processor time it took, and the `VmHWM` it was last seen with, in KiB.
///
/// Processor time is what a machine with other work on it does not change.
fn run(command: &mut Command) -> (Duration, u64) {
    let before = children();
    // Into a pipe: grep stops at the first match where it sees that nobody reads.
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let seen = status
            .lines()
            .find_map(|l| l.strip_prefix("VmHWM:"))
            .and_then(|l| l.split_whitespace().next()?.parse().ok())
            .unwrap_or(0);
        peak = peak.max(seen);
        std::thread::sleep(Duration::from_millis(5));
    }
    (children().checked_sub(before).unwrap(), peak)
}

/// Processor time of all programs that have ended.
fn children() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    [usage.user_time(), usage.system_time()]
        .iter()
        .map(|t| Duration::from_micros(t.num_microseconds().try_into().unwrap()))
        .sum()
}

/// A log of 512 ranks on 64 nodes, interleaved.
fn write_log(path: &Path, bytes: u64, plain_lines: usize) {
    let mut out = BufWriter::with_capacity(1 << 20, std::fs::File::create(path).unwrap());
    let mut written = 0;
    let mut line = String::new();
    for step in 0_usize.. {
        if written >= bytes {
            break;
        }
        line.clear();
        let (node, gpu) = (step / GPUS % NODES, step % GPUS);
        let rank = node * GPUS + gpu;
        let origin = format!(
            "gpu-{node:03}:{}:{} [{gpu}] NCCL INFO",
            4000 + gpu,
            4100 + gpu
        );
        let round = step / (GPUS * NODES);
        let text = match round {
            0 => format!("Bootstrap: Using bond0:10.20.{node}.{gpu}<0>"),
            1 => format!(
                "NET/IB : Using {}[RO]; OOB bond0:10.20.{node}.{gpu}<0>",
                "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE "
            ),
            2 => "Using network IB".to_owned(),
            3 => format!(
                "ncclCommInitRankConfig comm 0x9 rank {rank} nranks 512 cudaDev {gpu} nvmlDev {gpu} busId 1 commId 0x1 - Init START"
            ),
            n if n % 8 == 0 => format!(
                "NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn {n} mtu 5 GID 3 (0/302010AFFFF0000) fifoRkey=0x18"
            ),
            n if n % 8 == 1 => format!(
                "Trees [0] {}/-1/-1->{rank}->-1 [1] -1/-1/-1->{rank}->{n}",
                rank + 1
            ),
            n => format!(
                "Channel {:02}/0 : {rank}[{gpu}] -> {}[{gpu}] [send] via NET/IB/{gpu}/GDRDMA",
                n % 16,
                (rank + GPUS) % 512
            ),
        };
        line.push_str(&format!("{origin} {text}\n"));
        for plain in 0..plain_lines {
            line.push_str(&format!(
                "[2026-03-01 10:00:{:02}] iteration {step:>9}/ 1000000 | consumed samples: {:>12} | lm loss: 2.{:06} | grad norm: 0.{plain}\n",
                step % 60,
                step * 1024,
                step % 999_983
            ));
        }
        out.write_all(line.as_bytes()).unwrap();
        written += line.len() as u64;
    }
    out.flush().unwrap();
}
