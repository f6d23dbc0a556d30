//! A node for the tests of checks that look at GPUs, drivers and libraries: lines of a capture, read as any other.

use std::fmt::Write as _;

use crate::checks::{Check, Expectations, Facts, Finding, Thresholds, Verdict};
use crate::nccl::config::Settings;
use crate::nccl::release::Release;
use crate::roles::{Rules, decide};
use crate::sys::{Env, HealthScope, Root, Scope, Tree, read_health, read_node, start_programs};

/// What a check is run on.
#[derive(Default)]
pub(in crate::checks) struct Given<'a> {
    /// Lines of a capture, without its first one.
    pub(in crate::checks) lines: String,
    /// `ofed>=5.8`, or `gpus=8`.
    pub(in crate::checks) expect: &'a [&'a str],
    /// NCCL's releases.
    pub(in crate::checks) releases: &'a [Release],
    /// Variables.
    pub(in crate::checks) env: &'a [(&'a str, &'a str)],
}

/// The verdict of a check.
pub(in crate::checks) fn run(check: &Check, given: &Given) -> Verdict {
    let tree = Tree::parse(&format!("rdmactl capture 1\n{}", given.lines)).unwrap();
    on_root(check, &Root::tree(tree, "test"), given)
}

/// The verdict of a check on a root.
pub(in crate::checks) fn on_root(check: &Check, root: &Root, given: &Given) -> Verdict {
    let env = Env::new(given.env.iter().map(|(n, v)| (n.into(), v.into())));
    let programs = start_programs(root, &env);
    let node = read_node(root, Scope::FULL);
    let health = read_health(root, &env, &node, programs, HealthScope::default());
    let mut expect = Expectations::default();
    for text in given.expect {
        if text.starts_with("gpus=") {
            expect.add(text).unwrap();
        } else {
            expect.requirements.push(text.parse().unwrap());
        }
    }
    (check.run)(&Facts {
        node: &node,
        decision: &decide(&node, &Rules::default()),
        health: &health,
        releases: given.releases,
        settings: &Settings::from_environment(given.env.iter().copied()),
        lint: None,
        expect: &expect,
        thresholds: &Thresholds::default(),
    })
}

/// The findings of a verdict; none of another one.
pub(in crate::checks) fn findings(verdict: Verdict) -> Vec<Finding> {
    match verdict {
        Verdict::Found(findings, _) => {
            for finding in &findings {
                let message = &finding.message;
                assert!(
                    !message.ends_with('.') && !message.contains('\n'),
                    "{message}"
                );
                assert!(!finding.evidence.is_empty(), "{message}");
            }
            findings
        }
        _ => Vec::new(),
    }
}

/// A node with NVIDIA GPUs at 0000:1b:00.0, 0000:2b:00.0, ... and their driver.
pub(in crate::checks) fn gpus(count: u32) -> String {
    let mut lines = "proc/driver/nvidia/version = NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb 17 22:55:48 UTC 2024\n\
        proc/sys/kernel/osrelease = 5.15.0-105-generic\nexists dev/null\nexists dev/nvidia0\n"
        .to_owned();
    for n in 1..=count {
        let address = format!("0000:{n}b:00.0");
        let dir = format!("sys/devices/pci0000:{n}a/{address}");
        let _ = write!(
            lines,
            "link sys/bus/pci/devices/{address} ../../../devices/pci0000:{n}a/{address}\n\
             {dir}/vendor = 0x10de\n{dir}/device = 0x2330\n{dir}/class = 0x030200\n{dir}/numa_node = 0\n\
             link {dir}/driver ../../../bus/pci/drivers/nvidia\n\
             file proc/driver/nvidia/gpus/{address}/information <<END\n\
             Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t GPU-{n}\nEND\n"
        );
    }
    lines
}

/// A ConnectX device with one InfiniBand port, `mlx5_N` at 0000:Nc:00.0.
pub(in crate::checks) fn hca(n: u32) -> String {
    let function = format!("sys/devices/pci0000:{n}a/0000:{n}c:00.0");
    let dir = format!("{function}/infiniband/mlx5_{n}");
    format!(
        "link sys/class/infiniband/mlx5_{n} ../../devices/pci0000:{n}a/0000:{n}c:00.0/infiniband/mlx5_{n}\n\
         link sys/bus/pci/devices/0000:{n}c:00.0 ../../../devices/pci0000:{n}a/0000:{n}c:00.0\n\
         {function}/vendor = 0x15b3\n{function}/class = 0x020700\n{function}/numa_node = 0\n\
         link {function}/driver ../../../bus/pci/drivers/mlx5_core\n\
         link {dir}/device ../..\n{dir}/node_type = 1: CA\n{dir}/ports/1/state = 4: ACTIVE\n\
         {dir}/ports/1/link_layer = InfiniBand\n{dir}/ports/1/rate = 400 Gb/sec (4X NDR)\n{dir}/ports/1/lid = 0x5\n\
         sys/class/infiniband_verbs/uverbs{n}/ibdev = mlx5_{n}\nexists dev/infiniband/uverbs{n}\n"
    )
}

/// An answer of `nvidia-smi` with status 0.
pub(in crate::checks) fn smi(stdout: &str) -> String {
    format!(
        "file commands/nvidia-smi-query.stdout <<END\n{stdout}END\ncommands/nvidia-smi-query.exit = 0\n"
    )
}

/// A healthy row of `nvidia-smi` for the GPU that [`gpus`] puts at 0000:Nb:00.0.
pub(in crate::checks) fn row(n: u32) -> String {
    format!(
        "{}, 00000000:{n}B:00.0, GPU-{n}, NVIDIA H100 80GB HBM3, 535.161.08, 81559, Enabled, Disabled, 0, No, No\n",
        n - 1
    )
}
