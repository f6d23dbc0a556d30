//! Results into text. Writes only to a given `Write`; decides nothing.

pub(crate) mod check;
pub(crate) mod devices;
pub(crate) mod env;
pub(crate) mod explain;
pub(crate) mod gids;
pub(crate) mod gpus;
mod json;
pub(crate) mod lint;
pub(crate) mod log;
mod style;
mod table;
pub(crate) mod topo;

pub(crate) use style::{ColorChoice, Style, escape};
