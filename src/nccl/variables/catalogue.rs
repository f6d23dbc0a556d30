//! One variable of the catalogue, and look-ups over all of them.

use crate::nccl::release::Release;

/// How NCCL reads a value, and which values mean something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An integer by the rules of `number`. NCCL checks no range; the limits are those of what the value is for.
    Integer {
        /// The least value that means something.
        min: i64,
        /// The greatest value that means something.
        max: i64,
    },
    /// One of some words. Other text is not an error.
    Words {
        /// The words.
        words: &'static [&'static str],
        /// Whether upper and lower case matter.
        exact: bool,
    },
    /// A list of devices, `[^][=]name[:port…],…`.
    Devices,
    /// A list of interfaces, `[^][=]name,…`.
    Interfaces,
    /// Text that only means something to NCCL as a whole: a name, a path, a list of its own.
    Text,
}

impl Kind {
    /// Any integer.
    pub(crate) const INTEGER: Self = Self::Integer {
        min: i64::MIN,
        max: i64::MAX,
    };
    /// 0 or 1.
    pub(crate) const SWITCH: Self = Self::Integer { min: 0, max: 1 };

    /// Integers from `min` to `max`.
    pub(crate) const fn range(min: i64, max: i64) -> Self {
        Self::Integer { min, max }
    }
}

/// A variable NCCL reads, or once read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variable {
    /// Its name.
    pub(crate) name: &'static str,
    /// How it is read.
    pub(crate) kind: Kind,
    /// The first release known to read it.
    pub(crate) since: Release,
    /// The last release known to read it, where newer ones do not.
    pub(crate) last: Option<Release>,
    /// What to use instead, where it is gone, misspelt or no longer recommended.
    pub(crate) instead: Option<&'static str>,
    /// The value without a setting, by the release that introduced it; empty where unset is a case of its own.
    pub(crate) defaults: &'static [(Release, i64)],
    /// One line on what it does; empty for variables that have nothing to do with the network.
    pub(crate) meaning: &'static str,
}

/// A variable of the network that releases still read.
pub(super) const fn variable(
    name: &'static str,
    kind: Kind,
    since: Release,
    defaults: &'static [(Release, i64)],
    meaning: &'static str,
) -> Variable {
    Variable {
        name,
        kind,
        since,
        last: None,
        instead: None,
        defaults,
        meaning,
    }
}

/// What a release makes of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It reads it.
    Read,
    /// It does not know it yet; the release from which on it is read.
    NotYet(Release),
    /// It does not know it any more; the last release that read it.
    Gone(Release),
}

impl Variable {
    /// What a release makes of the variable.
    pub(crate) fn state(&self, release: Release) -> State {
        match self.last {
            Some(last) if release > last => State::Gone(last),
            _ if release < self.since => State::NotYet(self.since),
            _ => State::Read,
        }
    }

    /// The value in a release without a setting, where that is a number.
    pub(crate) fn default(&self, release: Release) -> Option<i64> {
        self.defaults
            .iter()
            .rfind(|(since, _)| *since <= release)
            .map(|(_, value)| *value)
    }

    /// True for the variables this program knows more of than their names.
    pub(crate) fn is_network(&self) -> bool {
        !self.meaning.is_empty()
    }
}

/// Every variable: those of the InfiniBand and RoCE transport, the rest of the network, everything else.
pub(crate) fn all() -> impl Iterator<Item = &'static Variable> {
    super::infiniband::VARIABLES
        .iter()
        .chain(super::network::VARIABLES)
        .chain(super::socket::VARIABLES)
        .chain(super::other::VARIABLES)
}

/// A variable by its exact name.
pub(crate) fn find(name: &str) -> Option<&'static Variable> {
    all().find(|v| v.name == name)
}

/// What a name is that NCCL itself never reads, though it is often set.
pub(crate) fn foreign(name: &str) -> Option<&'static str> {
    FOREIGN
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, what)| *what)
}

/// Names beginning with `NCCL_` that belong to something else, or to nothing.
pub(crate) const FOREIGN: &[(&str, &str)] = &[
    (
        "NCCL_ASYNC_ERROR_HANDLING",
        "PyTorch's, now TORCH_NCCL_ASYNC_ERROR_HANDLING",
    ),
    (
        "NCCL_BLOCKING_WAIT",
        "PyTorch's, now TORCH_NCCL_BLOCKING_WAIT",
    ),
    ("NCCL_GID_INDEX", "NCCL_IB_GID_INDEX is meant"),
    (
        "NCCL_IBEXT_DISABLE",
        "read by the nccl-rdma-sharp plugin, not by NCCL",
    ),
    (
        "NCCL_IB_GDR",
        "no release reads it; NCCL_NET_GDR_LEVEL is meant",
    ),
    (
        "NCCL_IB_IFNAME",
        "no release reads it; NCCL_SOCKET_IFNAME or NCCL_IB_HCA is meant",
    ),
    (
        "NCCL_IB_IS_GLOBAL",
        "read by the nccl-rdma-sharp plugin, not by NCCL",
    ),
    (
        "NCCL_IB_ROCE_VERSION",
        "no release reads it; NCCL_IB_ROCE_VERSION_NUM is meant",
    ),
    (
        "NCCL_IB_TRAFFIC_CLASS",
        "no release reads it; NCCL_IB_TC is meant",
    ),
    ("NCCL_IFNAME", "NCCL_SOCKET_IFNAME is meant"),
    (
        "NCCL_PLUGIN_P2P",
        "read by the nccl-rdma-sharp plugin, not by NCCL",
    ),
    ("NCCL_SOCKET_NAME", "NCCL_SOCKET_IFNAME is meant"),
    (
        "NCCL_TIMEOUT",
        "no release reads it; NCCL_IB_TIMEOUT or the framework's own timeout is meant",
    ),
    (
        "NCCL_UCX_TLS",
        "read by the nccl-rdma-sharp plugin, not by NCCL",
    ),
    ("NCCL_VERSION", "a label of container images"),
];

