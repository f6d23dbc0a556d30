//! The list grammar of `NCCL_IB_HCA`, `NCCL_SOCKET_IFNAME` and the groups of `NCCL_NET_FORCE_MERGE`.
//!
//! `[^][=]entry[,entry…]`, an entry being `name[:port[:rail[:plane]]]`. Nothing is trimmed and nothing is an error: what
//! cannot match just does not. Source: `parseStringList` and `matchIfList` of `src/misc/utils.cc`, and the places that strip
//! the two marks in front (`ncclIbInit`, `findInterfaces`).

use super::number::atoi;
use super::release::{Feature, Release};

/// Bytes of a name that releases with bounded names keep.
const NAME_BYTES: usize = 63;

/// The length from which a name runs over its buffer in older releases.
pub(crate) const NAME_BUFFER_BYTES: usize = 64;

/// Interfaces, and entries of an interface list (`MAX_IFS`).
pub(crate) const MAX_INTERFACES: usize = 16;

/// The number that stands for any port.
const ANY_PORT: i32 = -1;

/// Ports of RDMA devices, and entries of a device list (`MAX_IB_DEVS`).
pub(crate) fn max_devices(release: Release) -> usize {
    if release.has(Feature::ThirtyTwoDevices) {
        32
    } else {
        16
    }
}

/// A list as a release understands it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Selector {
    /// `^`: what matches is left out.
    pub(crate) exclude: bool,
    /// `=`: names are compared as a whole; by their beginning otherwise.
    pub(crate) exact: bool,
    /// The entries that count. None of them: everything matches.
    pub(crate) entries: Vec<Entry>,
    /// Entries beyond the release's limit, which it never sees.
    pub(crate) dropped: Vec<Entry>,
}

/// One entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// As written.
    pub(crate) text: String,
    /// Name, or its beginning.
    pub(crate) name: String,
    /// Port; -1 is any, and 0 never matches a device's.
    pub(crate) port: i32,
    /// Rail, where the release reads one.
    pub(crate) rail: Option<i32>,
    /// Plane, where the release reads one.
    pub(crate) plane: Option<i32>,
}

impl Entry {
    /// Reads one entry; `None` for one without a name, which is skipped.
    fn parse(text: &str, release: Release) -> Option<Self> {
        let mut fields = text.split(':');
        let name = fields.next().filter(|n| !n.is_empty())?;
        let (port, rail, plane) = (fields.next(), fields.next(), fields.next());
        let defined = |field: Option<&str>| field.filter(|f| !f.is_empty()).map(atoi);
        Some(if release.has(Feature::RailSyntax) {
            Self {
                text: text.into(),
                name: cut_name(name).into(),
                port: defined(port).unwrap_or(ANY_PORT),
                rail: defined(rail),
                plane: defined(plane),
            }
        } else {
            Self {
                text: text.into(),
                name: name.into(),
                port: port.map_or(ANY_PORT, atoi),
                rail: None,
                plane: None,
            }
        })
    }

    /// True where the name would run over its buffer in a release without bounded names: what happens then is chance.
    pub(crate) fn overruns(&self, release: Release) -> bool {
        !release.has(Feature::RailSyntax) && self.name.len() >= NAME_BUFFER_BYTES
    }
}

