//! The list of all checks, and how one is found and chosen by its id.

use super::Check;

/// The families in the order in which they are reported: what the rest stands on comes first.
const FAMILIES: [&[&Check]; 12] = [
    super::driver::ALL,
    super::gpu::ALL,
    super::port::ALL,
    super::gid::ALL,
    super::hca::ALL,
    super::net::ALL,
    super::pci::ALL,
    super::gdr::ALL,
    super::limits::ALL,
    super::lib::ALL,
    super::sys::ALL,
    super::env::ALL,
];

/// Former ids of checks that were renamed.
pub(crate) const ALIASES: &[(&str, &Check)] = &[];

/// Ids of checks that were withdrawn, since when, and why.
pub(crate) const REMOVED: &[(&str, &str, &str)] = &[];

/// Every check, family by family.
pub(crate) fn all() -> impl Iterator<Item = &'static Check> {
    FAMILIES.iter().flat_map(|family| family.iter().copied())
}

/// The check of an id, also of a former one.
pub(crate) fn find(id: &str) -> Option<&'static Check> {
    all().find(|c| c.id == id).or_else(|| {
        ALIASES
            .iter()
            .find(|(name, _)| *name == id)
            .map(|(_, c)| *c)
    })
}

/// The checks that `--only` and `--skip` leave: exact ids or families. The error is the word that is neither.
pub(crate) fn selected(only: &[String], skip: &[String]) -> Result<Vec<&'static Check>, String> {
    let known = |word: &String| find(word).is_some() || all().any(|c| family(c) == word);
    if let Some(word) = only.iter().chain(skip).find(|w| !known(w)) {
        return Err(word.clone());
    }
    let named = |words: &[String], check: &Check| {
        words
            .iter()
            .any(|w| w == family(check) || find(w).is_some_and(|named| named.id == check.id))
    };
    Ok(all()
        .filter(|c| (only.is_empty() || named(only, c)) && !named(skip, c))
        .collect())
}

/// The part of an id before the dot.
pub(crate) fn family(check: &Check) -> &'static str {
    check.id.split('.').next().unwrap_or(check.id)
}

/// The id or family that is spelt most like a word.
pub(crate) fn nearest_id(word: &str) -> Option<&'static str> {
    all()
        .flat_map(|c| [c.id, family(c)])
        .map(|id| (crate::lint::edit_distance(word, id), id))
        .filter(|(d, id)| *d <= id.len() / 2)
        .min_by_key(|(d, _)| *d)
        .map(|(_, id)| id)
}
