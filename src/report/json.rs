//! What all JSON output shares: the schema's number, the program, the node.

use std::io::Write;

use serde::Serialize;

use crate::model::{Node, Reading};

/// Number of the schema; a change of meaning is a new number, keys are only ever added.
pub(crate) const SCHEMA: u32 = 1;

/// The frame around every JSON answer.
#[derive(Debug, Serialize)]
pub(crate) struct Envelope<'a, T: Serialize> {
    schema: u32,
    tool: Tool,
    /// The node's name; null where it could not be read.
    host: Option<&'a str>,
    #[serde(flatten)]
    body: T,
}

#[derive(Debug, Serialize)]
struct Tool {
    name: &'static str,
    version: &'static str,
}

/// Writes an answer as indented JSON with a newline at its end.
pub(crate) fn write<T: Serialize>(
    node: &Node,
    body: T,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let text =
        serde_json::to_string_pretty(&envelope(node, body)).map_err(std::io::Error::other)?;
    writeln!(out, "{text}")
}

/// Writes an answer as one line.
pub(crate) fn write_line<T: Serialize>(
    node: &Node,
    body: T,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let text = serde_json::to_string(&envelope(node, body)).map_err(std::io::Error::other)?;
    writeln!(out, "{text}")
}

/// Writes an answer that is not about one node; `host` where it was held against one.
pub(crate) fn write_for<T: Serialize>(
    host: Option<&str>,
    body: T,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let text = serde_json::to_string_pretty(&framed(host, body)).map_err(std::io::Error::other)?;
    writeln!(out, "{text}")
}

fn envelope<T: Serialize>(node: &Node, body: T) -> Envelope<'_, T> {
    framed(known(&node.hostname).map(String::as_str), body)
}

fn framed<T: Serialize>(host: Option<&str>, body: T) -> Envelope<'_, T> {
    Envelope {
        schema: SCHEMA,
        tool: Tool {
            name: "rdmactl",
            version: env!("CARGO_PKG_VERSION"),
        },
        host,
        body,
    }
}

/// A reading as an optional value: null where there is none.
pub(crate) fn known<T>(reading: &Reading<T>) -> Option<&T> {
    reading.as_ref().ok()
}
