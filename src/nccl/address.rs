//! Address families, the address range of `NCCL_IB_ADDR_RANGE`, and the address in `NCCL_COMM_ID`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::number::{atoi, parse};
use super::outcome::Crash;
use super::release::{Feature, Release};
use super::selector::Selector;
use crate::model::Gid;

/// IPv4 or IPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// `AF_INET`.
    V4,
    /// `AF_INET6`.
    V6,
}

impl Family {
    /// Reads `NCCL_IB_ADDR_FAMILY`: IPv6 only by its exact name, IPv4 by anything else.
    pub(crate) fn of_gids(text: Option<&str>) -> Self {
        Self::of_sockets(text).unwrap_or(Self::V4)
    }

    /// Reads `NCCL_SOCKET_FAMILY`: exact names only; anything else is no preference.
    pub(crate) fn of_sockets(text: Option<&str>) -> Option<Self> {
        match text {
            Some("AF_INET") => Some(Self::V4),
            Some("AF_INET6") => Some(Self::V6),
            _ => None,
        }
    }

    /// The family of a GID. Only IPv4-mapped addresses, and the multicast form of them, are IPv4; an empty row is IPv6.
    pub(crate) fn of(gid: Gid) -> Self {
        let (prefix, _) = gid.0.split_at(12);
        let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
        let multicast = [0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
        if prefix == mapped || prefix == multicast {
            Self::V4
        } else {
            Self::V6
        }
    }

    /// The family of an address.
    pub(crate) fn of_ip(ip: IpAddr) -> Self {
        match ip {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }
}

/// The part of `NCCL_IB_ADDR_RANGE` that NCCL keeps of the text, in bytes.
const RANGE_BYTES: usize = 127;

/// Which GIDs `NCCL_IB_ADDR_RANGE` lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Range {
    /// All: none is set, or NCCL ignores it. The second case says why.
    All(Option<IgnoredRange>),
    /// None: the prefix length is negative.
    Nothing,
    /// Those of a network.
    Network(IpAddr, u32),
}

/// Why NCCL ignores an address range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IgnoredRange {
    /// There is no slash.
    NoSlash,
    /// What stands before the slash is no address of the family in use.
    Address,
    /// The prefix is longer than the address.
    Prefix,
    /// The prefix length is 0, or no number.
    ZeroPrefix,
}

impl Range {
    /// Reads a range for a family, or says that the release dies of it.
    ///
    /// Source: `envIbAddrRange` and `matchGidAddrPrefix`.
    pub(crate) fn parse(
        text: Option<&str>,
        family: Family,
        release: Release,
    ) -> Result<Self, Crash> {
        let Some(text) = text.filter(|t| !t.is_empty()) else {
            return Ok(Self::All(None));
        };
        let mut end = text.len().min(RANGE_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let ignored = |why| Ok(Self::All(Some(why)));
        let Some((address, prefix)) = text[..end].split_once('/') else {
            return if release.has(Feature::RangeNeedsSlash) {
                Err(Crash::RangeWithoutSlash)
            } else {
                ignored(IgnoredRange::NoSlash)
            };
        };
        let (address, bits) = match family {
            Family::V4 => (address.parse::<Ipv4Addr>().map(IpAddr::V4), 32),
            Family::V6 => (address.parse::<Ipv6Addr>().map(IpAddr::V6), 128),
        };
        let Ok(address) = address else {
            return ignored(IgnoredRange::Address);
        };
        match u32::try_from(atoi(prefix)) {
            Err(_) => Ok(Self::Nothing),
            Ok(0) => ignored(IgnoredRange::ZeroPrefix),
            Ok(prefix) if prefix > bits => ignored(IgnoredRange::Prefix),
            Ok(prefix) => Ok(Self::Network(address, prefix)),
        }
    }

    /// True where the range lets a GID through. Of an IPv4 range only the last four bytes are compared.
    pub(crate) fn contains(self, gid: Gid) -> bool {
        match self {
            Self::All(_) => true,
            Self::Nothing => false,
            Self::Network(IpAddr::V4(network), prefix) => {
                let [.., a, b, c, d] = gid.0;
                let address = Ipv4Addr::new(a, b, c, d);
                (u32::from(network) ^ u32::from(address))
                    .checked_shr(32 - prefix.min(32))
                    .unwrap_or(0)
                    == 0
            }
            Self::Network(IpAddr::V6(network), prefix) => {
                (u128::from(network) ^ u128::from_be_bytes(gid.0))
                    .checked_shr(128 - prefix.min(128))
                    .unwrap_or(0)
                    == 0
            }
        }
    }
}

/// The address in `NCCL_COMM_ID`, by which bootstrap looks for an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CommId {
    /// An address, and the interface it is bound to (`[fe80::1%eth0]:5000`).
    Address(IpAddr, Option<String>),
    /// A host name: which address it has is not known here.
    Host(String),
    /// Brackets without an IPv6 address in them: NCCL goes on with an address it never set, which is in no subnet.
    Unset,
    /// No text NCCL can read an address from.
    Invalid,
}

