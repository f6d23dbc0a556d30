//! How long `rdmactl env` takes on a node of nine RDMA devices with 256 GID rows each, against bare loops over the same files.
//!
//! Whole processes are timed, in turns, and only ratios of their medians are printed, of wall and of processor time: the loops are modes of this program, so
//! that the start of a process is in every number. Where `strace` is installed, system calls are counted, too.
//!
//!     cargo bench --bench env
//!
//! Alone, for a profiler: `env tree DIRECTORY` writes the node and the lists of files, and `env loop` reads the files that its
//! standard input names, one a line.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark makes a tree of files, starts programs and prints what it finds"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead as _, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

/// The program under test.
const RDMACTL: &str = env!("CARGO_BIN_EXE_rdmactl");
/// Runs of each program; the median counts.
const RUNS: usize = 41;
/// RDMA devices: the main one and one for each GPU.
const DEVICES: u32 = 9;
/// Rows of a GID table.
const ROWS: u32 = 256;
/// PCI functions beside the RDMA devices and GPUs: bridges, disks, what a server of this size has.
const OTHER_FUNCTIONS: u32 = 120;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["loop"] => read_files_of_stdin(),
        ["tree", directory] => _ = lists(&Node::new(Path::new(directory))),
        _ => compare(),
    }
}

/// Lists of the files that hold GID tables, of those that `env` reads, and of none.
fn lists(node: &Node) -> [PathBuf; 3] {
    [
        node.list("every-row", &node.gid_files()),
        node.list("needed", &node.files_env_reads()),
        node.list("nothing", &BTreeSet::new()),
    ]
}

fn compare() {
    let root = tempfile::tempdir().unwrap();
    let node = Node::new(root.path());
    let [every_row, needed, nothing] = lists(&node);
    let [env, every, need, start] = medians(&[
        node.env(&[]),
        looping(&every_row),
        looping(&needed),
        looping(&nothing),
    ]);
    for (what, other, target) in [
        ("read every row", every, ", target 0.50x"),
        ("read the files needed", need, ", target 2.00x"),
        ("start a process", start, ""),
    ] {
        let wall = env.wall.as_secs_f64() / other.wall.as_secs_f64();
        let cpu = env.cpu.as_secs_f64() / other.cpu.as_secs_f64();
        println!("env / {what}: {wall:.2}x (processor time {cpu:.2}x{target})");
    }
    for (what, program) in [
        ("env", node.env(&[])),
        ("read every row", looping(&every_row)),
        ("read the files needed", looping(&needed)),
        ("start a process", looping(&nothing)),
    ] {
        match system_calls(&program) {
            Some(count) => println!("system calls, {what}: {count}"),
            None => return println!("system calls: not counted, strace is not installed"),
        }
    }
}

/// The bare loop: opens, reads, closes.
fn read_files_of_stdin() {
    const PAGE: usize = 4096;
    let mut page = [0; PAGE];
    for path in std::io::stdin().lock().lines() {
        if let Ok(mut file) = File::open(path.unwrap()) {
            let _ = file.read(&mut page);
        }
    }
}

/// A program to be started: its arguments, and the file that is its standard input.
struct Program {
    arguments: Vec<String>,
    input: Option<PathBuf>,
}

impl Program {
    fn command(&self, before: &[&str]) -> Command {
        let mut words = before
            .iter()
            .copied()
            .chain(self.arguments.iter().map(String::as_str));
        let mut command = Command::new(words.next().unwrap());
        command
            .args(words)
            .env_clear()
            .env("HOME", "/nonexistent")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.stdin(match &self.input {
            Some(path) => Stdio::from(File::open(path).unwrap()),
            None => Stdio::null(),
        });
        command
    }
}

/// The bare loop over the files a list names.
fn looping(list: &Path) -> Program {
    let own = std::env::current_exe().unwrap();
    Program {
        arguments: vec![own.display().to_string(), "loop".to_owned()],
        input: Some(list.to_owned()),
    }
}

/// What a run takes.
#[derive(Clone, Copy)]
struct Cost {
    wall: Duration,
    /// Of the process, in user and kernel mode: a busy machine changes it least.
    cpu: Duration,
}