/// Cuts a name to what is kept of it, not splitting a character.
fn cut_name(name: &str) -> &str {
    let mut end = name.len().min(NAME_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

impl Selector {
    /// Reads `NCCL_IB_HCA`. Unset, empty, `=` and `,` name nothing, so that everything matches.
    pub(crate) fn devices(value: Option<&str>, release: Release) -> Self {
        Self::parse(value.unwrap_or_default(), max_devices(release), release)
    }

    /// Reads `NCCL_SOCKET_IFNAME`, or one of the lists that NCCL searches by itself.
    pub(crate) fn interfaces(value: &str, release: Release) -> Self {
        Self::parse(value, MAX_INTERFACES, release)
    }

    /// Reads one group of `NCCL_NET_FORCE_MERGE`: no marks, always whole names.
    pub(crate) fn group(value: &str, limit: usize, release: Release) -> Self {
        Self {
            exact: true,
            ..Self::list(value, limit, release)
        }
    }

    fn parse(value: &str, limit: usize, release: Release) -> Self {
        let (exclude, value) = strip(value, '^');
        let (exact, value) = strip(value, '=');
        Self {
            exclude,
            exact,
            ..Self::list(value, limit, release)
        }
    }

    fn list(value: &str, limit: usize, release: Release) -> Self {
        let mut entries: Vec<Entry> = value
            .split(',')
            .filter_map(|text| Entry::parse(text, release))
            .collect();
        let dropped = entries.split_off(limit.min(entries.len()));
        Self {
            entries,
            dropped,
            ..Self::default()
        }
    }

    /// True where an entry matches the name and, where there is one, the port.
    pub(crate) fn entry_matches(&self, entry: &Entry, name: &str, port: Option<u32>) -> bool {
        let named = if self.exact {
            name == entry.name
        } else {
            name.starts_with(&entry.name)
        };
        named
            && (entry.port == ANY_PORT
                || port.is_none_or(|p| i64::from(entry.port) == i64::from(p)))
    }

    /// The first entry that matches: the one whose rail and plane count.
    pub(crate) fn first_match(&self, name: &str, port: Option<u32>) -> Option<&Entry> {
        self.entries
            .iter()
            .find(|e| self.entry_matches(e, name, port))
    }

    /// True where the list selects the name. A list without entries matches all, so that `^` alone selects nothing.
    pub(crate) fn selects(&self, name: &str, port: Option<u32>) -> bool {
        let matches = self.entries.is_empty() || self.first_match(name, port).is_some();
        matches != self.exclude
    }
}

/// Takes a mark off the front.
fn strip(value: &str, mark: char) -> (bool, &str) {
    value
        .strip_prefix(mark)
        .map_or((false, value), |rest| (true, rest))
}

#[cfg(test)]
mod tests {
    use super::{Entry, NAME_BUFFER_BYTES, Release, Selector};
    use proptest::prelude::*;

    const OLD: Release = Release::new(2, 30, 4);
    const NEW: Release = Release::new(2, 30, 7);
    const DEVICES: [&str; 5] = ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_10", "mlx5_bond_0"];

    /// The devices a list selects, each with port 1, in a few letters: `0 10 b`.
    fn selected(value: &str, release: Release) -> String {
        let selector = Selector::devices(Some(value), release);
        let names: Vec<_> = DEVICES
            .iter()
            .filter(|d| selector.selects(d, Some(1)))
            .map(|d| if *d == "mlx5_bond_0" { "b" } else { &d[5..] })
            .collect();
        names.join(" ")
    }

    fn both(value: &str) -> String {
        let old = selected(value, OLD);
        assert_eq!(old, selected(value, NEW), "{value}");
        old
    }

    #[test]
    fn names_match_by_their_beginning() {
        assert_eq!(both("mlx5_1"), "1 10");
        assert_eq!(both("mlx5"), "0 1 2 10 b");
        assert_eq!(both("MLX5_0"), "");
    }

    #[test]
    fn an_equals_sign_in_front_compares_whole_names() {
        assert_eq!(both("=mlx5_1"), "1");
        assert_eq!(both("=mlx5_"), "");
    }

    #[test]
    fn a_caret_in_front_excludes() {
        assert_eq!(both("^mlx5_1"), "0 2 b");
        assert_eq!(both("^=mlx5_1"), "0 2 10 b");
    }

    #[test]
    fn marks_count_once_and_in_this_order_only() {
        assert_eq!(both("=^mlx5_1"), "");
        assert_eq!(both("==mlx5_1"), "");
        assert_eq!(both("^^mlx5_1"), "0 1 2 10 b");
        assert_eq!(both("mlx5_0,^mlx5_2"), "0");
        assert_eq!(both("=mlx5_0,=mlx5_2"), "0");
    }

    #[test]
    fn nothing_is_trimmed_or_expanded() {
        for value in [
            " mlx5_0",
            "\"mlx5_0\"",
            "mlx5_0;mlx5_2",
            "mlx5_[0-3]",
            "mlx5_*",
            "mlx5_0 ",
        ] {
            assert_eq!(both(value), "", "{value}");
        }
        assert_eq!(both("mlx5_0, mlx5_2"), "0");
    }

    #[test]
    fn a_list_of_nothing_is_everything() {
        for value in ["", "=", ",", ":1", "=:1", ":", ",,"] {
            assert_eq!(both(value), "0 1 2 10 b", "{value}");
        }
        assert_eq!(
            Selector::devices(None, NEW),
            Selector::devices(Some(""), NEW)
        );
        for value in ["^", "^,", "^="] {
            assert_eq!(both(value), "", "{value}");
        }
    }

    #[test]
    fn empty_entries_are_skipped() {
        assert_eq!(both("mlx5_0,,mlx5_2,"), "0 2");
        assert_eq!(both(":2,mlx5_0"), "0");
    }

    #[test]
    fn ports_are_read_as_atoi_does() {
        assert_eq!(both("mlx5_0:1,mlx5_2:2"), "0");
        for value in ["mlx5_0:1x", "mlx5_0:01", "mlx5_0: 1", "mlx5_0:-1"] {
            assert_eq!(both(value), "0", "{value}");
        }
        for value in ["mlx5_0:0", "mlx5_0:x"] {
            assert_eq!(both(value), "", "{value}");
        }
    }

    #[test]
    fn an_empty_port_means_any_only_with_rails() {
        for value in ["mlx5_0:", "mlx5_0::0:1"] {
            assert_eq!(selected(value, OLD), "", "{value}");
            assert_eq!(selected(value, NEW), "0", "{value}");
        }
        assert_eq!(both("=mlx5_0:1:0:0"), "0");
    }

    #[test]
    fn rails_and_planes_come_from_the_first_entry_that_matches() {
        let value = "=mlx5_0:1:3:4,mlx5_0:1:5:6,mlx5_1:1::2";
        let selector = Selector::devices(Some(value), NEW);
        let rail = |name| {
            selector
                .first_match(name, Some(1))
                .map(|e| (e.rail, e.plane))
        };
        assert_eq!(rail("mlx5_0"), Some((Some(3), Some(4))));
        assert_eq!(rail("mlx5_1"), Some((None, Some(2))));
        assert_eq!(rail("mlx5_2"), None);
        let old = Selector::devices(Some(value), OLD);
        assert_eq!(old.entries.first().map(|e| e.rail), Some(None));
    }

    #[test]
    fn entries_beyond_the_limit_are_dropped() {
        let value = format!("{},mlx5_0", vec!["x"; 32].join(","));
        let selector = Selector::devices(Some(&value), NEW);
        assert_eq!(selector.entries.len(), 32);
        assert_eq!(
            selector.dropped.first().map(|e| e.name.as_str()),
            Some("mlx5_0")
        );
        assert!(!selector.selects("mlx5_0", Some(1)));
        let sixteen = Selector::devices(Some(&value), Release::new(2, 18, 3));
        assert_eq!(sixteen.entries.len(), 16);
        assert_eq!(Selector::interfaces(&value, NEW).entries.len(), 16);
    }

    #[test]
    fn long_names_are_cut_or_run_over() {
        let value = "a".repeat(70);
        let new = Entry::parse(&value, NEW).unwrap();
        assert_eq!((new.name.len(), new.overruns(NEW)), (63, false));
        let old = Entry::parse(&value, OLD).unwrap();
        assert!(old.overruns(OLD));
        assert_eq!(NAME_BUFFER_BYTES, 64);
        let wide = "ä".repeat(40);
        assert_eq!(Entry::parse(&wide, NEW).unwrap().name.len(), 62);
    }

    #[test]
    fn interfaces_have_no_port_and_groups_no_marks() {
        assert!(Selector::interfaces("=eth0:1", OLD).selects("eth0", None));
        let group = Selector::group("^mlx5_0,mlx5_1:2", 4, NEW);
        assert!(group.exact && !group.exclude);
        assert!(group.selects("^mlx5_0", Some(1)));
        assert!(group.selects("mlx5_1", Some(2)) && !group.selects("mlx5_1", Some(1)));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(value in any::<String>(), name in any::<String>(), port in any::<Option<u32>>()) {
            for release in [OLD, NEW] {
                Selector::devices(Some(&value), release).selects(&name, port);
                Selector::interfaces(&value, release).selects(&name, None);
            }
        }

        #[test]
        fn a_caret_turns_every_answer_round(value in "[a-z0-9_,:=]{0,20}", name in "[a-z0-9_]{0,8}") {
            let plain = Selector::devices(Some(&value), NEW).selects(&name, Some(1));
            let turned = Selector::devices(Some(&format!("^{value}")), NEW).selects(&name, Some(1));
            prop_assert_ne!(plain, turned);
        }
    }
}
