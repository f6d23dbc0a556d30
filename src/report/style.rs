//! Colour, and the escaping of text that came from outside. Output makes sense without colour.

use std::borrow::Cow;
use std::fmt;

use anstyle::{AnsiColor, Effects};

/// `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// Colour on a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Whether colour is used; decided once, at the edge.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    color: bool,
}

/// Text with a style around it.
struct Painted<T>(Option<anstyle::Style>, T);

impl<T: fmt::Display> fmt::Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(style) => write!(f, "{style}{}{style:#}", self.1),
            None => self.1.fmt(f),
        }
    }
}

impl Style {
    /// Decides by the user's choice, NO_COLOR, and whether the output is a terminal.
    pub(crate) fn new(choice: ColorChoice, no_color: bool, terminal: bool) -> Self {
        Self {
            color: match choice {
                ColorChoice::Always => true,
                ColorChoice::Never => false,
                ColorChoice::Auto => terminal && !no_color,
            },
        }
    }

    /// No colour at all.
    pub(crate) const PLAIN: Self = Self { color: false };

    /// True where colour is used.
    pub(crate) fn is_colored(self) -> bool {
        self.color
    }

    fn paint<T: fmt::Display>(self, style: anstyle::Style, text: T) -> impl fmt::Display {
        Painted(self.color.then_some(style), text)
    }

    /// For errors.
    pub(crate) fn error(self, text: impl fmt::Display) -> impl fmt::Display {
        self.paint(AnsiColor::Red.on_default().effects(Effects::BOLD), text)
    }

    /// For warnings.
    pub(crate) fn warning(self, text: impl fmt::Display) -> impl fmt::Display {
        self.paint(AnsiColor::Yellow.on_default().effects(Effects::BOLD), text)
    }

    /// For what is good.
    pub(crate) fn good(self, text: impl fmt::Display) -> impl fmt::Display {
        self.paint(AnsiColor::Green.on_default(), text)
    }

    /// For the next thing to do.
    pub(crate) fn hint(self, text: impl fmt::Display) -> impl fmt::Display {
        self.paint(AnsiColor::Cyan.on_default(), text)
    }

    /// For headings.
    pub(crate) fn bold(self, text: impl fmt::Display) -> impl fmt::Display {
        self.paint(anstyle::Style::new().bold(), text)
    }

    /// For what matters less.
    pub(crate) fn dim(self, text: impl fmt::Display) -> impl fmt::Display {
        self.paint(anstyle::Style::new().dimmed(), text)
    }
}

/// Replaces control characters, also the C1 ones and those that turn the writing direction, by `\u{..}`.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    let is_bad = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(is_bad) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().fold(String::new(), |mut out, c| {
        if is_bad(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
        out
    }))
}

#[cfg(test)]
mod tests {
    use super::{ColorChoice, Style, escape};

    #[test]
    fn control_characters_become_visible() {
        assert_eq!(escape("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(escape("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(escape("plain: ok"), "plain: ok");
    }

    #[test]
    fn no_color_only_counts_for_auto() {
        assert!(!Style::new(ColorChoice::Auto, true, true).is_colored());
        assert!(Style::new(ColorChoice::Always, true, false).is_colored());
        assert!(!Style::new(ColorChoice::Never, false, true).is_colored());
    }
}
