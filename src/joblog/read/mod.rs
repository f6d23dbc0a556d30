//! One function for each pattern: a message's text -> what it means.

#![allow(
    clippy::unnecessary_wraps,
    reason = "all functions of the table of patterns have one form"
)]

mod selection;
mod sockets;
mod verbs;

pub(super) use selection::*;
pub(super) use sockets::*;
pub(super) use verbs::*;
