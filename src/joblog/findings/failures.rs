//! Other failures of devices, memory and files; events; and every warning that has no pattern.

use super::LogFinding;
use crate::checks::Severity;
use crate::joblog::errno;
use crate::joblog::event::{AsyncEvent, Kind};
use crate::joblog::state::Job;

const ENOMEM: i32 = 12;
const ENOSPC: i32 = 28;
const EINVAL: i32 = 22;

pub(super) fn find(job: &Job, found: &mut Vec<LogFinding>) {
    for tally in &job.tallies {
        let finding = match tally.kind {
            Kind::Verbs { call, errno } => verbs(job, call, errno),
            Kind::QueryDevice | Kind::QueryPort => Some(query(tally.kind)),
            Kind::GidType { errno } => Some(gid_type(errno)),
            Kind::Async(event) => Some(event_finding(event)),
            Kind::SharedMemory { errno } => shared_memory(job, errno),
            Kind::Graph => Some(graph(job)),
            Kind::Mismatch => Some(mismatch()),
            Kind::DataDirect => Some(data_direct()),
            Kind::MergedCount | Kind::DeviceCount => Some(counts()),
            Kind::Cuda => Some(
                LogFinding::new("log.cuda", Severity::Error, "CUDA failed under NCCL")
                    .why("the failure is the GPU's or the program's, not the network's")
                    .check("driver.nvidia")
                    .fix("look at the GPU's state and at Xid messages of the kernel")
                    .command("rdmactl check --only driver,gpu"),
            ),
            Kind::Watchdog => Some(
                LogFinding::new(
                    "log.watchdog",
                    Severity::Error,
                    "PyTorch ended a collective that took longer than its time limit",
                )
                .why(
                    "a rank that is missing here has failed or hangs, or its program has left the common order; network \
                     errors of NCCL before this line are the cause, and without any the program or a GPU is",
                )
                .fix("look at the first error of any rank before this line, and at the ranks that do not report it"),
            ),
            Kind::Other(_) => Some(LogFinding::new(
                "log.other",
                Severity::Warning,
                "a warning of NCCL that rdmactl has no explanation for",
            )),
            _ => None,
        };
        found.extend(finding.map(|f| f.of(job, tally)));
    }
}

/// A call of libibverbs. Opening a device is told with the network, which it decides.
fn verbs(job: &Job, call: &str, errno: i32) -> Option<LogFinding> {
    let device_named = job
        .tallies(|k| matches!(k, Kind::OpenDevice))
        .next()
        .is_some();
    if call == "ibv_open_device" && device_named {
        return None;
    }
    let name = if errno == 0 {
        String::new()
    } else {
        format!(" with {}", errno::shown(errno))
    };
    Some(match (call, errno) {
        ("ibv_reg_mr" | "ibv_reg_mr_iova2" | "ibv_reg_dmabuf_mr", ENOMEM) => LogFinding::new(
            "log.register-enomem",
            Severity::Error,
            format!("memory could not be registered with the device: {call} failed{name}"),
        )
        .why(
            "a registration locks memory, and the process's limit of locked memory (memlock, `ulimit -l`) does not allow \
             it; with memlock unlimited, on Arm also a kernel without CMA memory (CmaTotal 0 kB in /proc/meminfo)",
        )
        .check("limits.memlock")
        .fix(
            "raise memlock where the job starts: `--ulimit memlock=-1` for Docker, the IPC_LOCK capability in a pod, \
             LimitMEMLOCK=infinity for slurmd or the shell's service; on Arm boot with cma=SIZE where CmaTotal is 0",
        )
        .command("ulimit -l unlimited"),
        ("ibv_create_cq" | "ibv_create_qp" | "ibv_create_srq" | "ibv_alloc_pd", ENOMEM) => {
            LogFinding::new(
                "log.queue-enomem",
                Severity::Error,
                format!("a queue of the device could not be made: {call} failed{name}"),
            )
            .why(
                "a queue locks memory too; where memlock is unlimited, the device or the host has run out: too many \
                 queues (ranks, QPs per connection, other jobs on the card), or no host memory left",
            )
            .check("limits.memlock")
            .fix(
                "raise memlock where the job starts; if it is unlimited, lower NCCL_IB_QPS_PER_CONNECTION, end what is \
                 left of earlier jobs, and look at the host's free memory",
            )
            .command("ulimit -l")
        }
        ("ibv_query_gid", _) => LogFinding::new(
            "log.gid-index-range",
            Severity::Error,
            format!("the GID could not be read: {call} failed{name}"),
        )
        .why("the index in use is beyond the end of the port's GID table, or the device has gone")
        .check("gid.indexes-differ")
        .fix_gid("use an index that exists"),
        ("ibv_open_device", _) => LogFinding::new(
            "log.open-device",
            Severity::Error,
            format!("a device could not be opened{name}"),
        )
        .why("the container has no /dev/infiniband/uverbsN of it, or may not open it")
        .check("hca.uverbs-missing")
        .fix("give the container the RDMA devices: `--device /dev/infiniband` for Docker, the RDMA resource in a pod"),
        _ => LogFinding::new(
            "log.verbs",
            Severity::Error,
            format!("{call} failed{name}"),
        )
        .why("the device or its driver refused")
        .fix("look at the kernel's messages about the device")
        .command("rdmactl check"),
    })
}

