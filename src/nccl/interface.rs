//! Which IP interfaces NCCL uses: for bootstrap, for setting up RDMA connections, and as network devices of its own.
//!
//! Source: `ncclFindInterfaces`, `findInterfaces` and `ncclFindInterfaceMatchSubnet` (`src/misc/socket.cc`, `os/linux.cc` from
//! 2.29.2), `bootstrapNetInit` (`src/bootstrap.cc`).

use std::net::IpAddr;

use super::address::{CommId, Family};
use super::config::Settings;
use super::outcome::Code;
use super::release::{Feature, Release};
use super::selector::{MAX_INTERFACES, Selector};
use crate::model::{Address, Interface, Node};

/// An interface NCCL takes, with the address it takes it for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SocketInterface {
    /// Its name, or the label of the address (`eth0:1`).
    pub(crate) name: String,
    /// Kernel index.
    pub(crate) ifindex: u32,
    /// Address.
    pub(crate) ip: IpAddr,
}

/// How looking for the bootstrap interface ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Bootstrap {
    /// With this interface.
    Interface(SocketInterface),
    /// With an error, and NCCL cannot start.
    Failed(Code),
    /// `NCCL_COMM_ID` names a host, whose address is not known here.
    Unknown,
}

impl Bootstrap {
    /// The interface, when there is one.
    pub(crate) fn interface(&self) -> Option<&SocketInterface> {
        match self {
            Self::Interface(interface) => Some(interface),
            Self::Failed(_) | Self::Unknown => None,
        }
    }
}

/// Returns the interfaces NCCL finds, in its order, at most 16. The first is the one RDMA connections are set up over.
pub(crate) fn search(node: &Node, settings: &Settings, release: Release) -> Vec<SocketInterface> {
    let interfaces = Interfaces { node, release };
    let family = Family::of_sockets(settings.get("NCCL_SOCKET_FAMILY"));
    let named = settings
        .get("NCCL_SOCKET_IFNAME")
        .filter(|list| list.len() > 1);
    if let Some(list) = named {
        return interfaces.matching(list, family);
    }
    let found = interfaces.matching("ib", family);
    if !found.is_empty() {
        return found;
    }
    let hint = settings
        .get("NCCL_COMM_ID")
        .map(|text| CommId::parse(text, release));
    if let Some(CommId::Address(ip, scope)) = hint
        && let Some(found) = interfaces.in_subnet(ip, scope.as_deref())
    {
        return vec![found];
    }
    let lists: &[&str] = if release.has(Feature::VirbrLast) {
        &["^docker,lo,virbr", "docker", "lo", "virbr"]
    } else {
        &["^docker,lo", "docker", "lo"]
    };
    lists
        .iter()
        .map(|list| interfaces.matching(list, family))
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

/// Returns the interface of the bootstrap network. With `NCCL_COMM_ID` only the subnet counts.
pub(crate) fn bootstrap(node: &Node, settings: &Settings, release: Release) -> Bootstrap {
    let interfaces = Interfaces { node, release };
    if let Some(text) = settings.get("NCCL_COMM_ID") {
        return match CommId::parse(text, release) {
            CommId::Invalid => Bootstrap::Failed(Code::InvalidArgument),
            CommId::Unset => Bootstrap::Failed(Code::SystemError),
            CommId::Host(_) => Bootstrap::Unknown,
            CommId::Address(ip, scope) => interfaces
                .in_subnet(ip, scope.as_deref())
                .map_or(Bootstrap::Failed(Code::SystemError), Bootstrap::Interface),
        };
    }
    let missing = if release.has(Feature::NoInterfaceIsUsage) {
        Code::InvalidUsage
    } else {
        Code::InternalError
    };
    search(node, settings, release)
        .into_iter()
        .next()
        .map_or(Bootstrap::Failed(missing), Bootstrap::Interface)
}

/// The node's interfaces as `getifaddrs` lists them.
struct Interfaces<'a> {
    node: &'a Node,
    release: Release,
}

impl<'a> Interfaces<'a> {
    /// Every address with its interface: all IPv4 addresses in the kernel's order of interfaces, then all IPv6 addresses.
    fn addresses(&self) -> impl Iterator<Item = (&'a Interface, &'a Address)> {
        let node = self.node;
        [Family::V4, Family::V6]
            .into_iter()
            .flat_map(move |family| {
                node.interfaces().iter().flat_map(move |interface| {
                    interface
                        .addresses
                        .iter()
                        .filter(move |a| Family::of_ip(a.ip) == family)
                        .map(move |address| (interface, address))
                })
            })
    }

    /// The interfaces a list selects, each with its first address.
    fn matching(&self, list: &str, family: Option<Family>) -> Vec<SocketInterface> {
        let selector = Selector::interfaces(list, self.release);
        let mut found: Vec<SocketInterface> = Vec::new();
        for (interface, address) in self.addresses() {
            let down = self.release.has(Feature::RunningInterfaces) && !interface.running;
            let other = family.is_some_and(|f| f != Family::of_ip(address.ip));
            let loopback6 = matches!(address.ip, IpAddr::V6(ip) if ip.is_loopback());
            let name = name(interface, address);
            if down
                || other
                || loopback6
                || !selector.selects(name, None)
                || found.iter().any(|f| f.name == name)
            {
                continue;
            }
            found.push(socket(interface, address));
            if found.len() == MAX_INTERFACES {
                break;
            }
        }
        found
    }

    /// The first interface in whose subnet an address is. Family, list and carrier do not matter here.
    fn in_subnet(&self, ip: IpAddr, scope: Option<&str>) -> Option<SocketInterface> {
        let wanted = scope.map_or(Some(0), |name| self.node.interface(name).map(|i| i.ifindex));
        self.addresses()
            .find(|(interface, address)| {
                let scope = match address.ip {
                    IpAddr::V6(ip) if ip.is_unicast_link_local() => interface.ifindex,
                    _ => 0,
                };
                address.network_contains(ip) && (ip.is_ipv4() || wanted.unwrap_or(0) == scope)
            })
            .map(|(interface, address)| socket(interface, address))
    }
}

/// The name `getifaddrs` gives an address: the label for IPv4, where there is one.
fn name<'a>(interface: &'a Interface, address: &'a Address) -> &'a str {
    if address.ip.is_ipv4() && !address.label.is_empty() {
        &address.label
    } else {
        &interface.name
    }
}

fn socket(interface: &Interface, address: &Address) -> SocketInterface {
    SocketInterface {
        name: name(interface, address).to_owned(),
        ifindex: interface.ifindex,
        ip: address.ip,
    }
}

#[cfg(test)]
#[path = "interface_tests.rs"]
mod tests;
