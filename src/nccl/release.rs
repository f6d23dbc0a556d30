//! NCCL releases, and the one table of what changed in which.
//!
//! No other file of this module names a release to decide by; they ask `release.has(Feature::…)`. A release that is not
//! in `KNOWN` (a vendor's build, something newer) behaves as the table says for its number.

use std::fmt;
use std::str::FromStr;

/// A release of NCCL, for example 2.27.7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Release {
    major: u16,
    minor: u16,
    patch: u16,
}

/// A text that is no NCCL release.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not an NCCL version (expected 2.27.7 or a code like 22707)")]
pub(crate) struct ParseReleaseError {
    text: String,
}

/// The releases of the public repository that the model covers, oldest first.
pub(crate) const KNOWN: &[Release] = &[
    Release::new(2, 18, 1),
    Release::new(2, 18, 3),
    Release::new(2, 18, 5),
    Release::new(2, 19, 1),
    Release::new(2, 19, 3),
    Release::new(2, 19, 4),
    Release::new(2, 20, 3),
    Release::new(2, 20, 5),
    Release::new(2, 21, 5),
    Release::new(2, 22, 3),
    Release::new(2, 23, 4),
    Release::new(2, 24, 3),
    Release::new(2, 25, 1),
    Release::new(2, 26, 2),
    Release::new(2, 26, 5),
    Release::new(2, 27, 3),
    Release::new(2, 27, 5),
    Release::new(2, 27, 7),
    Release::new(2, 28, 3),
    Release::new(2, 28, 7),
    Release::new(2, 28, 9),
    Release::new(2, 29, 2),
    Release::new(2, 29, 3),
    Release::new(2, 29, 7),
    Release::new(2, 30, 3),
    Release::new(2, 30, 4),
    Release::new(2, 30, 7),
];

impl Release {
    /// The oldest release the model covers.
    pub(crate) const OLDEST: Self = Self::new(2, 18, 1);
    /// The newest release the model was checked against.
    pub(crate) const NEWEST: Self = Self::new(2, 30, 7);

    /// Makes one from its three numbers.
    pub(crate) const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self {
            major,
            minor,
            patch,
        }
    }

    /// The code `ncclGetVersion` gives: 2.27.7 is 22707, and 2.8.4 was 2804.
    pub(crate) fn code(self) -> u32 {
        let (major, minor, patch) = (
            u32::from(self.major),
            u32::from(self.minor),
            u32::from(self.patch),
        );
        let weight = if self <= Self::new(2, 8, u16::MAX) {
            1_000
        } else {
            10_000
        };
        major * weight + minor * 100 + patch
    }

    /// True where the release behaves as the feature says.
    pub(crate) fn has(self, feature: Feature) -> bool {
        CHANGES.iter().any(|c| {
            c.feature == feature && c.since <= self && c.until.is_none_or(|until| self < until)
        })
    }

    fn from_code(code: u32) -> Option<Self> {
        let weight = if code < 10_000 { 1_000 } else { 10_000 };
        let part = |n: u32| u16::try_from(n).ok();
        Some(Self::new(
            part(code / weight)?,
            part(code % weight / 100)?,
            part(code % 100)?,
        ))
    }
}

impl FromStr for Release {
    type Err = ParseReleaseError;

    /// Reads `2.27.7`, `v2.27.7-1`, `2.27.7+cuda12.9`, `22707`; of `2.27` the newest known release with these numbers.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseReleaseError { text: text.into() };
        let trimmed = text.trim();
        let body = trimmed.strip_prefix(['v', 'V']).unwrap_or(trimmed);
        let body = body.split(['-', '+']).next().unwrap_or(body);
        let mut numbers = Vec::new();
        for part in body.split('.') {
            if !part.bytes().all(|b| b.is_ascii_digit()) {
                return Err(error());
            }
            numbers.push(part.parse::<u32>().map_err(|_| error())?);
        }
        let small = |n: u32| u16::try_from(n).map_err(|_| error());
        match *numbers.as_slice() {
            [code] if code >= 1_000 => Self::from_code(code).ok_or_else(error),
            [major, minor] => {
                let (major, minor) = (small(major)?, small(minor)?);
                Ok(KNOWN
                    .iter()
                    .rfind(|r| r.major == major && r.minor == minor)
                    .copied()
                    .unwrap_or(Self::new(major, minor, 0)))
            }
            [major, minor, patch] => Ok(Self::new(small(major)?, small(minor)?, small(patch)?)),
            _ => Err(error()),
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{}.{}", self.major, self.minor, self.patch))
    }
}

