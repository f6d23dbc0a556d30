//! What vendor programs and the NVIDIA driver say, taken apart.

use crate::model::Bdf;

/// Vendor programs' answers, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Vendor {
    /// What `nvidia-smi` says of the GPUs.
    pub(crate) smi: Answer<NvidiaSmi>,
    /// What `ofed_info` says of the RDMA stack.
    pub(crate) ofed: Answer<RdmaStack>,
}

/// A program's answer, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer<T> {
    /// It was not run, and why.
    Absent(&'static str),
    /// It was run and gave no answer.
    Broken {
        /// What became of it: `did not end within 5 s`.
        what: String,
        /// Where the program is.
        path: String,
        /// True where it did not end in time.
        hung: bool,
    },
    /// It answered.
    Given {
        /// The answer.
        value: T,
        /// Where the program is, or the file that holds its answer in an offline copy.
        path: String,
    },
}

impl<T> Default for Answer<T> {
    fn default() -> Self {
        Self::Absent("not asked")
    }
}

impl<T> Answer<T> {
    /// The answer and where it comes from, when there is one.
    pub(crate) fn given(&self) -> Option<(&T, &str)> {
        match self {
            Self::Given { value, path } => Some((value, path)),
            Self::Absent(_) | Self::Broken { .. } => None,
        }
    }
}

/// What `nvidia-smi --query-gpu` printed on both of its streams.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NvidiaSmi {
    /// A row for each GPU it could ask.
    pub(crate) gpus: Vec<SmiGpu>,
    /// GPUs it got no handle for.
    pub(crate) no_handle: Vec<NoHandle>,
    /// Why it has no answer at all, and the line that says so.
    pub(crate) failure: Option<(SmiFailure, String)>,
    /// Lines that are neither rows nor known failures, such as warnings about a GPU's infoROM.
    pub(crate) messages: Vec<String>,
}

/// A row of `nvidia-smi --query-gpu`. Fields it does not support are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SmiGpu {
    /// Its index.
    pub(crate) index: u32,
    /// PCI address.
    pub(crate) address: Option<Bdf>,
    /// `GPU-...`.
    pub(crate) uuid: Option<String>,
    /// Model.
    pub(crate) name: Option<String>,
    /// Version of the driver.
    pub(crate) driver: Option<String>,
    /// Memory in MiB.
    pub(crate) memory_mib: Option<u64>,
    /// Whether persistence mode is on.
    pub(crate) persistence: Option<bool>,
    /// Whether MIG mode is on.
    pub(crate) mig: Option<bool>,
    /// Uncorrectable memory errors since the driver was loaded.
    pub(crate) ecc_uncorrected: Option<u64>,
    /// Whether memory rows wait for a reset to be replaced.
    pub(crate) remap_pending: Option<bool>,
    /// Whether replacing a memory row failed.
    pub(crate) remap_failed: Option<bool>,
    /// What stands in the place of a value where the GPU does not answer: `GPU is lost`, `ERR!`.
    pub(crate) trouble: Option<String>,
}

/// A GPU that `nvidia-smi` got no handle for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoHandle {
    /// Its address, when the line names one.
    pub(crate) address: Option<Bdf>,
    /// The line.
    pub(crate) line: String,
}

/// Why `nvidia-smi` has no answer at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SmiFailure {
    /// Kernel module and user-space library are of different versions; the library's, when it says so.
    Mismatch(Option<String>),
    /// The driver finds no GPU.
    NoDevices,
    /// The driver does not answer.
    NoDriver,
    /// libnvidia-ml.so was not found.
    NoLibrary,
    /// Something else.
    Other,
}

/// The NVIDIA kernel driver, from /proc/driver/nvidia/version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NvidiaDriver {
    /// Version, for example `535.161.08`.
    pub(crate) version: String,
    /// True for the open kernel modules.
    pub(crate) open: bool,
    /// The line that says so.
    pub(crate) line: String,
}

impl NvidiaDriver {
    /// The first number of the version, 535 of `535.161.08`.
    pub(crate) fn branch(&self) -> u32 {
        self.version
            .split('.')
            .next()
            .and_then(|n| n.parse().ok())
            .unwrap_or(0)
    }
}

/// An RDMA stack that was installed over the distribution's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RdmaStack {
    /// Which.
    pub(crate) kind: StackKind,
    /// Version, for example `5.8-1.1.2.1`.
    pub(crate) version: String,
    /// The line that says so.
    pub(crate) line: String,
}

/// Kinds of RDMA stacks that bring `ofed_info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StackKind {
    /// MLNX_OFED.
    MlnxOfed,
    /// The kernel part of DOCA, which calls itself `OFED-internal`.
    DocaOfed,
    /// Another.
    Other,
}

impl StackKind {
    /// The word for it in output.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::MlnxOfed => "MLNX_OFED",
            Self::DocaOfed => "DOCA-OFED",
            Self::Other => "OFED",
        }
    }
}
