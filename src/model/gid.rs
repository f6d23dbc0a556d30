//! GIDs and the rows of a port's GID table.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::{Reading, Unread};

/// A GID: 16 bytes in network order. On RoCE it is an IPv6 or IPv4-mapped address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Gid(pub(crate) [u8; 16]);

/// What kind of address a GID is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GidClass {
    /// All zero, or `fe80::` with a zero interface id: how the kernel shows an unused row.
    Empty,
    /// fe80::/10.
    LinkLocal,
    /// IPv4-mapped 169.254/16.
    Ipv4LinkLocal,
    /// Any other IPv4-mapped address, RFC 1918 included.
    Ipv4,
    /// A unique local (fc00::/7) or global IPv6 address.
    Ipv6,
}

impl Gid {
    /// Returns the class of the address.
    pub(crate) fn class(self) -> GidClass {
        let b = self.0;
        if self.is_empty() {
            GidClass::Empty
        } else if let Some(v4) = self.ipv4() {
            if v4.is_link_local() {
                GidClass::Ipv4LinkLocal
            } else {
                GidClass::Ipv4
            }
        } else if b[0] == 0xfe && b[1] & 0xc0 == 0x80 {
            GidClass::LinkLocal
        } else {
            GidClass::Ipv6
        }
    }

    /// True for an unused row: all zero, or the bare link-local prefix that old kernels show instead.
    pub(crate) fn is_empty(self) -> bool {
        self.0 == [0; 16]
            || (self.0[..8] == [0xfe, 0x80, 0, 0, 0, 0, 0, 0] && self.0[8..] == [0; 8])
    }

    /// The IPv4 address of an IPv4-mapped GID.
    pub(crate) fn ipv4(self) -> Option<Ipv4Addr> {
        Ipv6Addr::from(self.0).to_ipv4_mapped()
    }

    /// The GID as an address: IPv4 where it is mapped.
    pub(crate) fn address(self) -> std::net::IpAddr {
        self.ipv4()
            .map_or_else(|| Ipv6Addr::from(self.0).into(), Into::into)
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ipv6Addr::from(self.0).fmt(f)
    }
}

impl fmt::Debug for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Text of `gid_attrs/types/N`. The kernel writes the same text for InfiniBand and RoCE v1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GidType {
    /// `IB/RoCE v1` (or `RoCE v1` of some drivers).
    V1,
    /// `RoCE v2`.
    V2,
    /// Anything else, as written.
    Other(String),
}

impl fmt::Display for GidType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V1 => f.write_str("v1"),
            Self::V2 => f.write_str("v2"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

/// One row of a GID table that holds a GID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GidRow {
    /// Index in the table, the number that `NCCL_IB_GID_INDEX` means.
    pub(crate) index: u32,
    /// The GID.
    pub(crate) gid: Gid,
    /// RoCE version, from `gid_attrs/types`.
    pub(crate) kind: Reading<GidType>,
    /// Network device the row belongs to, from `gid_attrs/ndevs`; may be one of another network namespace.
    pub(crate) ndev: Reading<String>,
}

/// A port's GID table: the rows that hold something, in ascending order of index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct GidTable {
    /// Rows with a GID.
    pub(crate) rows: Vec<GidRow>,
    /// Rows whose GID could not be read.
    pub(crate) unread: Vec<(u32, Unread)>,
    /// Number of rows of the table, empty ones included; `None` where only the first rows were read.
    pub(crate) len: Option<u32>,
}

impl GidTable {
    /// The row at an index, when it holds a GID.
    pub(crate) fn row(&self, index: u32) -> Option<&GidRow> {
        self.rows
            .binary_search_by_key(&index, |r| r.index)
            .ok()
            .and_then(|i| self.rows.get(i))
    }

    /// True where every row of the table was looked at.
    pub(crate) fn is_complete(&self) -> bool {
        self.len.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::{Gid, GidClass};
    use std::net::Ipv6Addr;

    fn class(text: &str) -> GidClass {
        Gid(text.parse::<Ipv6Addr>().unwrap().octets()).class()
    }

    #[test]
    fn classes_follow_the_address() {
        assert_eq!(class("::"), GidClass::Empty);
        assert_eq!(class("fe80::"), GidClass::Empty);
        assert_eq!(class("fe80::1"), GidClass::LinkLocal);
        assert_eq!(class("febf::1"), GidClass::LinkLocal);
        assert_eq!(class("::ffff:169.254.3.1"), GidClass::Ipv4LinkLocal);
        assert_eq!(class("::ffff:10.0.0.1"), GidClass::Ipv4);
        assert_eq!(class("fd00::1"), GidClass::Ipv6);
        assert_eq!(class("2001:db8::1"), GidClass::Ipv6);
    }
}