/// Something some releases do and others do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Feature {
    /// 32 ports and 32 list entries; 16 before.
    ThirtyTwoDevices,
    /// The transport itself joins two ports of a card.
    TransportMerge,
    /// One single-port card switches joining off for the whole node.
    MixStopsMerge,
    /// A negative GID index means that NCCL looks for one.
    DynamicGid,
    /// A range without a slash ends the process.
    RangeNeedsSlash,
    /// InfiniBand ports look at a GID for an FLID.
    FlidGid,
    /// `NCCL_CONF_FILE` is read.
    ConfFileVariable,
    /// The topology step makes virtual devices of ports that are near.
    TopologyMerge,
    /// No socket interface is reported as invalid usage; as internal error before.
    NoInterfaceIsUsage,
    /// Ports of two link layers are not joined.
    MergeChecksLink,
    /// EINVAL of a GID's type file is no error.
    UnreadTypeTolerated,
    /// The version of a candidate whose type cannot be read counts as none, and is not left to chance.
    CandidateVersionSet,
    /// `#` in the first column of a configuration file starts a comment.
    CommentLines,
    /// Only interfaces with carrier count.
    RunningInterfaces,
    /// `virbr*` is a last resort; an ordinary name before.
    VirbrLast,
    /// Devices are sorted by PCI address.
    PciOrder,
    /// The home directory is `$HOME`; the password file's before.
    HomeVariable,
    /// A carriage return at the end of a configuration line is dropped.
    CarriageReturns,
    /// A configuration line is read in pieces of 4095 bytes.
    LinePieces,
    /// A group of `NCCL_NET_FORCE_MERGE` holds eight entries; four before.
    EightInGroup,
    /// Entries have the form `name:port:rail:plane`, an empty port means any, names are cut after 63 bytes.
    RailSyntax,
    /// `NCCL_NET_MERGE_POLICY` is read.
    MergePolicy,
    /// A virtual device across NUMA nodes is an error.
    MergeWithinNuma,
    /// Peer memory is also looked for under the name `nvidia-peermem`.
    PeermemByModuleName,
    /// Peer memory is also looked for under the name `nv_mem_nc`.
    PeermemNonCoherent,
    /// A loaded `nvidia_peermem` is enough.
    PeermemLoaded,
    /// `GPUDirect` goes as far as P2C by default; PXB before.
    GdrAcrossC2c,
}

/// When a feature came and, where it is gone, when it went.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change {
    /// What changed.
    pub(crate) feature: Feature,
    /// The first release that has it.
    pub(crate) since: Release,
    /// The first release without it again.
    pub(crate) until: Option<Release>,
}

const fn since(feature: Feature, minor: u16, patch: u16) -> Change {
    Change {
        feature,
        since: Release::new(2, minor, patch),
        until: None,
    }
}

const fn between(feature: Feature, from: (u16, u16), until: (u16, u16)) -> Change {
    Change {
        feature,
        since: Release::new(2, from.0, from.1),
        until: Some(Release::new(2, until.0, until.1)),
    }
}

