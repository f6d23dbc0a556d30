//! PCI links and bridges.

use crate::model::Reading;

/// Speed and width of a function's link, as sysfs shows them. `Ok(None)`: the kernel says that it does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PciLink {
    /// `current_link_speed` in MT/s (32.0 GT/s is 32000).
    pub(crate) current_mts: Reading<Option<u32>>,
    /// `max_link_speed` in MT/s.
    pub(crate) max_mts: Reading<Option<u32>>,
    /// `current_link_width` in lanes.
    pub(crate) current_width: Reading<Option<u32>>,
    /// `max_link_width` in lanes.
    pub(crate) max_width: Reading<Option<u32>>,
    /// Directory below the root they were read from.
    pub(crate) dir: String,
    /// The other end: the bridge the function is plugged into, when there is one.
    pub(crate) slot: Option<Slot>,
}

/// What the bridge above a function could do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    /// `max_link_speed` in MT/s.
    pub(crate) max_mts: Reading<Option<u32>>,
    /// `max_link_width` in lanes.
    pub(crate) max_width: Reading<Option<u32>>,
    /// Directory below the root they were read from.
    pub(crate) dir: String,
}

/// A PCI bridge above a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bridge {
    /// ACS control register; `Ok(None)` where the bridge has no ACS capability. Only root can read it.
    pub(crate) acs_control: Reading<Option<u16>>,
    /// Port type of the PCI Express capability: 4 root port, 5 upstream, 6 downstream.
    pub(crate) port_type: Option<u8>,
    /// Directory below the root.
    pub(crate) dir: String,
}
