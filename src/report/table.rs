//! A thin layer over comfy-table: columns by content, two blanks apart, no lines, no guessing of the terminal.

use comfy_table::{CellAlignment, ContentArrangement, Table as Inner, presets};

use super::style::escape;

/// Where a column's content stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A table of text from the machine; every cell is escaped.
pub(crate) struct Table {
    inner: Inner,
}

impl Table {
    /// Starts a table with a heading for each column.
    pub(crate) fn new(columns: &[(&str, Align)]) -> Self {
        let mut inner = Inner::new();
        inner
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(columns.iter().map(|(name, _)| *name));
        for (column, (_, align)) in inner.column_iter_mut().zip(columns) {
            column.set_padding((0, 2));
            column.set_cell_alignment(match align {
                Align::Left => CellAlignment::Left,
                Align::Right => CellAlignment::Right,
            });
        }
        Self { inner }
    }

    /// Adds a row.
    pub(crate) fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.inner
            .add_row(cells.into_iter().map(|c| escape(c.as_ref()).into_owned()));
    }

    /// The table as text without blanks at the ends of lines, and with a newline at its end.
    pub(crate) fn text(&self) -> String {
        self.inner.lines().fold(String::new(), |mut out, line| {
            out.push_str(line.trim_end());
            out.push('\n');
            out
        })
    }
}
