//! Counters of a port.

use std::collections::BTreeMap;

use crate::model::Reading;

/// A counter that checks look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counter {
    /// Its file's name.
    pub(crate) name: &'static str,
    /// The directory of the port it is in.
    pub(crate) group: CounterKind,
    /// What its growth tells.
    pub(crate) meaning: &'static str,
    /// The value at which it stays, for those of `counters`: their width in the `PortCounters` attribute of the
    /// InfiniBand specification, as drivers/infiniband/core/sysfs.c has it. None of `hw_counters` stays: they wrap.
    pub(crate) saturates_at: Option<u64>,
    /// Whether a total says something of the link; the others grow on healthy nodes too and count only as a rate.
    pub(crate) total_tells: bool,
}

/// Which directory a counter is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CounterKind {
    /// `ports/N/counters`.
    Port,
    /// `ports/N/hw_counters`.
    Hardware,
}

impl CounterKind {
    /// The directory's name.
    pub(crate) fn dir(self) -> &'static str {
        match self {
            Self::Port => "counters",
            Self::Hardware => "hw_counters",
        }
    }
}

const fn port(name: &'static str, bits: u32, meaning: &'static str) -> Counter {
    Counter {
        name,
        group: CounterKind::Port,
        meaning,
        saturates_at: Some((1 << bits) - 1),
        total_tells: true,
    }
}

const fn hardware(name: &'static str, total_tells: bool, meaning: &'static str) -> Counter {
    Counter {
        name,
        group: CounterKind::Hardware,
        meaning,
        saturates_at: None,
        total_tells,
    }
}

/// How often the link went down.
pub(crate) const LINK_DOWNED: Counter = port("link_downed", 8, "the link went down");

/// The counters of errors. Only these are read: some firmware logs an error for each group that is asked for.
pub(crate) const ERROR_COUNTERS: &[Counter] = &[
    port("symbol_error", 16, "bit errors on the link"),
    port("link_error_recovery", 8, "the link had to be retrained"),
    port("port_rcv_errors", 16, "damaged packets received"),
    port(
        "port_rcv_remote_physical_errors",
        16,
        "packets damaged before the other end",
    ),
    port("port_xmit_discards", 16, "packets dropped before sending"),
    port(
        "port_xmit_constraint_errors",
        8,
        "packets not sent: partition or raw filter",
    ),
    port(
        "port_rcv_constraint_errors",
        8,
        "packets refused: partition or raw filter",
    ),
    port(
        "local_link_integrity_errors",
        4,
        "too many bit errors in a row",
    ),
    port(
        "excessive_buffer_overrun_errors",
        4,
        "receive buffers overrun",
    ),
    hardware("packet_seq_err", true, "packets lost and sent again"),
    hardware("implied_nak_seq_err", true, "responses lost"),
    hardware(
        "local_ack_timeout_err",
        true,
        "no answer from the other end in time",
    ),
    hardware(
        "req_transport_retries_exceeded",
        true,
        "connections given up",
    ),
    hardware(
        "rx_icrc_encapsulated",
        true,
        "RoCE packets with a wrong checksum",
    ),
    hardware(
        "out_of_sequence",
        false,
        "packets lost or reordered on the way",
    ),
    hardware("rnr_nak_retry_err", false, "the receiver was not ready"),
    hardware("rp_cnp_ignored", false, "congestion notices ignored"),
];

/// One directory of counters: names to values. Names differ by driver and release, and a missing one is no error.
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

impl PortCounters {
    /// A directory of counters.
    pub(crate) fn group(&self, kind: CounterKind) -> &Reading<CounterGroup> {
        match kind {
            CounterKind::Port => &self.counters,
            CounterKind::Hardware => &self.hw_counters,
        }
    }

    /// A counter's value; `None` where the port does not have it, which is not the same as zero.
    pub(crate) fn value(&self, counter: &Counter) -> Option<&Reading<u64>> {
        self.group(counter.group)
            .as_ref()
            .ok()?
            .values
            .get(counter.name)
    }

    /// True where neither directory exists.
    pub(crate) fn are_absent(&self) -> bool {
        [&self.counters, &self.hw_counters]
            .iter()
            .all(|g| g.as_ref().is_err_and(crate::model::Unread::is_absent))
    }
}
