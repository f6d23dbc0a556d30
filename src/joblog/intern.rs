//! Names kept once: hosts, devices, port lists and networks repeat on every rank.

use std::collections::HashMap;

use super::text::cut;

/// A kept name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Name(u32);

/// The name that stands for all that no longer fit.
const REST: Name = Name(0);
/// Longer names are cut: a list of 32 ports with all decorations has about one KiB.
const MOST_BYTES: usize = 1536;

/// A bounded set of names.
#[derive(Debug)]
pub(super) struct Names {
    names: Vec<String>,
    index: HashMap<String, Name>,
    most: usize,
}

impl Names {
    /// Keeps at most so many.
    pub(super) fn new(most: usize) -> Self {
        Self {
            names: vec!["(others)".to_owned()],
            index: HashMap::new(),
            most,
        }
    }

    /// The number of a name, which is new or known; the rest's where there are too many.
    pub(super) fn keep(&mut self, name: &str) -> Name {
        let name = cut(name, MOST_BYTES);
        if let Some(known) = self.index.get(name) {
            return *known;
        }
        if self.names.len() >= self.most {
            return REST;
        }
        let Ok(number) = u32::try_from(self.names.len()) else {
            return REST;
        };
        self.names.push(name.to_owned());
        self.index.insert(name.to_owned(), Name(number));
        Name(number)
    }

    /// How many are kept.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// The text of a name.
    pub(super) fn get(&self, name: Name) -> &str {
        usize::try_from(name.0)
            .ok()
            .and_then(|n| self.names.get(n))
            .map_or("", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn names_are_kept_once_and_not_without_end() {
        let mut names = Names::new(3);
        let (a, b) = (names.keep("a"), names.keep("b"));
        assert_eq!(names.keep("a"), a);
        assert_ne!(a, b);
        let c = names.keep("c");
        assert_eq!(names.get(c), "(others)");
        assert_eq!(names.get(b), "b");
    }
}
