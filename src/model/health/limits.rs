//! Limits and capabilities of this process, and shared memory.

use crate::model::{Reading, Unread, Why};

/// A resource limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Limit {
    /// So many units: bytes for memory, files for open files.
    Value(u64),
    /// No limit.
    Unlimited,
}

/// Size of /dev/shm in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SharedMemory {
    /// Whole size.
    pub(crate) size_bytes: u64,
    /// Bytes that are free; unknown where only the mount's size could be read.
    pub(crate) available_bytes: Option<u64>,
    /// Path below the root that said so; `dev/shm` itself on the live machine.
    pub(crate) source: &'static str,
}

/// Limits and capabilities of this process.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// Soft limit of locked memory in bytes, from /proc/self/limits.
    pub(crate) memlock_soft: Reading<Limit>,
    /// Hard limit of locked memory in bytes.
    pub(crate) memlock_hard: Reading<Limit>,
    /// Soft limit of open files.
    pub(crate) open_files_soft: Reading<Limit>,
    /// Hard limit of open files.
    pub(crate) open_files_hard: Reading<Limit>,
    /// Effective capabilities as the kernel's bit mask, from /proc/self/status.
    pub(crate) capabilities: Reading<u64>,
    /// The bounding set: what the process could ever have.
    pub(crate) bounding: Reading<u64>,
    /// Whether this is a user namespace, in which capabilities do not count for locked memory (`capable()` asks the first
    /// namespace); from /proc/self/uid_map.
    pub(crate) user_namespace: Reading<bool>,
    /// Effective user id, from /proc/self/status.
    pub(crate) euid: Reading<u32>,
    /// /dev/shm.
    pub(crate) shared_memory: Reading<SharedMemory>,
    /// Result of locking 64 MiB for a moment; `None` where it was not tried (only on the live machine).
    pub(crate) lock_probe: Option<Result<(), i32>>,
}

impl Limits {
    /// `CAP_IPC_LOCK` is bit 14 (include/uapi/linux/capability.h).
    const CAP_IPC_LOCK: u32 = 14;

    /// Whether the process may lock memory without limit.
    pub(crate) fn has_ipc_lock(&self) -> Result<bool, &Unread> {
        if !Self::holds_ipc_lock(*self.capabilities.as_ref()?) {
            return Ok(false);
        }
        match &self.user_namespace {
            Ok(inside) => Ok(!inside),
            // A copy without the file is of the ordinary kind.
            Err(unread) if unread.is_absent() => Ok(true),
            Err(unread) => Err(unread),
        }
    }

    /// Whether the process could have the capability: it is in the bounding set.
    pub(crate) fn could_have_ipc_lock(&self) -> Result<bool, &Unread> {
        self.bounding.as_ref().map(|c| Self::holds_ipc_lock(*c))
    }

    fn holds_ipc_lock(mask: u64) -> bool {
        mask >> Self::CAP_IPC_LOCK & 1 == 1
    }
}

impl Default for Limits {
    fn default() -> Self {
        fn none<T>(path: &str) -> Reading<T> {
            Err(Unread::new(path, Why::NotAsked))
        }
        Self {
            memlock_soft: none("proc/self/limits"),
            memlock_hard: none("proc/self/limits"),
            open_files_soft: none("proc/self/limits"),
            open_files_hard: none("proc/self/limits"),
            capabilities: none("proc/self/status"),
            bounding: none("proc/self/status"),
            user_namespace: none("proc/self/uid_map"),
            euid: none("proc/self/status"),
            shared_memory: none("dev/shm"),
            lock_probe: None,
        }
    }
}
