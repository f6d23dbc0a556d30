//! Which port is what: data, main, other or unusable, with a reason a person understands. One pure function over the
//! node; names of devices never decide. What a node's files do not say (which cable leads where) is left to [`Rules`].

mod decide;
mod gid;
mod main_route;
mod reason;
mod socket;

pub(crate) use decide::{Assigned, Decision, Fabric, Refusal, Role, Rules, decide};
pub(crate) use gid::{NoGid, RowVerdict, choose_gid, judge_row};
pub(crate) use reason::Reason;
pub(crate) use socket::socket_interface;

#[cfg(test)]
mod tests;
