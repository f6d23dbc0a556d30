//! `--require NAME>=VERSION` against versions as machines write them.

use crate::checks::{Collector, Facts, Finding, Requirement, Severity, Version};

/// The version at the start of a text: 5.15.0-105 of `5.15.0-105-generic`, 6.6.93 of `6.6.93+`.
pub(in crate::checks) fn version_of(text: &str) -> Option<Version> {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-'))
        .unwrap_or(text.len());
    let numbers = text.get(..end)?;
    // `4.18.0-193.el8` leaves a sign at its end, and a number that does not fit ends the version too.
    let mut parts = numbers.trim_end_matches(['.', '-']);
    loop {
        if let Ok(version) = parts.parse() {
            return Some(version);
        }
        parts = parts.rsplit_once(['.', '-'])?.0;
    }
}

/// The requirements of a name.
pub(in crate::checks) fn required<'a>(
    facts: &Facts<'a>,
    what: &'static str,
) -> impl Iterator<Item = &'a Requirement> {
    facts
        .expect
        .requirements
        .iter()
        .filter(move |r| r.what == what)
}

/// Holds a version against the requirements of a name; what is not met is an error about `subject`.
pub(in crate::checks) fn hold(
    facts: &Facts,
    what: &'static str,
    version: &str,
    source: &str,
    seen: &mut Collector,
) {
    for requirement in required(facts, what) {
        seen.look();
        let met = version_of(version).is_some_and(|v| requirement.is_met_by(&v));
        if !met {
            seen.find(
                Finding::new(
                    Severity::Error,
                    what,
                    format!("{requirement} is required, and this is {version}"),
                )
                .evidence(source, version)
                .fix(remedy(requirement)),
            );
        }
    }
}

/// What to do about a requirement that is not met.
pub(in crate::checks) fn remedy(requirement: &Requirement) -> String {
    let word = if requirement.exactly { "" } else { " or newer" };
    format!(
        "bring the node to {} {}{word}, or change --require",
        requirement.what, requirement.version
    )
}

#[cfg(test)]
mod tests {
    use super::version_of;

    #[test]
    fn versions_as_machines_write_them() {
        for (text, version) in [
            ("5.15.0-105-generic", Some("5.15.0-105")),
            ("6.6.93+", Some("6.6.93")),
            ("4.18.0-193.el8.x86_64", Some("4.18.0-193")),
            ("535.161.08", Some("535.161.08")),
            ("25.10-1.7.1", Some("25.10-1.7.1")),
            ("99999999999999999999999", None),
            ("5.99999999999999999999999", Some("5")),
            ("generic", None),
            ("", None),
        ] {
            let found = version_of(text).map(|v| v.to_string());
            assert_eq!(found.as_deref(), version, "{text}");
        }
    }
}
