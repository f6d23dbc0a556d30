//! Variables that have nothing to do with the network, and names that are gone: known so that a misspelt one stands out.
//!
//! 2.12.12 stands for "then or earlier".

use super::catalogue::{Kind, Variable};
use crate::nccl::release::Release;

const fn number(name: &'static str, minor: u16, patch: u16) -> Variable {
    Variable {
        name,
        kind: Kind::INTEGER,
        since: Release::new(2, minor, patch),
        last: None,
        instead: None,
        defaults: &[],
        meaning: "",
    }
}

const fn text(name: &'static str, minor: u16, patch: u16) -> Variable {
    Variable {
        kind: Kind::Text,
        ..number(name, minor, patch)
    }
}

impl Variable {
    /// The last release that reads it.
    const fn until(self, minor: u16, patch: u16) -> Self {
        Self {
            last: Some(Release::new(2, minor, patch)),
            ..self
        }
    }

    /// What to use instead.
    const fn instead(self, name: &'static str) -> Self {
        Self {
            instead: Some(name),
            ..self
        }
    }
}

/// The variables.
pub(super) const VARIABLES: &[Variable] = &[
    text("NCCL_AGG_ALLOC_MODE", 12, 12).until(12, 12),
    number("NCCL_AGG_CHANNEL_SIZE", 12, 12).until(19, 4),
    text("NCCL_ALGO", 12, 12),
    number("NCCL_ALLGATHERV_ENABLE", 29, 2),
    number("NCCL_ALLOC_P2P_NET_LL_BUFFERS", 16, 5),
    number("NCCL_BUFFSIZE", 12, 12),
    number("NCCL_CGA_CLUSTER_SIZE", 16, 5),
    text("NCCL_CHECK_MODE", 29, 7),
    number("NCCL_CHECK_POINTERS", 12, 12),
    number("NCCL_CHUNK_SIZE", 12, 12),
    number("NCCL_COLLNET_NODE_THRESHOLD", 12, 12),
    number("NCCL_COMM_BLOCKING", 14, 3),
    number("NCCL_COMM_SHRINK_SHARE_RESOURCES", 27, 3),
    number("NCCL_COMM_SPLIT_SHARE_RESOURCES", 18, 1),
    number("NCCL_CONNECT_ROUND_MAX_PEERS", 19, 4),
    number("NCCL_CREATE_THREAD_CONTEXT", 14, 3).until(30, 4),
    text("NCCL_CTA_POLICY", 27, 3),
    text("NCCL_CUDA_PATH", 14, 3).until(20, 5),
    number("NCCL_CUMEM_ENABLE", 18, 1),
    number("NCCL_CUMEM_HOST_ENABLE", 23, 4),
    number("NCCL_DEV_API_JIT", 30, 7),
    number("NCCL_DISABLE_MEM_MANAGER", 29, 7),
    number("NCCL_ELASTIC_BUFFER_REGISTER", 30, 3),
    number("NCCL_ENABLE_VERSION_CHECK", 29, 2),
    number("NCCL_GDAKI_USE_RELIABLE_DB", 29, 7),
    number("NCCL_GDRCOPY_FIFO_ENABLE", 12, 12),
    number("NCCL_GDRCOPY_FLUSH_ENABLE", 12, 12),
    number("NCCL_GDRCOPY_SYNC_ENABLE", 12, 12),
    number("NCCL_GDRCOPY_TAIL_ENABLE", 9, 6).until(11, 4),
    number("NCCL_GIN_COUNTER_POOL_SIZE", 28, 7).until(29, 7),
    number("NCCL_GIN_ENABLE", 28, 7),
    number("NCCL_GIN_ERROR_QUERY_SEC", 28, 7),
    number("NCCL_GIN_EXCLUSIVE_CONTEXTS", 29, 7).until(29, 7),
    number("NCCL_GIN_GDAKI_MAX_DEST_RD_ATOMIC", 30, 3),
    number("NCCL_GIN_GDAKI_MAX_QP_RD_ATOMIC", 30, 3),
    number("NCCL_GIN_GDAKI_NIC_HANDLER", 28, 7),
    number("NCCL_GIN_GDAKI_QP_DEPTH", 28, 7),
    number("NCCL_GIN_NCONNECTIONS", 29, 7),
    number("NCCL_GIN_NCONTEXTS", 28, 7)
        .until(29, 7)
        .instead("NCCL_GIN_NCONNECTIONS"),
    text("NCCL_GIN_PLUGIN", 29, 7),
    number("NCCL_GIN_PLUGIN_REF_COUNT", 29, 7),
    number("NCCL_GIN_PROXY_QUEUE_SIZE", 28, 7),
    number("NCCL_GIN_SIGNAL_POOL_SIZE", 28, 7).until(29, 7),
    number("NCCL_GIN_TYPE", 28, 7),
    text("NCCL_GRAPH", 5, 6)
        .until(5, 7)
        .instead("NCCL_GRAPH_FILE"),
    text("NCCL_GRAPH_DUMP_FILE", 12, 12),
    number("NCCL_GRAPH_DUMP_FILE_RANK", 12, 12),
    text("NCCL_GRAPH_FILE", 12, 12),
    number("NCCL_GRAPH_HELPER_DISABLE", 12, 12),
    number("NCCL_GRAPH_MIXING_SUPPORT", 14, 3),
    number("NCCL_GRAPH_REGISTER", 12, 12),
    number("NCCL_GRAPH_STREAM_ORDERING", 30, 7),
    number("NCCL_GROUP_CUDA_STREAM", 12, 12),
    number("NCCL_IB_CUDA_SUPPORT", 3, 5)
        .until(3, 7)
        .instead("NCCL_NET_GDR_LEVEL"),
    number("NCCL_IB_GDR_LEVEL", 3, 5)
        .until(3, 7)
        .instead("NCCL_NET_GDR_LEVEL"),
    number("NCCL_IGNORE_DISABLED_P2P", 12, 12),
    number("NCCL_IPC_USE_ABSTRACT_SOCKET", 29, 2),
    number("NCCL_L1_SHARED_MEMORY_CARVEOUT", 12, 12),
    text("NCCL_LAUNCH_MODE", 12, 12),
    number("NCCL_LAUNCH_ORDER_IMPLICIT", 26, 2),
    number("NCCL_LAUNCH_RACE_FATAL", 26, 2),
    number("NCCL_LEGACY_CUDA_REGISTER", 24, 3),
    number("NCCL_LL128_BUFFSIZE", 12, 12),
    number("NCCL_LL128_C2C", 27, 3),
    number("NCCL_LL128_NTHREADS", 12, 12),
    number("NCCL_LL_BUFFSIZE", 12, 12),
    number("NCCL_LL_THRESHOLD", 3, 5)
        .until(4, 8)
        .instead("NCCL_PROTO"),
    number("NCCL_LOCAL_REGISTER", 19, 1),
    number("NCCL_LSA_TEAM_SIZE", 29, 7),
    number("NCCL_MAX_CTAS", 17, 1),
    number("NCCL_MAX_NCHANNELS", 12, 12),
    number("NCCL_MAX_NRINGS", 12, 12).instead("NCCL_MAX_NCHANNELS"),
    number("NCCL_MAX_P2P_NCHANNELS", 12, 12),
    number("NCCL_MEM_SYNC_DOMAIN", 16, 5),
    number("NCCL_MIN_CTAS", 17, 1),
    number("NCCL_MIN_NCHANNELS", 12, 12),
    number("NCCL_MIN_NRINGS", 12, 12).instead("NCCL_MIN_NCHANNELS"),
    number("NCCL_MIN_P2P_NCHANNELS", 12, 12),
    number("NCCL_MLOPART_RDMA_ENABLE", 30, 7),
    number("NCCL_MNNVL", 20, 3)
        .until(20, 5)
        .instead("NCCL_MNNVL_ENABLE"),
    number("NCCL_MNNVL_CLIQUE_ID", 23, 4),
    number("NCCL_MNNVL_CROSS_CLIQUE", 30, 3),
    number("NCCL_MNNVL_RAIL_PER_HOST", 28, 7),
    number("NCCL_MNNVL_SCATTER_NETS_ENABLE", 27, 5),
    number("NCCL_MNNVL_UUID", 25, 1),
    number("NCCL_MULTI_RANK_GPU_ENABLE", 30, 3),
    number("NCCL_MULTI_SEGMENT_REGISTER", 29, 2),
    number("NCCL_NCCL_ALLOC_P2P_NET_LL_BUFFERS", 14, 3)
        .until(16, 2)
        .instead("NCCL_ALLOC_P2P_NET_LL_BUFFERS"),
    number("NCCL_NCHANNELS_PER_NET_PEER", 12, 12),
    number("NCCL_NTHREADS", 12, 12),
    number("NCCL_NUM_RMA_CTX", 29, 2),
    number("NCCL_NVB_DISABLE", 12, 12),
    number("NCCL_NVB_PRECONNECT", 12, 12),
    number("NCCL_NVLINK_UTIL_CENTRIC_SCHED_ENABLE", 27, 3),
    number("NCCL_NVLSTREE_MAX_CHUNKSIZE", 20, 3),
    number("NCCL_NVLS_CHUNKSIZE", 21, 5),
    number("NCCL_NVLS_ENABLE", 17, 1),
    number("NCCL_NVLS_NCHANNELS", 17, 1),
    number("NCCL_NVTX_DISABLE", 28, 3),
    number("NCCL_P2P_DIRECT_DISABLE", 12, 12),
    number("NCCL_P2P_EPOCH_ENABLE", 29, 2),
    number("NCCL_P2P_LL_THRESHOLD", 14, 3),
    number("NCCL_P2P_MAX_PEERS", 30, 3),
    number("NCCL_P2P_NET_CHUNKSIZE", 14, 3),
    number("NCCL_P2P_NVL_CHUNKSIZE", 16, 5),
    number("NCCL_P2P_PCI_CHUNKSIZE", 16, 5),
    number("NCCL_P2P_PER_CHANNEL_NET_BW", 29, 2),
    number("NCCL_P2P_READ_ENABLE", 12, 12),
    number("NCCL_P2P_SCHEDULE_GROUP_SIZE", 28, 7),
    number("NCCL_P2P_USE_CUDA_MEMCPY", 14, 3),
    number("NCCL_PAT_ENABLE", 23, 4),
    text("NCCL_PROFILER_PLUGIN", 23, 4),
    number("NCCL_PROGRESS_APPENDOP_FREQ", 16, 5),
    text("NCCL_PROTO", 12, 12),
    number("NCCL_PROXY_APPEND_BATCH_SIZE", 16, 5),
    text("NCCL_PROXY_CPUSET", 28, 3),
    number("NCCL_PROXY_DUMP_SIGNAL", 14, 3),
    text("NCCL_PROXY_PROFILE", 12, 12)
        .until(22, 3)
        .instead("NCCL_PROFILER_PLUGIN"),
    number("NCCL_REPORT_CONNECT_PROGRESS", 19, 4),
    text("NCCL_RINGS", 3, 5)
        .until(4, 8)
        .instead("NCCL_GRAPH_FILE"),
    number("NCCL_RMA_DISABLE", 30, 7),
    text("NCCL_RMA_PLUGIN", 30, 7),
    number("NCCL_RMA_PLUGIN_REF_COUNT", 30, 7),
    number("NCCL_RMA_PROXY_DUMP_SIGNAL", 29, 2),
    number("NCCL_RMA_PROXY_QUEUE_SIZE", 29, 2),
    number("NCCL_RUNTIME_CONNECT", 22, 3),
    number("NCCL_SET_CPU_STACK_SIZE", 28, 3),
    number("NCCL_SET_STACK_SIZE", 12, 12),
    number("NCCL_SET_THREAD_NAME", 12, 12),
    number("NCCL_SHADOW_MEMPOOL_MAX_SIZE", 30, 7),
    number("NCCL_SHARED_BUFF_COUNT", 7, 3).until(8, 4),
    number("NCCL_SHM_LOCALITY", 14, 3),
    number("NCCL_SHM_MEMCPY_MODE", 14, 3).until(30, 4),
    number("NCCL_SHM_USE_CUDA_MEMCPY", 14, 3).until(30, 4),
    number("NCCL_SINGLE_PROC_MEM_REG_ENABLE", 28, 3),
    number("NCCL_SINGLE_RING_THRESHOLD", 3, 5)
        .until(4, 8)
        .instead("NCCL_ALGO"),
    number("NCCL_SYM_CE_THRESHOLD", 29, 2),
    number("NCCL_SYM_CTAS", 27, 3),
    number("NCCL_SYM_GIN_KERNELS_ENABLE", 29, 7),
    text("NCCL_SYM_KERNEL", 27, 3),
    number("NCCL_SYM_NOWIN_ENABLE", 29, 2),
    number("NCCL_SYM_REUSE_SYSMEM_HANDLES", 30, 4),
    number("NCCL_SYM_RS_GIN_CHUNK_SIZE", 30, 7),
    number("NCCL_SYM_TMA_ENABLE", 30, 3),
    number("NCCL_THREAD_THRESHOLD", 3, 5)
        .until(4, 8)
        .instead("NCCL_PROTO"),
    text("NCCL_THREAD_THRESHOLDS", 12, 12),
    number("NCCL_TOPO_SPLIT_MLOPART", 30, 7),
    number("NCCL_TREE_THRESHOLD", 4, 2)
        .until(4, 8)
        .instead("NCCL_ALGO"),
    text("NCCL_TUNER_PLUGIN", 19, 1),
    number("NCCL_UNPACK_DOUBLE_NCHANNELS", 22, 3),
    text("NCCL_WARN_ENABLE_DEBUG_INFO", 19, 4),
    number("NCCL_WIN_ENABLE", 27, 3),
    number("NCCL_WIN_STRIDE", 27, 3),
    number("NCCL_WORK_ARGS_BYTES", 22, 3),
    number("NCCL_WORK_FIFO_BYTES", 22, 3),
    number("NCCL_WORK_FIFO_DEPTH", 14, 3)
        .until(21, 5)
        .instead("NCCL_WORK_FIFO_BYTES"),
];