fn query(kind: Kind) -> LogFinding {
    let what = if kind == Kind::QueryPort {
        "a port"
    } else {
        "a device"
    };
    LogFinding::new(
        "log.query",
        Severity::Error,
        format!("{what} could not be queried, so NCCL does without it"),
    )
    .why("the device is being reset or has failed, or the library's provider does not fit the kernel's driver")
    .check("lib.provider")
    .fix("look at the kernel's messages about the device, and at rdma-core's version in the image")
    .command("rdmactl check --only hca,lib")
}

fn gid_type(errno: i32) -> LogFinding {
    let name = if errno == 0 {
        String::new()
    } else {
        format!(" ({})", errno::shown(errno))
    };
    let why = if errno == EINVAL {
        "the kernel answers EINVAL for the type of a row it shows as empty, as the host's rows are in a pod; releases \
         2.21.5 to 2.25 end the connection at the first such row, 2.26.2 and later go on"
    } else {
        "NCCL reads gid_attrs/types below /sys/class/infiniband of each candidate row, and ends the connection where it \
         cannot"
    };
    LogFinding::new(
        "log.gid-type-unreadable",
        Severity::Error,
        format!("NCCL gave up while choosing a GID: a row's type could not be read{name}"),
    )
    .why(why)
    .check("gid.holes-with-old-nccl")
    .fix_gid("pin the right row with NCCL_IB_GID_INDEX, so that nothing is chosen, or use NCCL 2.26.2 or newer")
}

fn event_finding(event: AsyncEvent) -> LogFinding {
    let new = |severity, message| LogFinding::new("log.async-event", severity, message);
    match event {
        AsyncEvent::PortError => new(
            Severity::Error,
            "the port's link went down while the job ran (asynchronous event: port error)",
        )
        .why("a cable, transceiver or switch port fails or flaps; connections over it end after their retries")
        .check("port.flapping")
        .fix("replace or reseat the cable, and look at the port's link-down counters and its switch port")
        .command("rdmactl check --only port"),
        AsyncEvent::PortActive => new(
            Severity::Warning,
            "the port's link came up while the job ran, so it was down before",
        )
        .why("a link that flaps ends or slows a job")
        .check("port.flapping")
        .fix("look at the cable and the port's link-down counters")
        .command("rdmactl check --only port"),
        AsyncEvent::GidChange => new(
            Severity::Warning,
            "the device's GID table changed while the job ran",
        )
        .why("an address came or went; connections made later may get another row, and a pinned index another address")
        .check("gid.indexes-differ")
        .fix("keep DHCP and network managers off the data interfaces while jobs run"),
        AsyncEvent::Subnet => new(
            Severity::Warning,
            "the subnet manager changed something while the job ran (LID, P_Key, SM or registration)",
        )
        .why("a subnet manager that restarts or hands over can move paths under the job")
        .check("port.no-subnet-manager")
        .fix("look at the subnet manager's log at that time"),
        AsyncEvent::Fatal => new(
            Severity::Error,
            "a device or one of its queues reported a fatal event",
        )
        .why("the device was reset or a queue broke; from 2.23.4 on NCCL ends the communicator")
        .fix("look at the kernel's messages about the device at that time")
        .command("dmesg | grep -i mlx5"),
        AsyncEvent::Other => new(Severity::Note, "a device reported an asynchronous event"),
    }
}

