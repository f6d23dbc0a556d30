//! Which variables are the libraries' own. No other is ever kept or shown.

/// Beginnings of the names of variables that configure a communication library.
const PREFIXES: [&str; 12] = [
    "NCCL_",
    "RCCL_",
    "UCX_",
    "NVSHMEM_",
    "GLOO_",
    "TP_SOCKET_",
    "MSCCLPP_",
    "MC_",
    "UCCL_",
    "OMPI_MCA_btl_",
    "SHARP_",
    "HCCL_",
];

/// Variables that say which GPUs a job has, or how many ranks a node.
const NAMES: [&str; 10] = [
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "SLURM_STEP_GPUS",
    "SLURM_JOB_GPUS",
    "LOCAL_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MPI_LOCALNRANKS",
    "FI_PROVIDER",
];

/// Variables that say how a communication library is configured, or which GPUs a job has. No other is ever kept or shown.
pub(crate) fn is_known_variable(name: &str) -> bool {
    is_library(name) || NAMES.contains(&name)
}

/// Variables that one process may take over from another: libraries' settings, not which GPUs it has, nor an image's label.
pub(crate) fn is_adoptable(name: &str) -> bool {
    is_library(name) && name != "NCCL_VERSION"
}

/// Settings of NCCL, by whose presence `check` looks at settings at all. A label of the image is none.
pub(crate) fn is_setting(name: &str) -> bool {
    name.starts_with("NCCL_") && name != "NCCL_VERSION"
}

fn is_library(name: &str) -> bool {
    // Mooncake's and MinIO's client both say MC_; the latter's hold credentials.
    !name.starts_with("MC_HOST")
        && PREFIXES.iter().any(|p| name.starts_with(p))
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