/// The median costs of each program; they take turns, so that what disturbs one disturbs all.
fn medians<const N: usize>(programs: &[Program; N]) -> [Cost; N] {
    let mut costs = [const { Vec::new() }; N];
    for _ in 0..RUNS {
        for (program, costs) in programs.iter().zip(&mut costs) {
            let mut command = program.command(&[]);
            let (cpu, began) = (cpu_of_children(), Instant::now());
            let status = command.status().unwrap();
            costs.push(Cost {
                wall: began.elapsed(),
                cpu: cpu_of_children().saturating_sub(cpu),
            });
            assert!(status.success(), "{:?}", program.arguments);
        }
    }
    costs.map(|costs: Vec<Cost>| {
        let median = |of: fn(&Cost) -> Duration| {
            let mut times: Vec<Duration> = costs.iter().map(of).collect();
            times.sort_unstable();
            times[times.len() / 2]
        };
        Cost {
            wall: median(|c| c.wall),
            cpu: median(|c| c.cpu),
        }
    })
}

/// The processor time of all children that have ended.
fn cpu_of_children() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    [usage.user_time(), usage.system_time()]
        .into_iter()
        .map(|t| {
            Duration::from_micros(u64::try_from(t.tv_sec() * 1_000_000 + t.tv_usec()).unwrap())
        })
        .sum()
}

/// The number of system calls of a run, from the summary of `strace -c`.
fn system_calls(program: &Program) -> Option<String> {
    let summary = tempfile::NamedTempFile::new().ok()?;
    let path = summary.path().to_str()?;
    let status = program
        .command(&["/usr/bin/strace", "-f", "-c", "-o", path])
        .status();
    status.ok().filter(std::process::ExitStatus::success)?;
    let text = fs::read_to_string(path).ok()?;
    let total = text.lines().find(|l| l.ends_with(" total"))?;
    Some(total.split_whitespace().nth(3)?.to_owned())
}

/// The node as a directory.
struct Node {
    root: PathBuf,
}

impl Node {
    /// Writes the node.
    fn new(root: &Path) -> Self {
        let node = Self {
            root: root.to_owned(),
        };
        node.write();
        node
    }

    fn env(&self, arguments: &[&str]) -> Program {
        let root = self.root.display().to_string();
        let mut all = vec![
            RDMACTL.to_owned(),
            "--root".to_owned(),
            root,
            "env".to_owned(),
        ];
        all.extend(arguments.iter().map(|a| (*a).to_owned()));
        Program {
            arguments: all,
            input: None,
        }
    }

    /// The files that `-vv` says were read.
    fn files_env_reads(&self) -> BTreeSet<PathBuf> {
        let output = self
            .env(&["-vv"])
            .command(&[])
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        text.lines()
            .filter_map(|l| l.strip_prefix("read /"))
            .map(|path| self.root.join(path))
            .filter(|path| path.is_file())
            .collect()
    }

    fn gid_files(&self) -> BTreeSet<PathBuf> {
        let mut files = BTreeSet::new();
        for device in 0..DEVICES {
            let port = self
                .root
                .join(format!("sys/class/infiniband/mlx5_{device}/ports/1"));
            for row in 0..ROWS {
                files.insert(port.join(format!("gids/{row}")));
                files.insert(port.join(format!("gid_attrs/types/{row}")));
                files.insert(port.join(format!("gid_attrs/ndevs/{row}")));
            }
        }
        files
    }

