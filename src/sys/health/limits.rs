//! Limits, capabilities and shared memory of this process.

use std::hint::black_box;

use nix::sys::mman::{MlockAllFlags, mlockall, munlockall};
use nix::sys::statvfs::statvfs;

use crate::model::health::{Limit, Limits, SharedMemory};
use crate::model::{Reading, Unread, Why};
use crate::parse::{
    MountSize, ParseError, parse_capabilities, parse_df, parse_euid, parse_limit, parse_mount_size,
    parse_uid_map,
};
use crate::sys::Root;
use crate::sys::tree::why_of_errno;

/// `df -B1 --output=size,used,avail /dev/shm` of an offline copy.
const DF: &str = "commands/df-shm.txt";
const SHM: &str = "dev/shm";

/// Reads the limits; on the live machine also tries to lock memory.
pub(super) fn read(root: &Root) -> Limits {
    const LIMITS: &str = "proc/self/limits";
    const STATUS: &str = "proc/self/status";
    let limits = root.text(LIMITS);
    let limit = |name| parsed(&limits, LIMITS, |text| parse_limit(text, name));
    let memlock = limit("Max locked memory");
    let open_files = limit("Max open files");
    let status = root.text(STATUS);
    let soft = |pair: &Reading<(Limit, Limit)>| pair.clone().map(|(soft, _)| soft);
    let hard = |pair: &Reading<(Limit, Limit)>| pair.clone().map(|(_, hard)| hard);
    Limits {
        memlock_soft: soft(&memlock),
        memlock_hard: hard(&memlock),
        open_files_soft: soft(&open_files),
        open_files_hard: hard(&open_files),
        capabilities: parsed(&status, STATUS, |t| parse_capabilities(t, "CapEff")),
        bounding: parsed(&status, STATUS, |t| parse_capabilities(t, "CapBnd")),
        user_namespace: root.parsed("proc/self/uid_map", parse_uid_map),
        euid: parsed(&status, STATUS, parse_euid),
        shared_memory: read_shared_memory(root),
        lock_probe: root.is_live().then(probe_lock),
    }
}

/// Parses one of several values of a file that was read once.
fn parsed<T>(
    text: &Reading<String>,
    path: &str,
    parse: impl FnOnce(&str) -> Result<T, ParseError>,
) -> Reading<T> {
    let text = text.as_ref().map_err(Clone::clone)?;
    parse(text).map_err(|e| Unread::malformed(path, &e.text))
}

fn read_shared_memory(root: &Root) -> Reading<SharedMemory> {
    if root.is_live() {
        return ask_shared_memory(root);
    }
    match root.parsed(DF, parse_df) {
        Ok((size_bytes, available)) => Ok(SharedMemory {
            size_bytes,
            available_bytes: Some(available),
            source: DF,
        }),
        Err(unread) if unread.is_absent() => mounted_shared_memory(root),
        Err(unread) => Err(unread),
    }
}

/// Asks the kernel; a capture keeps the answer as `df` would have printed it.
fn ask_shared_memory(root: &Root) -> Reading<SharedMemory> {
    let status = statvfs("/dev/shm").map_err(|e| Unread::new(SHM, why_of_errno(e as i32)))?;
    let unit = status.fragment_size();
    let size_bytes = status.blocks().saturating_mul(unit);
    let available = status.blocks_available().saturating_mul(unit);
    let used = size_bytes.saturating_sub(status.blocks_free().saturating_mul(unit));
    root.note(
        DF,
        format!("1B-blocks Used Avail\n{size_bytes} {used} {available}\n").as_bytes(),
    );
    Ok(SharedMemory {
        size_bytes,
        available_bytes: Some(available),
        source: SHM,
    })
}

/// A directory that is another root's copy: the mount's own `size=` is all there is.
fn mounted_shared_memory(root: &Root) -> Reading<SharedMemory> {
    const MOUNTS: &str = "proc/mounts";
    match root.parsed(MOUNTS, |text| parse_mount_size(text, "/dev/shm"))? {
        MountSize::Bytes(size_bytes) => Ok(SharedMemory {
            size_bytes,
            available_bytes: None,
            source: MOUNTS,
        }),
        MountSize::Unsaid => Err(Unread::new(SHM, Why::NotCaptured)),
        MountSize::NotMounted => Err(Unread::new(SHM, Why::Absent)),
    }
}

/// Locks 64 MiB together with the little else this process has, and unlocks it at once. The error is the errno.
///
/// `mlockall` stands in for `mlock`, which takes an address: the kernel's test is the same, the size against the limit
/// unless the capability counts.
fn probe_lock() -> Result<(), i32> {
    const PROBE: usize = 64 << 20;
    let block = vec![0u8; PROBE];
    let locked = mlockall(MlockAllFlags::MCL_CURRENT);
    // Fails for nobody, and there would be nothing to do.
    let _ = munlockall();
    black_box(&block);
    locked.map_err(|e| e as i32)
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::model::health::Limit;
    use crate::sys::{Root, Tree};

    fn root(lines: &str) -> Root {
        Root::tree(
            Tree::parse(&format!("rdmactl capture 1\n{lines}")).unwrap(),
            "x",
        )
    }

    #[test]
    fn an_offline_copy_has_what_df_said() {
        let root = root(
            "file commands/df-shm.txt <<E\n size used avail\n 67108864 4096 67104768\nE\n\
             file proc/self/limits <<E\nLimit  Soft  Hard\nMax locked memory 8388608 unlimited bytes\nE\n\
             file proc/self/status <<E\nName:\tx\nUid:\t1 2 3 4\nCapEff:\t0000000000004000\nCapBnd:\t0\nE\n",
        );
        let limits = read(&root);
        let shm = limits.shared_memory.clone().unwrap();
        assert_eq!(
            (shm.size_bytes, shm.available_bytes),
            (67_108_864, Some(67_104_768))
        );
        assert_eq!(limits.memlock_soft, Ok(Limit::Value(8_388_608)));
        assert_eq!(limits.memlock_hard, Ok(Limit::Unlimited));
        assert!(limits.open_files_soft.is_err());
        assert_eq!(limits.has_ipc_lock(), Ok(true));
        assert_eq!(limits.could_have_ipc_lock(), Ok(false));
        assert_eq!(limits.euid, Ok(2));
        assert_eq!(limits.lock_probe, None);
    }

    #[test]
    fn without_df_the_mount_tells_the_size() {
        let mounts = |line: &str| read(&root(&format!("file proc/mounts <<E\n{line}\nE\n")));
        let sized = mounts("shm /dev/shm tmpfs rw,size=65536k 0 0");
        assert_eq!(sized.shared_memory.unwrap().size_bytes, 64 << 20);
        assert!(mounts("shm /dev/shm tmpfs rw 0 0").shared_memory.is_err());
        assert!(
            mounts("proc /proc proc rw 0 0")
                .shared_memory
                .unwrap_err()
                .is_absent()
        );
    }

    #[test]
    fn a_capture_of_this_machine_replays() {
        let mut live = Root::live();
        live.start_recording();
        let seen = read(&live);
        assert!(seen.lock_probe.is_some());
        let replayed = read(&Root::tree(live.recorded(), "x"));
        assert_eq!(
            seen.shared_memory.map(|s| s.size_bytes).ok(),
            replayed.shared_memory.map(|s| s.size_bytes).ok()
        );
        assert_eq!(seen.memlock_soft, replayed.memlock_soft);
        assert_eq!(seen.capabilities, replayed.capabilities);
    }
}
