//! /proc/modules.

use std::collections::BTreeSet;

/// Returns the names of loaded modules; those that are still loading or on their way out do not count.
pub(crate) fn parse_modules(text: &str) -> BTreeSet<String> {
    const STATE: usize = 4;
    text.lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let name = fields.first()?;
            let live = fields.get(STATE).is_none_or(|state| *state == "Live");
            live.then(|| (*name).to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::parse_modules;

    #[test]
    fn only_live_modules_count() {
        let text = "ib_uverbs 132788 2 mlx5_ib,rdma_ucm, Live 0x0000000000000000\n\
                    nvidia_peermem 16384 0 - Unloading 0x0000000000000000 (OE)\n\
                    knem 36922 0\n\n";
        let names: Vec<String> = parse_modules(text).into_iter().collect();
        assert_eq!(names, ["ib_uverbs", "knem"]);
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = parse_modules(&text);
        }
    }
}
