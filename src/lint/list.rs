//! Entries of `NCCL_IB_HCA` and `NCCL_SOCKET_IFNAME` that select nothing, and what their author took NCCL to understand.

use crate::nccl::selector::{Entry, Selector};

/// Why an entry selects nothing on this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    /// Quotes are part of the name.
    Quotes,
    /// A line end is part of the name.
    LineEnd,
    /// A blank before or after the name is part of it.
    Blank,
    /// `=`, `^` or `!` inside the list is part of the name.
    Mark(char),
    /// A character that does not separate: blank, semicolon, full-width comma.
    Separator(char),
    /// NCCL knows no patterns.
    Pattern,
    /// The name exists in other letters.
    Case(String),
    /// It is the name of something else: a network interface whose RDMA device this is.
    OtherKind(String),
    /// The port is 0, or no number.
    PortZero,
    /// There is no such port.
    PortAbsent,
    /// Nothing has this name.
    Unknown,
}

impl Why {
    /// True where the way of writing is wrong, and not the name or the port.
    pub(crate) fn is_syntax(&self) -> bool {
        !matches!(self, Self::PortZero | Self::PortAbsent | Self::Unknown)
    }

    /// True where only the port is wrong.
    pub(crate) fn is_port(&self) -> bool {
        matches!(self, Self::PortZero | Self::PortAbsent)
    }
}

/// An entry that selects nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeadEntry {
    /// As written.
    pub(crate) text: String,
    /// Why.
    pub(crate) why: Why,
}

/// The entries that match none of the names. `other` says which device a name of another kind belongs to.
pub(crate) fn dead_entries(
    selector: &Selector,
    names: &[(&str, Option<u32>)],
    other: &dyn Fn(&str) -> Option<String>,
) -> Vec<DeadEntry> {
    selector
        .entries
        .iter()
        .filter(|e| {
            !names
                .iter()
                .any(|(name, port)| selector.entry_matches(e, name, *port))
        })
        .map(|e| DeadEntry {
            text: e.text.clone(),
            why: why(e, selector, names, other),
        })
        .collect()
}

/// Characters that are taken for a comma; the full-width and ideographic ones are what an input method leaves.
const SEPARATORS: [char; 7] = [' ', '\t', ';', '|', '\u{ff0c}', '\u{ff1b}', '\u{3001}'];

fn why(
    entry: &Entry,
    selector: &Selector,
    names: &[(&str, Option<u32>)],
    other: &dyn Fn(&str) -> Option<String>,
) -> Why {
    let name = entry.name.as_str();
    let fits = |known: &str| {
        if selector.exact {
            known == name
        } else {
            known.starts_with(name)
        }
    };
    if names.iter().any(|(known, _)| fits(known)) {
        return if entry.port == 0 {
            Why::PortZero
        } else {
            Why::PortAbsent
        };
    }
    if name.contains(['"', '\'', '`']) {
        return Why::Quotes;
    }
    if name.contains(['\n', '\r']) {
        return Why::LineEnd;
    }
    if name.trim() != name {
        return Why::Blank;
    }
    if let Some(mark) = name.chars().next().filter(|c| "=^!".contains(*c)) {
        return Why::Mark(mark);
    }
    if let Some(separator) = entry.text.chars().find(|c| SEPARATORS.contains(c)) {
        return Why::Separator(separator);
    }
    if name.contains(['*', '?', '[', ']', '{', '}']) {
        return Why::Pattern;
    }
    let lower = name.to_lowercase();
    if let Some((known, _)) = names.iter().find(|(known, _)| {
        let known = known.to_lowercase();
        known == lower || !selector.exact && known.starts_with(&lower)
    }) {
        return Why::Case((*known).to_owned());
    }
    other(name).map_or(Why::Unknown, Why::OtherKind)
}

/// What is wrong with an entry, as the rest of a sentence about it.
pub(crate) fn describe(entry: &DeadEntry, kind: &str) -> String {
    let text = &entry.text;
    match &entry.why {
        Why::Quotes => format!("{text} has quotes, which NCCL takes as part of the name"),
        Why::LineEnd => format!("{text:?} ends with a line end, which is part of the name"),
        Why::Blank => format!("{text:?} has a blank, which NCCL takes as part of the name"),
        Why::Mark('!') => format!("{text}: `!` is no operator; `^` in front of the list excludes"),
        Why::Mark(mark) => format!(
            "{text}: `{mark}` counts once, in front of the whole list (in the order ^=); here it is part of the name"
        ),
        Why::Separator(c) => format!("{text:?}: {c:?} does not separate entries, only `,` does"),
        Why::Pattern => {
            format!("{text}: NCCL knows no patterns, only names and beginnings of names")
        }
        Why::Case(known) => format!("{text}: names are case-sensitive, the {kind} is {known}"),
        Why::OtherKind(device) => {
            format!("{text} is a network interface; its RDMA device is {device}")
        }
        Why::PortZero => format!("{text} means port 0, and ports start at 1"),
        Why::PortAbsent => format!("{text}: there is no such port"),
        Why::Unknown => format!("no {kind} is called {text}"),
    }
}
