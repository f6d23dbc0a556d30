//! What NCCL would do with a node and an environment, by release: pure.
//!
//! `predict` puts the parts together; `release` is the only file that knows which release does what.

pub(crate) mod address;
pub(crate) mod config;
pub(crate) mod device;
mod distance;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod gdr;
pub(crate) mod gid;
pub(crate) mod interface;
pub(crate) mod merge;
pub(crate) mod number;
#[cfg(test)]
pub(crate) mod oracle_records;
#[cfg(test)]
mod oracle_tests;
pub(crate) mod outcome;
pub(crate) mod predict;
pub(crate) mod release;
pub(crate) mod selector;
pub(crate) mod variables;
