//! The limits of what is fine, in one table. `--set-threshold NAME=VALUE` and `--thresholds FILE` change them.

use std::collections::BTreeMap;

/// A limit.
pub(crate) struct Threshold {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// The value unless it is changed.
    pub(crate) default: u64,
    /// Its unit.
    pub(crate) unit: &'static str,
    /// What is compared with it, and who says so.
    pub(crate) meaning: &'static str,
}

const GIB: u64 = 1 << 30;

/// Every limit.
pub(crate) const THRESHOLDS: &[Threshold] = &[
    Threshold {
        name: "memlock-error",
        default: GIB,
        unit: "bytes",
        meaning: "soft limit of locked memory below which registration fails",
    },
    Threshold {
        name: "memlock-warning",
        default: 16 * GIB,
        unit: "bytes",
        meaning: "soft limit of locked memory that large jobs outgrow",
    },
    Threshold {
        name: "shm-error",
        default: GIB,
        unit: "bytes",
        meaning: "size of /dev/shm below which NCCL or a data loader fails",
    },
    Threshold {
        name: "shm-warning",
        default: 8 * GIB,
        unit: "bytes",
        meaning: "size of /dev/shm that several workers outgrow",
    },
    Threshold {
        name: "shm-per-gpu",
        default: GIB,
        unit: "bytes",
        meaning: "size of /dev/shm for each GPU",
    },
    Threshold {
        name: "open-files",
        default: 65_536,
        unit: "files",
        meaning: "soft limit of open files; the bootstrap of a large job needs a socket for each rank",
    },
    Threshold {
        name: "flaps",
        default: 3,
        unit: "times",
        meaning: "link_downed since the counters were reset",
    },
    Threshold {
        name: "roce-mtu",
        default: 4_200,
        unit: "bytes",
        meaning: "netdev MTU that an active RoCE MTU of 4096 needs with its headers",
    },
];

/// The limits in force.
#[derive(Debug, Clone, Default)]
pub(crate) struct Thresholds {
    changed: BTreeMap<&'static str, u64>,
}

impl Thresholds {
    /// A limit's value. An unknown name is 0, which no test of the catalogue lets pass.
    pub(crate) fn get(&self, name: &str) -> u64 {
        self.changed
            .get(name)
            .copied()
            .or_else(|| {
                THRESHOLDS
                    .iter()
                    .find(|t| t.name == name)
                    .map(|t| t.default)
            })
            .unwrap_or_default()
    }

    /// Changes a limit; the error says what is wrong.
    pub(crate) fn set(&mut self, name: &str, value: u64) -> Result<(), String> {
        let Some(threshold) = THRESHOLDS.iter().find(|t| t.name == name) else {
            let names: Vec<&str> = THRESHOLDS.iter().map(|t| t.name).collect();
            return Err(format!(
                "{name:?} is no threshold; there are {}",
                names.join(", ")
            ));
        };
        self.changed.insert(threshold.name, value);
        Ok(())
    }
}