impl CommId {
    /// Reads the value: `ip:port`, `[ip%interface]:port` or `host:port`; the port does not matter.
    ///
    /// Source: `ncclSocketGetAddrFromString` (`src/misc/socket.cc`). A host name is resolved there; a name that is only
    /// digits and dots is an address in one of the old short forms.
    pub(crate) fn parse(text: &str, release: Release) -> Self {
        if text.len() < 2 {
            return Self::Invalid;
        }
        if let Some(inner) = text.strip_prefix('[') {
            let Some((inside, _)) = inner.split_once(']') else {
                return Self::Invalid;
            };
            let (address, interface) = match inside.rsplit_once('%') {
                Some((address, interface)) => (address, Some(interface.to_owned())),
                None => (inside, None),
            };
            return address
                .parse::<Ipv6Addr>()
                .map_or(Self::Unset, |ip| Self::Address(ip.into(), interface));
        }
        let list = Selector::group(text, 1, release);
        let Some(entry) = list.entries.first() else {
            return Self::Invalid;
        };
        match short_ipv4(&entry.name) {
            Some(ip) => Self::Address(ip.into(), None),
            None if entry.name.bytes().all(|b| b.is_ascii_digit() || b == b'.') => Self::Invalid,
            None => Self::Host(entry.name.clone()),
        }
    }
}

/// Reads an IPv4 address as `inet_aton` does: one to four numbers of any base, the last filling the rest.
fn short_ipv4(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u32> = text
        .split('.')
        .map(|part| {
            let number = parse(part);
            let plain = part.bytes().next().is_some_and(|b| b.is_ascii_digit());
            (plain && !number.rest)
                .then(|| u32::try_from(number.value).ok())
                .flatten()
        })
        .collect::<Option<_>>()?;
    let (last, first) = parts.split_last()?;
    if first.len() > 3 || first.iter().any(|n| *n > 255) {
        return None;
    }
    let free_bits = 8 * (4 - u32::try_from(first.len()).ok()?);
    if u64::from(*last) >= 1_u64 << free_bits {
        return None;
    }
    let high = first
        .iter()
        .zip([24, 16, 8])
        .fold(0, |sum, (n, shift)| sum | n << shift);
    Some(Ipv4Addr::from(high | last))
}

#[cfg(test)]
mod tests {
    use super::{CommId, Crash, Family, Gid, IgnoredRange, Range, Release};
    use proptest::prelude::*;
    use std::net::Ipv6Addr;

    const OLD: Release = Release::new(2, 21, 5);
    const NEW: Release = Release::new(2, 27, 7);

    fn gid(text: &str) -> Gid {
        Gid(text.parse::<Ipv6Addr>().unwrap().octets())
    }

    fn range(text: &str, family: Family) -> Range {
        Range::parse(Some(text), family, NEW).unwrap()
    }

    #[test]
    fn families_are_read_by_their_exact_names() {
        assert_eq!(Family::of_gids(Some("AF_INET6")), Family::V6);
        for text in [
            None,
            Some(""),
            Some("AF_INET6 "),
            Some("af_inet6"),
            Some("ipv6"),
        ] {
            assert_eq!(Family::of_gids(text), Family::V4);
            assert_eq!(Family::of_sockets(text), None);
        }
    }

