//! The command line: options, groups and help texts. No logic.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::commands::{
    capture, check, completions, devices, env, exec, explain, gids, gpus, lint, log, topo,
};
use crate::report::ColorChoice;

/// Preflight checks and correct NCCL settings for GPU nodes with RDMA NICs.
///
/// rdmactl reads the node it runs on (sysfs, procfs, a few vendor programs), says what is wrong with it for multi-node
/// training, and prints the NCCL settings that are right on this node now. It changes nothing.
#[derive(Debug, Parser)]
#[command(
    name = "rdmactl",
    version,
    propagate_version = false,
    disable_help_subcommand = true,
    after_help = "Exit codes: 0 fine; 1 problems found, or no usable answer; 2 wrong usage, or could not run; \
                  3 with --strict, some checks could not be carried out."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Read this directory or capture file instead of the live machine
    ///
    /// A directory holds a node's sys/ and proc/ (for example /host in a DaemonSet); with a folder commands/ in it, it is
    /// an offline copy and nothing live is asked. A file is what `rdmactl capture` wrote.
    #[arg(long, global = true, value_name = "DIR|FILE")]
    pub(crate) root: Option<PathBuf>,

    /// Say less on standard error: errors only
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,

    /// Say more on standard error: why (-v), and every file that is read (-vv)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: ColorChoice,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find what keeps this node from training at full speed, with evidence and fixes
    Check(check::CheckArgs),
    /// Print the NCCL settings for this node, as text to evaluate
    Env(env::EnvArgs),
    /// Run a program with the NCCL settings for this node
    Exec(exec::ExecArgs),
    /// Check an existing NCCL configuration against this node, and say what NCCL would do with it
    Lint(lint::LintArgs),
    /// List RDMA ports: netdev, role and why, state, rate, PCI, NUMA node, nearest GPU
    #[command(visible_alias = "nics")]
    Devices(devices::DevicesArgs),
    /// List GID tables: index, GID, IPv4 address, RoCE version, netdev, usable or why not
    Gids(gids::GidsArgs),
    /// List GPUs and their driver, from nvidia-smi or from PCI
    Gpus(gpus::GpusArgs),
    /// Show how far each GPU is from each RDMA port
    Topo(topo::TopoArgs),
    /// Read an NCCL log: the network that was really used, and what its errors mean
    Log(log::LogArgs),
    /// Write this node as one text file that --root replays anywhere
    Capture(capture::CaptureArgs),
    /// Print a check's page: what it reads, why it matters, what to do
    Explain(explain::ExplainArgs),
    /// Print the completion script of a shell
    Completions(completions::CompletionsArgs),
    /// Print the manual page
    Man(completions::ManArgs),
}

/// How the ports are chosen; what no file of the node says.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Choice of ports")]
pub(crate) struct SelectArgs {
    /// Use these ports and no others, in the grammar of `NCCL_IB_HCA` (`=mlx5_1,mlx5_2:1`, `^mlx5_0`)
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) hca: Option<String>,

    /// Leave these out: exact device names, with `:PORT` for one port (can be repeated)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) exclude: Vec<String>,

    /// Interface of the host's ordinary traffic, instead of the default route's (can be repeated)
    #[arg(long, value_name = "IFNAME")]
    pub(crate) main: Vec<String>,

    /// Link layer of the data ports, where a node has both
    #[arg(long, value_enum, value_name = "LAYER")]
    pub(crate) link_layer: Option<LinkLayerArg>,

    /// Use the port under the default route even if better ports are merely broken
    #[arg(long)]
    pub(crate) allow_main: bool,

    /// GPUs in use: a number (the first N) or a list of indexes (`0,1,2,3`); the ports nearest to them are used
    ///
    /// Without it, `CUDA_VISIBLE_DEVICES` and `NVIDIA_VISIBLE_DEVICES` are followed.
    #[arg(long, value_name = "N|LIST")]
    pub(crate) gpus: Option<String>,
}

/// `--link-layer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LinkLayerArg {
    /// InfiniBand
    #[value(alias = "infiniband")]
    Ib,
    /// RoCE
    #[value(alias = "ethernet")]
    Roce,
}

/// Text or JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum TextFormat {
    /// A table for people
    #[default]
    Text,
    /// JSON
    Json,
}