#[cfg(test)]
mod tests {
    use super::{FOREIGN, Kind, State, all, find, foreign};
    use crate::nccl::release::{CHANGES, Feature, Release};
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_well_formed() {
        let mut names = BTreeSet::new();
        for name in all().map(|v| v.name).chain(FOREIGN.iter().map(|f| f.0)) {
            assert!(names.insert(name), "{name} twice");
            assert!(name.starts_with("NCCL_"), "{name}");
            assert!(
                name.bytes()
                    .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_'),
                "{name}"
            );
        }
        assert!(names.len() > 240);
    }

    #[test]
    fn releases_of_a_variable_are_in_order() {
        for variable in all() {
            assert!(
                variable.last.is_none_or(|last| variable.since <= last),
                "{}",
                variable.name
            );
            assert!(
                variable.defaults.is_sorted_by_key(|d| d.0),
                "{}",
                variable.name
            );
            assert!(
                variable
                    .defaults
                    .first()
                    .is_none_or(|d| d.0 == variable.since),
                "{}",
                variable.name
            );
        }
    }

    #[test]
    fn defaults_are_within_what_means_something() {
        for variable in all() {
            if let Kind::Integer { min, max } = variable.kind {
                for (since, value) in variable.defaults {
                    assert!(
                        (min..=max).contains(value),
                        "{} {since}: {value}",
                        variable.name
                    );
                }
            } else {
                assert!(variable.defaults.is_empty(), "{}", variable.name);
            }
        }
    }

    #[test]
    fn defaults_follow_the_release() {
        let default =
            |name, minor, patch| find(name).unwrap().default(Release::new(2, minor, patch));
        assert_eq!(default("NCCL_IB_TIMEOUT", 22, 3), Some(18));
        assert_eq!(default("NCCL_IB_TIMEOUT", 23, 4), Some(20));
        assert_eq!(default("NCCL_IB_GID_INDEX", 20, 5), Some(0));
        assert_eq!(default("NCCL_IB_GID_INDEX", 30, 7), Some(-1));
        assert_eq!(default("NCCL_IB_HCA", 30, 7), None);
    }

    #[test]
    fn a_variable_comes_and_goes() {
        let state = |name, minor, patch| find(name).unwrap().state(Release::new(2, minor, patch));
        assert_eq!(
            state("NCCL_IB_ADDR_RANGE", 20, 5),
            State::NotYet(Release::new(2, 21, 5))
        );
        assert_eq!(state("NCCL_IB_ADDR_RANGE", 21, 5), State::Read);
        assert_eq!(
            state("NCCL_IB_CUDA_SUPPORT", 27, 7),
            State::Gone(Release::new(2, 3, 7))
        );
        assert_eq!(
            find("NCCL_IB_CUDA_SUPPORT").unwrap().instead,
            Some("NCCL_NET_GDR_LEVEL")
        );
        assert_eq!(state("NCCL_DEBUG", 30, 7), State::Read);
    }

    #[test]
    fn a_feature_and_its_variable_came_together() {
        for (feature, name) in [
            (Feature::TransportMerge, "NCCL_IB_MERGE_NICS"),
            (Feature::DynamicGid, "NCCL_IB_ADDR_FAMILY"),
            (Feature::FlidGid, "NCCL_IB_ROUTABLE_FLID_GID_INDEX"),
            (Feature::ConfFileVariable, "NCCL_CONF_FILE"),
            (Feature::TopologyMerge, "NCCL_NET_MERGE_LEVEL"),
            (Feature::PciOrder, "NCCL_IB_DEVICE_PCI_ORDER"),
            (Feature::MergePolicy, "NCCL_NET_MERGE_POLICY"),
        ] {
            let change = CHANGES.iter().find(|c| c.feature == feature).unwrap();
            assert_eq!(change.since, find(name).unwrap().since, "{name}");
        }
    }

    #[test]
    fn names_of_others_are_known_as_such() {
        assert!(foreign("NCCL_IB_TRAFFIC_CLASS").is_some());
        assert!(foreign("NCCL_IB_TC").is_none());
        assert!(find("NCCL_IB_TRAFFIC_CLASS").is_none());
    }
}