    #[test]
    fn an_empty_gid_is_ipv6() {
        assert_eq!(Family::of(gid("::")), Family::V6);
        assert_eq!(Family::of(gid("::ffff:10.0.0.1")), Family::V4);
        assert_eq!(Family::of(gid("ff0e::ffff:e000:1")), Family::V4);
        assert_eq!(Family::of(gid("::10.0.0.1")), Family::V6);
    }

    #[test]
    fn a_range_selects_a_network() {
        let v4 = range("10.1.0.0/16", Family::V4);
        assert!(v4.contains(gid("::ffff:10.1.2.3")));
        assert!(!v4.contains(gid("::ffff:10.2.2.3")));
        let v6 = range("fd00:1::/33", Family::V6);
        assert!(v6.contains(gid("fd00:1:7fff::1")));
        assert!(!v6.contains(gid("fd00:1:8000::1")));
        assert!(range("fd00::1/128", Family::V6).contains(gid("fd00::1")));
        assert!(range("10.0.0.1/32", Family::V4).contains(gid("::ffff:10.0.0.1")));
    }

    #[test]
    fn ranges_nccl_cannot_read_let_all_through() {
        for (text, family, why) in [
            ("10.0.0.1", Family::V4, IgnoredRange::NoSlash),
            ("10.0.0.0/33", Family::V4, IgnoredRange::Prefix),
            ("10.0.0.0/", Family::V4, IgnoredRange::ZeroPrefix),
            ("10.0.0.0/x", Family::V4, IgnoredRange::ZeroPrefix),
            ("fd00::/64", Family::V4, IgnoredRange::Address),
            ("10.0.0.0/8", Family::V6, IgnoredRange::Address),
            ("010.0.0.0/8", Family::V4, IgnoredRange::Address),
            ("fd00::/129", Family::V6, IgnoredRange::Prefix),
        ] {
            assert_eq!(range(text, family), Range::All(Some(why)), "{text}");
        }
        assert_eq!(range("", Family::V4), Range::All(None));
    }

    #[test]
    fn a_negative_prefix_lets_nothing_through() {
        for text in ["10.0.0.0/-1", "10.0.0.0/99999999999999999999"] {
            assert_eq!(range(text, Family::V4), Range::Nothing, "{text}");
        }
    }

    #[test]
    fn a_range_without_slash_kills_some_releases() {
        assert_eq!(
            Range::parse(Some("10.0.0.1"), Family::V4, OLD),
            Err(Crash::RangeWithoutSlash)
        );
        assert_eq!(
            Range::parse(Some(""), Family::V4, OLD),
            Ok(Range::All(None))
        );
    }

    #[test]
    fn a_comm_id_is_an_address_or_a_host() {
        let parse = |text| CommId::parse(text, NEW);
        let v4 = |text: &str| CommId::Address(text.parse().unwrap(), None);
        assert_eq!(parse("10.0.0.1:5000"), v4("10.0.0.1"));
        assert_eq!(parse("10.0.0.1"), v4("10.0.0.1"));
        assert_eq!(parse("10.1:5000"), v4("10.0.0.1"));
        assert_eq!(parse("0x0a.0.0.1:5000"), v4("10.0.0.1"));
        assert_eq!(parse("[fd00::1]:5000"), v4("fd00::1"));
        assert_eq!(
            parse("[fe80::1%eth2]:5000"),
            CommId::Address("fe80::1".parse().unwrap(), Some("eth2".into()))
        );
        assert_eq!(parse("node7:5000"), CommId::Host("node7".into()));
        assert_eq!(parse("[x]:1"), CommId::Unset);
        for text in ["", "1", "[fd00::1", ":5000", "256.1.1.1:1", "1.2.3.4.5:1"] {
            assert_eq!(parse(text), CommId::Invalid, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in any::<String>(), bytes in any::<[u8; 16]>()) {
            CommId::parse(&text, NEW);
            for family in [Family::V4, Family::V6] {
                for text in [text.clone(), format!("10.0.0.0/{text}"), format!("fd00::/{text}")] {
                    if let Ok(range) = Range::parse(Some(&text), family, OLD) {
                        range.contains(Gid(bytes));
                    }
                }
            }
        }
    }
}
