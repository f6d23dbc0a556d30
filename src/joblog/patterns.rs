//! Every message that is understood, in one table: name, releases, an example, and the function that reads it.
//!
//! Facts from NCCL's sources (github.com/NVIDIA/nccl, tags v2.18.1 to v2.30.7). A message is tried against the patterns
//! whose `starts` it begins with, in the order of the table; those without are tried on warnings only.

use super::event::Event;
use super::read;
use super::text::find;

/// A kind of message.
pub(super) struct Pattern {
    /// Its name; fixtures are looked through for each.
    pub(super) id: &'static str,
    /// The releases that write it so.
    pub(super) releases: &'static str,
    /// What it begins with; nothing: it is found by what it contains.
    pub(super) starts: &'static [&'static str],
    /// What it contains, any of them.
    pub(super) contains: &'static [&'static str],
    /// One in full.
    pub(super) example: &'static str,
    /// Reads it.
    pub(super) read: for<'a> fn(&'a str) -> Option<Event<'a>>,
}

macro_rules! patterns {
    ($($id:literal, $releases:literal, $starts:expr, $contains:expr, $example:literal, $read:ident;)*) => {
        &[$(Pattern {
            id: $id,
            releases: $releases,
            starts: &$starts,
            contains: &$contains,
            example: $example,
            read: read::$read,
        }),*]
    };
}

/// The table.
#[rustfmt::skip]
pub(super) const PATTERNS: &[Pattern] = patterns![
    // What a long log is full of.
    "channel", "all", ["Channel "], [], "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA", channel;
    "connection", "2.20 and later with `NCCL Dev`, `Dev` before", ["NET/IB"], [" qpn ", " qp_num "], "NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 1047 mtu 5 GID 3 (0/302010AFFFF0000) fifoRkey=0x18 fifoLkey=0x18", connection;
    // What was chosen.
    "version", "2.19 and later, beside the bare banner", ["NCCL version "], [], "NCCL version 2.21.5+cuda12.4", release;
    "setting", "all", ["NCCL_"], [" set "], "NCCL_IB_GID_INDEX set by environment to 3.", setting;
    "rank", "all", ["comm 0x", "ncclComm"], [" nranks "], "ncclCommInitRank comm 0x5581 rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 5d000 commId 0x9a - Init START", rank;
    "bootstrap", "all; no blank before the colon since 2.24.3", ["Bootstrap"], ["Using "], "Bootstrap : Using eth0:10.1.0.7<0>", bootstrap;
    "bootstrap.none", "all", ["Bootstrap"], ["no socket interface found"], "Bootstrap : no socket interface found", no_socket_interface;
    "ib.using", "all", ["NET/IB"], ["Using ["], "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.1.0.7<0>", ib_using;
    "ib.no-device", "all", ["NET/IB"], ["No device found"], "NET/IB : No device found.", no_device;
    "ib.no-interface", "all", ["NET/IB"], ["No IP interface found"], "NET/IB : No IP interface found.", no_ip_interface;
    "socket.using", "all", ["NET/Socket"], ["Using ["], "NET/Socket : Using [0]eth0:10.1.0.7<0>", socket_using;
    "network", "all", ["Using network "], [], "Using network IB", network;
    "network.assigned", "2.27.3 and later", ["Assigned NET plugin "], [], "Assigned NET plugin IB to comm", assigned;
    "network.failed", "all; the text of today since 2.27.3", ["Failed to initialize ", "Error: network "], [], "Failed to initialize any NET plugin", net_failed;
    "plugin.missing", "all, in several wordings", ["NET/Plugin"], ["Could not find", "No plugin found", "cannot open shared object"], "NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.", plugin_missing;
    "plugin.loaded", "all", ["NET/Plugin"], ["oaded net plugin", "oaded plugin"], "NET/Plugin: Loaded net plugin IBext_v8 (v8)", plugin_loaded;
    // GPUDirect.
    "gdr.hca", "2.13 and later; only where it is off before", ["NET/"], ["GPU Direct RDMA "], "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'", gdr_hca;
    "gdr.gpu", "to 2.29.7", ["GPU Direct RDMA "], [], "GPU Direct RDMA Disabled for GPU 0 / HCA 1 (distance 7 > 4)", gdr_gpu;
    // Connections.
    "modify-qp", "all, in three generations", ["Call to ibv_modify_qp "], [], "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_3:1, curr state INIT, next state RTR, local GID index 3, local GID ::ffff:10.1.2.3, remote GID ::ffff:10.1.9.3", modify_qp;
    "verbs-call", "all; with a number since 2.19.3", ["Call to ibv_"], ["failed"], "Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory", verbs_call;
    "completion", "all, in four generations", ["NET/IB"], ["Got completion "], "NET/IB: Got completion from peer 10.1.9.3<41034> with status=12 opcode=0 len=0 vendor err 129 (Recv) localGid ::ffff:10.1.2.3 remoteGids::ffff:10.1.9.3 hca mlx5_3", completion;
    "gid-type", "2.21.5 and later; an end of the job to 2.25", ["NET/IB"], ["in ncclIbRoceGetVersionNum"], "NET/IB: read failed in ncclIbRoceGetVersionNum: Invalid argument", gid_type;
    "device.open", "all", ["NET/IB"], ["Unable to open device "], "NET/IB : Unable to open device mlx5_0", open_device;
    "device.query", "all", ["NET/IB"], ["Unable to query device "], "NET/IB : Unable to query device mlx5_0", query_device;
    "port.query", "all; `port` instead of `port_num` to 2.19", ["NET/IB"], ["Unable to query port"], "NET/IB : Unable to query port_num 1", query_port;
    "async", "all, in four generations", ["NET/IB"], [" async "], "NET/IB : mlx5_7:1 Got non-fatal async event: port error(10)", async_event;
    "gid-table", "2.28.3 and later", ["NET/IB"], ["GID table changed"], "NET/IB : mlx5_0:1 GID table changed", gid_table;
    "incompatible", "2.26.2 and later", ["NET/IB"], ["ttempted to connect incompatible devices: ", "incompatible with the local "], "NET/IB : Attempted to connect incompatible devices: [0]mlx5_0:1/IB and [4]mlx5_4:1/RoCE. Try selecting NICs of only one link type using NCCL_IB_HCA", incompatible;
    "merged-count", "2.20 and later", ["NET/IB"], ["different number of devices"], "NET/IB : Local mergedDev mlx5_0+mlx5_1 has a different number of devices=2 as remote mlx5_0 1", merged_count;
    "device-count", "2.30.3 and later", ["Detected mixed local Net device counts"], [], "Detected mixed local Net device counts across ranks (min 4, max 8)", device_count;
    "data-direct", "2.27.3 and later", ["NET/IB"], ["Data Direct"], "NET/IB: Data Direct DMA Interface is detected for device mlx5_0", data_direct;
    // Sockets, memory, files.
    "socket.comm-id", "all", ["NET/Socket", "Invalid NCCL_COMM_ID"], ["No usable listening interface", "Invalid NCCL_COMM_ID"], "NET/Socket : No usable listening interface found", comm_id;
    "socket.peer-gone", "all", [], ["onnection closed by remote peer", "is neither AF_INET"], "socketProgress: Connection closed by remote peer node-b<45001>", peer_gone;
    "socket.error", "all; the function's name differs", ["socket", "ncclSocket", "ncclOsSocket", "Net : ", "NET/Socket", "Call to "], [" failed", " returned ", "imed out", "retry"], "ncclOsSocketPollConnect: connect to 10.1.0.7<45001> returned Connection refused, exceeded error retry count after 35 attempts", socket_error;
    "shm.error", "all; the reason is in it since 2.22.3", ["Error: failed to extend "], [], "Error: failed to extend /dev/shm/nccl-Xq3fZa to 33030532 bytes, error: No space left on device (28)", shared_memory;
    "shm.segment", "all", ["Error while creating shared memory", "Error while attaching to shared memory", "Call to posix_fallocate failed"], [], "Error while creating shared memory segment /dev/shm/nccl-Xq3fZa (size 9637888)", shared_memory;
    "graph", "all", ["XML Import ", "Could not open XML ", "XML Parse error", "XML parse error", "Topology"], ["not found", "ould not open", "arse error", "rror"], "XML Import Channel : dev 1 not found.", graph;
    "version.mismatch", "all", ["Mismatched NCCL version"], [], "Mismatched NCCL version detected : rank 0 version 22705 cudaDriver 12080 rank 1 version 22105", mismatch;
    "cuda", "all", ["Cuda failure", "CUDA failure"], [], "Cuda failure 2 'out of memory'", cuda;
    "hint", "2.30.4 and later", ["HINT: "], [], "HINT: the peer did not answer; see the troubleshooting guide", harmless;
];

