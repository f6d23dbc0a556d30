//! Text of the kernel and of programs into values. `&str` in, `Result` out: no path, no file.

mod address;
mod cpu;
mod gpu;
mod infiniband;
mod limits;
mod modules;
mod nvidia;
mod ofed;
mod pci;
mod pci_link;
mod route;

pub(crate) use address::parse_ip_addr_json;
pub(crate) use cpu::{parse_arch, parse_cpuinfo};
pub(crate) use gpu::parse_gpu_information;
pub(crate) use infiniband::{
    parse_gid, parse_gid_type, parse_link_layer, parse_node_type, parse_phys_state,
    parse_port_state, parse_rate, parse_rdma_dev_json,
};
pub(crate) use limits::{
    MountSize, parse_capabilities, parse_df, parse_euid, parse_limit, parse_meminfo,
    parse_mount_size, parse_uid_map,
};
pub(crate) use modules::parse_modules;
pub(crate) use nvidia::{parse_nvidia_driver, parse_smi_query};
pub(crate) use ofed::parse_ofed_info;
pub(crate) use pci::{parse_bdf, parse_hex, pci_path};
pub(crate) use pci_link::{Acs, parse_link_speed, parse_link_width, parse_pci_config};
pub(crate) use route::{parse_ipv6_route, parse_route};

/// Text that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not {what}: {text:?}")]
pub(crate) struct ParseError {
    /// What was expected, with its article (`a GID`).
    pub(crate) what: &'static str,
    /// What was found, at most 60 characters.
    pub(crate) text: String,
}

impl ParseError {
    /// Makes one; shortens the text.
    pub(crate) fn new(what: &'static str, text: &str) -> Self {
        Self {
            what,
            text: text.chars().take(60).collect(),
        }
    }
}
