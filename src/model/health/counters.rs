//! Counters of a port.

use std::collections::BTreeMap;

use crate::model::Reading;

/// One directory of counters: names to values. Names differ by driver and release, and a new one is no error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CounterGroup {
    /// Values, by name; each may fail by itself (`N/A (no PMA)` of old kernels is `Malformed`).
    pub(crate) values: BTreeMap<String, Reading<u64>>,
}

/// Counters of a port, at one or two moments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PortCounters {
    /// `ports/N/counters`: saturate at their width. Absent for copies of a device in other network namespaces.
    pub(crate) counters: Reading<CounterGroup>,
    /// `ports/N/hw_counters`: names of the driver.
    pub(crate) hw_counters: Reading<CounterGroup>,
    /// The same a while later, with `--interval`; how long in milliseconds.
    pub(crate) later: Option<(u64, Box<PortCounters>)>,
}