/// The table with a way in: the patterns by the first byte of what they begin with.
pub(super) struct Index {
    by_first: Vec<Vec<&'static Pattern>>,
    anywhere: Vec<&'static Pattern>,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Index")
    }
}

impl Index {
    /// Sorts the table.
    pub(super) fn new() -> Self {
        let starts_with = |p: &Pattern, first: u8| {
            p.starts
                .iter()
                .any(|s| s.as_bytes().first() == Some(&first))
        };
        Self {
            by_first: (0..=u8::MAX)
                .map(|first| PATTERNS.iter().filter(|p| starts_with(p, first)).collect())
                .collect(),
            anywhere: PATTERNS.iter().filter(|p| p.starts.is_empty()).collect(),
        }
    }

    /// The first pattern that a message fits, and what it means.
    pub(super) fn read<'a>(
        &self,
        text: &'a str,
        is_warning: bool,
    ) -> Option<(&'static Pattern, Event<'a>)> {
        let first = *text.as_bytes().first()?;
        let by_first = self
            .by_first
            .get(usize::from(first))
            .into_iter()
            .flatten()
            .filter(|p| p.starts.iter().any(|s| text.starts_with(s)));
        let anywhere = self.anywhere.iter().filter(|_| is_warning);
        by_first
            .chain(anywhere)
            .filter(|p| p.contains.is_empty() || p.contains.iter().any(|c| find(text, c).is_some()))
            .find_map(|p| Some((*p, (p.read)(text)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Index, PATTERNS};

    #[test]
    fn every_example_is_read_by_its_own_pattern() {
        let index = Index::new();
        for pattern in PATTERNS {
            let (found, event) = index
                .read(pattern.example, true)
                .unwrap_or_else(|| panic!("{} is not read", pattern.id));
            assert_eq!(found.id, pattern.id, "{event:?}");
            assert!(!pattern.releases.is_empty());
        }
    }

    #[test]
    fn names_are_unique() {
        let mut ids: Vec<_> = PATTERNS.iter().map(|p| p.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), PATTERNS.len());
    }
}