    /// Writes a list of files for the loop.
    fn list(&self, name: &str, files: &BTreeSet<PathBuf>) -> PathBuf {
        let text = files.iter().fold(String::new(), |mut text, file| {
            let _ = writeln!(text, "{}", file.display());
            text
        });
        let path = self.root.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn file(&self, path: &str, content: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{content}\n")).unwrap();
    }

    /// A link as the kernel makes it: relative, from two directories below `sys/class` or further down.
    fn link(&self, path: &str, target: &str) {
        let up = "../".repeat(path.matches('/').count());
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(format!("{up}{target}"), path).unwrap();
    }

    fn write(&self) {
        for device in 0..DEVICES {
            self.device(device);
        }
        for gpu in 1..DEVICES {
            let dir = format!("{}/0000:{:02x}:00.0", switch(gpu, 2), 0x80 + gpu);
            self.function(&dir, "0x10de", "0x20b2", "0x030200");
        }
        for n in 0..OTHER_FUNCTIONS {
            let dir = format!("sys/devices/pci0000:f0/0000:f0:{:02x}.{}", n / 8, n % 8);
            self.function(&dir, "0x8086", "0x09a2", "0x088000");
        }
        self.file("sys/devices/virtual/net/lo/ifindex", "1");
        self.link("sys/class/net/lo", "sys/devices/virtual/net/lo");
        self.file("commands/ip-addr.json", &addresses());
        self.file(
            "proc/net/route",
            "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n\
             eth0\t00000000\tFE00000A\t0003\t0\t0\t100\t00000000",
        );
        self.file("proc/net/ipv6_route", "");
        self.file("proc/self/status", "Name:\tbench\nUid:\t0\t0\t0\t0");
        self.file("proc/sys/kernel/hostname", "bench");
    }

    fn function(&self, dir: &str, vendor: &str, device: &str, class: &str) {
        for (name, value) in [
            ("vendor", vendor),
            ("device", device),
            ("class", class),
            ("numa_node", "0"),
        ] {
            self.file(&format!("{dir}/{name}"), value);
        }
        let address = dir.rsplit('/').next().unwrap();
        self.link(&format!("sys/bus/pci/devices/{address}"), dir);
    }

    fn device(&self, n: u32) {
        let function = format!("{}/0000:{:02x}:00.0", switch(n, 1), 0x40 + n);
        self.function(&function, "0x15b3", "0x101b", "0x020000");
        let netdev = format!("{function}/net/eth{n}");
        for (name, value) in [("ifindex", "2"), ("dev_port", "0"), ("operstate", "up")] {
            self.file(&format!("{netdev}/{name}"), value);
        }
        self.link(&format!("{netdev}/device"), &function);
        self.link(&format!("sys/class/net/eth{n}"), &netdev);
        let dir = format!("{function}/infiniband/mlx5_{n}");
        self.link(&format!("{dir}/device"), &function);
        self.link(&format!("sys/class/infiniband/mlx5_{n}"), &dir);
        self.file(&format!("{dir}/node_type"), "1: CA");
        self.file(
            &format!("sys/class/infiniband_verbs/uverbs{n}/ibdev"),
            &format!("mlx5_{n}"),
        );
        self.file(&format!("dev/infiniband/uverbs{n}"), "");
        let port = format!("{dir}/ports/1");
        for (name, value) in [
            ("state", "4: ACTIVE"),
            ("phys_state", "5: LinkUp"),
            ("rate", "200 Gb/sec (4X HDR)"),
            ("link_layer", "Ethernet"),
            ("lid", "0x0"),
            ("sm_lid", "0x0"),
        ] {
            self.file(&format!("{port}/{name}"), value);
        }
        let link_local = format!("fe80:0000:0000:0000:0000:00ff:fe00:{n:04x}");
        let routable = format!("0000:0000:0000:0000:0000:ffff:0a{n:02x}:0001");
        let zero = "0000:0000:0000:0000:0000:0000:0000:0000";
        for row in 0..ROWS {
            let (gid, kind, ndev) = match row {
                0 | 1 => (link_local.as_str(), row, format!("eth{n}")),
                2 | 3 => (routable.as_str(), row, format!("eth{n}")),
                // Reading these fails with EINVAL in a kernel; a file cannot.
                _ => (zero, row, String::new()),
            };
            let kind = if kind % 2 == 0 {
                "IB/RoCE v1"
            } else {
                "RoCE v2"
            };
            self.file(&format!("{port}/gids/{row}"), gid);
            self.file(&format!("{port}/gid_attrs/types/{row}"), kind);
            self.file(&format!("{port}/gid_attrs/ndevs/{row}"), &ndev);
        }
    }
}

/// Below which bridge a function sits: two devices and two GPUs share a switch, the main device has a root port of its own.
fn switch(n: u32, port: u32) -> String {
    if n == 0 {
        return "sys/devices/pci0000:00/0000:00:01.0".to_owned();
    }
    let host = 0x10 * n.div_ceil(2);
    format!(
        "sys/devices/pci0000:{host:02x}/0000:{host:02x}:01.0/0000:{:02x}:00.0/0000:{:02x}:{:02x}.0",
        host + 1,
        host + 2,
        2 * (n % 2) + port
    )
}

/// The output of `ip -j addr`.
fn addresses() -> String {
    let mut all = vec![
        r#"{"ifindex":1,"ifname":"lo","flags":["LOOPBACK","UP"],"addr_info":[{"family":"inet","local":"127.0.0.1","prefixlen":8}]}"#.to_owned(),
    ];
    all.extend((0..DEVICES).map(|n| {
        format!(
            r#"{{"ifindex":{0},"ifname":"eth{n}","flags":["UP","LOWER_UP"],"addr_info":[{{"family":"inet","local":"10.{n}.0.1","prefixlen":24}}]}}"#,
            n + 2
        )
    }));
    format!("[{}]", all.join(","))
}
