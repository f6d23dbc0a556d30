//! The only module that touches the machine: files, directories, links, addresses, programs, the environment.
#![allow(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the machine"
)]

mod address;
mod env;
mod gpu;
mod infiniband;
mod net;
mod node;
mod pci;
mod resolve;
mod root;
mod tree;

pub(crate) use env::Env;
pub(crate) use node::{Scope, read_node};
pub(crate) use root::{Root, RootError};
pub(crate) use tree::Tree;