/// Every difference between releases that the model knows, in the order in which they came.
///
/// Found by comparing the tags of the public repository: `net_ib.cc` (the directory `net_ib/` from 2.29.2), `socket.cc`
/// (`os/linux.cc` from 2.29.2), `bootstrap.cc`, `param.cc`, `graph/topo.cc`. `MergeWithinNuma` was only seen in 2.30.7; it
/// may be older.
pub(crate) const CHANGES: &[Change] = &[
    between(Feature::PeermemByModuleName, (9, 8), (22, 3)),
    since(Feature::ThirtyTwoDevices, 18, 5),
    between(Feature::TransportMerge, (20, 3), (24, 3)),
    since(Feature::DynamicGid, 21, 5),
    between(Feature::RangeNeedsSlash, (21, 5), (23, 4)),
    since(Feature::FlidGid, 22, 3),
    between(Feature::MixStopsMerge, (22, 3), (24, 3)),
    since(Feature::PeermemNonCoherent, 22, 3),
    since(Feature::ConfFileVariable, 23, 4),
    since(Feature::PeermemLoaded, 23, 4),
    since(Feature::TopologyMerge, 24, 3),
    since(Feature::NoInterfaceIsUsage, 24, 3),
    since(Feature::MergeChecksLink, 26, 2),
    since(Feature::UnreadTypeTolerated, 26, 2),
    since(Feature::CandidateVersionSet, 26, 2),
    since(Feature::CommentLines, 26, 2),
    since(Feature::RunningInterfaces, 28, 3),
    since(Feature::VirbrLast, 28, 3),
    since(Feature::GdrAcrossC2c, 29, 2),
    since(Feature::PciOrder, 29, 7),
    since(Feature::HomeVariable, 30, 3),
    since(Feature::CarriageReturns, 30, 3),
    since(Feature::LinePieces, 30, 3),
    since(Feature::EightInGroup, 30, 3),
    since(Feature::RailSyntax, 30, 7),
    since(Feature::MergePolicy, 30, 7),
    since(Feature::MergeWithinNuma, 30, 7),
];

#[cfg(test)]
mod tests {
    use super::{CHANGES, Feature, KNOWN, Release};

    fn release(text: &str) -> Release {
        text.parse().unwrap()
    }

    #[test]
    fn every_way_of_writing_a_release_is_read() {
        for text in [
            "2.27.7",
            "2.27.7-1",
            "v2.27.7",
            "v2.27.7-1",
            "2.27.7+cuda12.9",
            " 22707\n",
        ] {
            assert_eq!(release(text), Release::new(2, 27, 7), "{text}");
        }
        assert_eq!(release("v2.27"), Release::new(2, 27, 7));
        assert_eq!(release("2.99"), Release::new(2, 99, 0));
        assert_eq!(release("2804"), Release::new(2, 8, 4));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "2",
            "x",
            "2.x",
            "2.27.7.1",
            "2..7",
            "-1",
            "99999999999",
            "2.70000.1",
        ] {
            assert!(text.parse::<Release>().is_err(), "{text}");
        }
    }

    #[test]
    fn codes_are_what_nccl_prints() {
        assert_eq!(release("2.27.7").code(), 22707);
        assert_eq!(release("2.8.4").code(), 2804);
        for known in KNOWN {
            assert_eq!(release(&known.code().to_string()), *known);
            assert_eq!(release(&known.to_string()), *known);
        }
    }

    #[test]
    fn releases_are_ordered_by_number() {
        assert!(KNOWN.is_sorted());
        assert!(release("2.9.8") < release("2.18.1"));
        assert_eq!(KNOWN.first(), Some(&Release::OLDEST));
        assert_eq!(KNOWN.last(), Some(&Release::NEWEST));
    }

    #[test]
    fn a_feature_has_one_row_and_the_rows_are_in_order() {
        let mut features: Vec<_> = CHANGES.iter().map(|c| c.feature).collect();
        features.sort();
        features.dedup();
        assert_eq!(features.len(), CHANGES.len());
        assert!(CHANGES.is_sorted_by_key(|c| c.since));
    }

    #[test]
    fn features_come_and_go() {
        assert!(!release("2.20.5").has(Feature::DynamicGid));
        assert!(release("2.21.5").has(Feature::DynamicGid));
        assert!(release("2.22.3").has(Feature::RangeNeedsSlash));
        assert!(!release("2.23.4").has(Feature::RangeNeedsSlash));
        assert!(release("2.99.0").has(Feature::RailSyntax));
    }
}