fn shared_memory(job: &Job, errno: i32) -> Option<LogFinding> {
    let full = errno == ENOSPC;
    let with_reason = || {
        job.tallies(|k| matches!(k, Kind::SharedMemory { errno: 1.. }))
            .next()
            .is_some()
    };
    // The message without a reason stands beside one that has it.
    if errno == 0 && with_reason() {
        return None;
    }
    let (message, why) = if full {
        (
            "no space for a segment of shared memory in /dev/shm",
            "NCCL keeps buffers between the ranks of a node in /dev/shm; a container has 64 MiB of it unless it asks for more",
        )
    } else {
        (
            "a segment of shared memory in /dev/shm could not be made or attached",
            "/dev/shm is too small or not shared between the ranks of this node, or its files were removed (RemoveIPC)",
        )
    };
    let finding = LogFinding::new("log.shared-memory", Severity::Error, message)
        .why(why)
        .check("limits.shm")
        .fix(
            "give the container more: `--shm-size=16g` or `--ipc=host` for Docker, an emptyDir with `medium: Memory` on \
             /dev/shm in a pod",
        )
        .command("df -h /dev/shm");
    Some(finding)
}

fn graph(job: &Job) -> LogFinding {
    let set: Vec<String> = ["NCCL_GRAPH_FILE", "NCCL_TOPO_FILE"]
        .iter()
        .flat_map(|name| {
            job.values_of(name)
                .into_iter()
                .map(move |v| format!("{name}={v}"))
        })
        .collect();
    let which = if set.is_empty() {
        "NCCL_GRAPH_FILE or NCCL_TOPO_FILE".to_owned()
    } else {
        set.join(", ")
    };
    LogFinding::new(
        "log.graph-file",
        Severity::Error,
        format!("a topology or graph file does not fit this node: {which}"),
    )
    .why(
        "such a file describes one kind of machine: it names GPUs and devices by number, and an image or \
         /etc/nccl.conf carries it to nodes with fewer of them",
    )
    .fix("leave NCCL_GRAPH_FILE and NCCL_TOPO_FILE out (also of /etc/nccl.conf), or use the file of this machine's size")
    .command("unset NCCL_GRAPH_FILE NCCL_TOPO_FILE; cat /etc/nccl.conf")
}

fn mismatch() -> LogFinding {
    LogFinding::new(
        "log.release-mismatch",
        Severity::Error,
        "ranks run different releases of NCCL",
    )
    .why("releases do not talk to each other; an image is older on some nodes, or LD_LIBRARY_PATH finds another library there")
    .check("lib.nccl")
    .fix("run the same image on all nodes, and look at what `rdmactl check --only lib` finds")
}

fn data_direct() -> LogFinding {
    LogFinding::new(
        "log.data-direct",
        Severity::Note,
        "the device has a Data Direct interface (ConnectX-8), which NCCL uses as a device of its own",
    )
    .why("selectors in NCCL_NET_FORCE_MERGE have to count the suffix `_dma`; NCCL_IB_DATA_DIRECT=0 turns it off")
}

fn counts() -> LogFinding {
    LogFinding::new(
        "log.device-counts-differ",
        Severity::Warning,
        "nodes or ranks have different numbers of network devices",
    )
    .why("NCCL pairs devices by their place, so the extra ones idle or share, and the slowest pair sets the speed")
    .check("hca.count")
    .fix("find the device that is missing: down, filtered by NCCL_IB_HCA, or merged on one side only")
    .command("rdmactl devices")
}
