//! The only module that touches the machine: files, directories, links, addresses, programs, the environment.
#![allow(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the machine"
)]

mod address;
mod env;
mod gpu;
mod health;
mod infiniband;
mod library;
mod net;
mod node;
mod pci;
mod process;
mod resolve;
mod root;
mod stream;
mod tree;

pub(crate) use env::Env;
pub(crate) use health::{
    HealthScope, read_gpu_health, read_health, start_nvidia_smi, start_programs,
};
pub(crate) use library::{find_nccl, find_net_plugin};
pub(crate) use node::{Scope, read_node};
pub(crate) use process::{
    now, passwd_home, read_text_file, replace_process, write_atomically, write_private,
};
pub(crate) use root::Root;
pub(crate) use stream::{Input, OpenError, Tail, wait_for_growth};
pub(crate) use tree::Tree;
#[cfg(test)]
pub(crate) use tree::{Entry, HEADER as CAPTURE_HEADER};
