//! The checks of the family `limits`.

mod ipc_lock;
mod memlock;
mod open_files;
mod shm;

use super::{Check, Facts};
use crate::model::health::Limit;

/// The family's checks, in the order in which they are reported.
pub(crate) const ALL: &[&Check] = &[
    &memlock::MEMLOCK,
    &ipc_lock::IPC_LOCK,
    &shm::SHM,
    &open_files::OPEN_FILES,
];

/// An amount of bytes as people say it: `64 MiB`, `1.5 GiB`, `100 bytes`.
fn amount(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    for (unit, name) in UNITS {
        if bytes >= unit {
            let tenths = u128::from(bytes) * 10 / u128::from(unit);
            return match tenths % 10 {
                0 => format!("{} {name}", tenths / 10),
                tenth => format!("{}.{tenth} {name}", tenths / 10),
            };
        }
    }
    format!("{bytes} bytes")
}

/// A limit as the kernel writes it.
fn written(limit: Limit) -> String {
    match limit {
        Limit::Unlimited => "unlimited".to_owned(),
        Limit::Value(value) => value.to_string(),
    }
}

/// Whether there is an RDMA device that memory would be registered with.
fn has_rdma(facts: &Facts) -> bool {
    facts.node.hcas.as_ref().map_or_else(
        // Devices that could not be listed may be there.
        |unread| !unread.is_absent(),
        |hcas| !hcas.is_empty(),
    )
}

#[cfg(test)]
mod tests {
    use super::amount;

    #[test]
    fn amounts_are_readable() {
        assert_eq!(amount(67_108_864), "64 MiB");
        assert_eq!(amount(8_388_608), "8 MiB");
        assert_eq!(amount(3 << 29), "1.5 GiB");
        assert_eq!(amount(1_081_116_672_000), "1006.8 GiB");
        assert_eq!(amount(65_535), "63.9 KiB");
        assert_eq!(amount(0), "0 bytes");
        assert_eq!(amount(u64::MAX), "17179869183.9 GiB");
    }
}
