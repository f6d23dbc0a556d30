//! The only module that touches the machine: files, directories, links, addresses, programs, the environment.
#![allow(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the machine"
)]

mod address;
mod env;
mod gpu;
mod infiniband;
mod library;
mod net;
mod node;
mod pci;
mod process;
mod resolve;
mod root;
mod tree;

pub(crate) use env::Env;
pub(crate) use library::find_nccl;
pub(crate) use node::{Scope, read_node};
pub(crate) use process::{passwd_home, replace_process, write_private};
pub(crate) use root::Root;
#[cfg(test)]
pub(crate) use tree::Entry;
pub(crate) use tree::Tree;
