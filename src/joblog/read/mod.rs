//! One function for each pattern: a message's text -> what it means.

mod selection;
mod sockets;
mod verbs;

pub(super) use selection::*;
pub(super) use sockets::*;
pub(super) use verbs::*;
