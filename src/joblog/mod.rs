//! What an NCCL log says: bytes -> lines -> events -> state of each process and host -> findings. Pure: it is fed bytes.
//!
//! Everything that is kept is bounded, so a log of any size is read in constant memory.

mod ask;
mod errno;
mod event;
mod findings;
mod here;
mod intern;
mod known;
mod line;
mod patterns;
mod read;
mod scan;
mod state;
mod summary;
mod tally;
mod text;

pub(crate) use findings::{LogFinding, findings};
pub(crate) use here::{NodeFacts, here};
pub(crate) use scan::Scanner;
pub(crate) use state::Job;
pub(crate) use summary::{Group, Setting, Summary, summary};

#[cfg(test)]
mod tests;
