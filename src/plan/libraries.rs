//! The same answer in other libraries' names.

use super::{Action, Plan, Variable};
use crate::model::{Node, PortKey};
use crate::roles::Decision;

/// A library whose variables can be printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Library {
    /// NCCL
    Nccl,
    /// RCCL, which reads NCCL's names
    Rccl,
    /// UCX
    Ucx,
    /// NVSHMEM, also for DeepEP
    Nvshmem,
    /// PyTorch's Gloo
    Gloo,
    /// PyTorch's TensorPipe
    Tp,
    /// MSCCL++
    Mscclpp,
    /// Mooncake's transfer engine
    Mooncake,
}

/// Adds the variables of the libraries asked for to NCCL's, which stay only if NCCL or RCCL is asked for.
pub(crate) fn extend(plan: &mut Plan, libraries: &[Library], node: &Node, decision: &Decision) {
    let interface = plan
        .value("NCCL_SOCKET_IFNAME")
        .map(|v| v.trim_start_matches('=').to_owned())
        .unwrap_or_default();
    let answer = Answer {
        ports: &plan.data,
        index: plan
            .value("NCCL_IB_GID_INDEX")
            .filter(|v| !v.is_empty())
            .map(str::to_owned),
        family: plan.value("NCCL_IB_ADDR_FAMILY").map(str::to_owned),
        range: plan.value("NCCL_IB_ADDR_RANGE").map(str::to_owned),
        v6: node
            .interface(&interface)
            .is_some_and(|i| i.addresses.iter().all(|a| a.ip.is_ipv6())),
        roce: decision.fabric == Some(crate::roles::Fabric::Roce),
        interface,
    };
    let mut more: Vec<Variable> = Vec::new();
    for library in libraries {
        let (variables, warning) = answer.of(*library);
        more.extend(variables);
        plan.warnings.extend(warning);
    }
    if !libraries
        .iter()
        .any(|l| matches!(l, Library::Nccl | Library::Rccl))
    {
        plan.variables.clear();
    }
    plan.variables.extend(more);
}

/// What the other libraries are told.
struct Answer<'a> {
    ports: &'a [PortKey],
    index: Option<String>,
    family: Option<String>,
    range: Option<String>,
    interface: String,
    v6: bool,
    roce: bool,
}

impl Answer<'_> {
    fn of(&self, library: Library) -> (Vec<Variable>, Option<String>) {
        match library {
            Library::Nccl | Library::Rccl => (Vec::new(), None),
            Library::Ucx => self.ucx(),
            Library::Nvshmem => (self.nvshmem(), None),
            Library::Gloo => (vec![self.plain_interface("GLOO_SOCKET_IFNAME")], None),
            Library::Tp => (vec![self.plain_interface("TP_SOCKET_IFNAME")], None),
            Library::Mscclpp => self.mscclpp(),
            Library::Mooncake => self.mooncake(),
        }
    }

    fn plain_interface(&self, name: &str) -> Variable {
        Variable::set(
            name,
            self.interface.clone(),
            "exact name of the same interface",
        )
    }

    fn with_ports(&self) -> String {
        let entries: Vec<String> = self
            .ports
            .iter()
            .map(|k| format!("{}:{}", k.hca, k.port))
            .collect();
        entries.join(",")
    }

    fn device_names(&self) -> String {
        let mut names: Vec<&str> = self.ports.iter().map(|k| k.hca.as_str()).collect();
        names.dedup();
        names.join(",")
    }

    /// The index, or its removal where the ports need different ones.
    fn index_variable(&self, name: &str) -> Option<Variable> {
        match &self.index {
            Some(index) => Some(Variable::set(
                name,
                index.clone(),
                "the RoCE v2 row of every data port",
            )),
            None if self.roce => Some(Variable {
                name: name.to_owned(),
                action: Action::Unset,
                why: "the ports need different indexes".to_owned(),
            }),
            None => None,
        }
    }

    fn ucx(&self) -> (Vec<Variable>, Option<String>) {
        let mut variables = vec![Variable::set(
            "UCX_NET_DEVICES",
            self.with_ports(),
            "the data ports",
        )];
        variables.extend(self.index_variable("UCX_IB_GID_INDEX"));
        let warning = (self.roce && self.index.is_none()).then(|| {
            "UCX: the ports need different GID indexes, and UCX chooses by its own order, which may not be these rows".to_owned()
        });
        (variables, warning)
    }

    fn nvshmem(&self) -> Vec<Variable> {
        let mut variables = vec![
            Variable::set("NVSHMEM_HCA_LIST", self.with_ports(), "the data ports"),
            Variable::set(
                "NVSHMEM_ENABLE_NIC_PE_MAPPING",
                "1",
                "without it NVSHMEM_HCA_LIST is not read",
            ),
        ];
        variables.extend(self.index_variable("NVSHMEM_IB_GID_INDEX"));
        if self.index.is_none() && self.roce {
            variables.push(Variable::set("NVSHMEM_IB_ROCE_VERSION_NUM", "2", "RoCE v2"));
            variables.extend(self.family.iter().map(|f| {
                Variable::set(
                    "NVSHMEM_IB_ADDR_FAMILY",
                    f.clone(),
                    "the family of every data port's GID",
                )
            }));
            variables.extend(self.range.iter().map(|r| {
                Variable::set(
                    "NVSHMEM_IB_ADDR_RANGE",
                    r.clone(),
                    "holds every data port's address",
                )
            }));
        }
        variables.push(self.plain_interface("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME"));
        if self.v6 {
            variables.push(Variable::set(
                "NVSHMEM_BOOTSTRAP_UID_SOCK_FAMILY",
                "AF_INET6",
                "the interface has no IPv4 address",
            ));
        }
        variables
    }

    fn mscclpp(&self) -> (Vec<Variable>, Option<String>) {
        let mut variables = vec![Variable::set(
            "MSCCLPP_HCA_DEVICES",
            self.device_names(),
            "the data ports' devices",
        )];
        variables.push(self.plain_interface("MSCCLPP_SOCKET_IFNAME"));
        variables.extend(self.index_variable("MSCCLPP_IB_GID_INDEX"));
        let warning = self
            .ports
            .iter()
            .any(|k| k.port != 1)
            .then(|| "MSCCL++ uses port 1 of a device only".to_owned());
        (variables, warning)
    }

    fn mooncake(&self) -> (Vec<Variable>, Option<String>) {
        let mut variables = vec![Variable::set(
            "MC_TE_FILTERS",
            self.device_names(),
            "the data ports' devices",
        )];
        variables.extend(self.index_variable("MC_GID_INDEX"));
        let warning = (self.roce && self.index.is_none())
            .then(|| "Mooncake: the ports need different GID indexes, and it has one for all (its default is 3)".to_owned());
        (variables, warning)
    }
}
