//! The line of `ofed_info -s`.

use super::ParseError;
use crate::model::health::{RdmaStack, StackKind};

/// Parses `MLNX_OFED_LINUX-5.8-1.1.2.1:`, `OFED-internal-25.10-1.7.1:` and the heading of the long form,
/// `MLNX_OFED_LINUX-23.10-1.1.9.0 (OFED-23.10-1.1.9):`.
pub(crate) fn parse_ofed_info(text: &str) -> Result<RdmaStack, ParseError> {
    const NAMES: [(&str, StackKind); 6] = [
        ("MLNX_OFED_LINUX-", StackKind::MlnxOfed),
        ("MLNX_OFED-", StackKind::MlnxOfed),
        ("OFED-INTERNAL-", StackKind::DocaOfed),
        ("DOCA-OFED-", StackKind::DocaOfed),
        ("DOCA-HOST-", StackKind::DocaOfed),
        ("OFED-", StackKind::Other),
    ];
    let wrong = || ParseError::new("an OFED version", text.trim());
    text.lines()
        .map(str::trim)
        .find_map(|line| {
            let word = line.split_whitespace().next()?.trim_end_matches(':');
            let (version, kind) = NAMES.iter().find_map(|(name, kind)| {
                let head = word.get(..name.len())?;
                head.eq_ignore_ascii_case(name)
                    .then(|| (&word[name.len()..], *kind))
            })?;
            let number = version.starts_with(|c: char| c.is_ascii_digit());
            number.then(|| RdmaStack {
                kind,
                version: version.to_owned(),
                line: line.to_owned(),
            })
        })
        .ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::{StackKind, parse_ofed_info};

    #[test]
    fn every_stack_says_its_name() {
        for (text, kind, version) in [
            (
                "MLNX_OFED_LINUX-5.8-1.1.2.1:\n",
                StackKind::MlnxOfed,
                "5.8-1.1.2.1",
            ),
            (
                "MLNX_OFED_LINUX-23.10-1.1.9.0 (OFED-23.10-1.1.9):",
                StackKind::MlnxOfed,
                "23.10-1.1.9.0",
            ),
            (
                "OFED-internal-25.10-1.7.1:\n",
                StackKind::DocaOfed,
                "25.10-1.7.1",
            ),
            (
                "\nOFED-internal-26.04-0.8.6",
                StackKind::DocaOfed,
                "26.04-0.8.6",
            ),
            ("OFED-4.17-1:", StackKind::Other, "4.17-1"),
        ] {
            let stack = parse_ofed_info(text).unwrap();
            assert_eq!((stack.kind, stack.version.as_str()), (kind, version));
        }
        for text in ["", "\n", "OFED-", "MLNX_OFED_LINUX-x", "bash: no such file"] {
            assert!(parse_ofed_info(text).is_err(), "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = parse_ofed_info(&text);
            let _ = parse_ofed_info(&format!("OFED-{text}"));
        }
    }
}
