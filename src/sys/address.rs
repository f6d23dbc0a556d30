//! Interfaces with their addresses: `getifaddrs` on the live machine, `commands/ip-addr.json` in an offline copy.

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::{SockaddrLike as _, SockaddrStorage};

use super::Root;
use crate::model::{Address, Interface, Reading, Unread, Why};
use crate::parse::parse_ip_addr_json;

/// Where an offline copy has the output of `ip -j addr`.
const OFFLINE: &str = "commands/ip-addr.json";

/// Reads the interfaces in the kernel's order.
///
/// With a directory that is not an offline copy (`--root /host` in a pod) this process's own network namespace is asked,
/// and must be the one that the directory's sysfs shows: an interface with another index there is an error.
pub(super) fn read_interfaces(root: &Root) -> Reading<Vec<Interface>> {
    if root.is_offline() {
        return root.parsed(OFFLINE, parse_ip_addr_json);
    }
    let interfaces = live_interfaces().map_err(|n| Unread::new("getifaddrs", Why::Errno(n)))?;
    if !root.is_live() {
        for interface in &interfaces {
            let path = format!("sys/class/net/{}/ifindex", interface.name);
            if root.parsed(&path, str::parse::<u32>) != Ok(interface.ifindex) {
                return Err(Unread::malformed(
                    path,
                    "another network namespace than this process's (hostNetwork is needed)",
                ));
            }
        }
    }
    if let Ok(json) = serde_json::to_vec(&ip_addr_json(&interfaces)) {
        root.note(OFFLINE, &json);
    }
    Ok(interfaces)
}

fn live_interfaces() -> Result<Vec<Interface>, i32> {
    let mut interfaces: Vec<Interface> = Vec::new();
    for entry in getifaddrs().map_err(|e| e as i32)? {
        // An alias (`eth0:1`) is an address of its interface with a label of its own.
        let name = entry.interface_name.split(':').next().unwrap_or_default();
        let position = interfaces
            .iter()
            .position(|i| i.name == name)
            .unwrap_or_else(|| {
                interfaces.push(Interface {
                    name: name.to_owned(),
                    ifindex: 0,
                    up: entry.flags.contains(InterfaceFlags::IFF_UP),
                    running: entry.flags.contains(InterfaceFlags::IFF_RUNNING),
                    loopback: entry.flags.contains(InterfaceFlags::IFF_LOOPBACK),
                    addresses: Vec::new(),
                });
                interfaces.len() - 1
            });
        let Some(interface) = interfaces.get_mut(position) else {
            continue;
        };
        let Some(address) = &entry.address else {
            continue;
        };
        if let Some(link) = address.as_link_addr() {
            interface.ifindex = u32::try_from(link.ifindex()).unwrap_or_default();
        } else if let Some(ip) = ip_of(address) {
            interface.addresses.push(Address {
                ip,
                prefix: entry
                    .netmask
                    .as_ref()
                    .and_then(prefix_of)
                    .unwrap_or_default(),
                label: entry.interface_name.clone(),
            });
        }
    }
    Ok(interfaces)
}

fn ip_of(address: &SockaddrStorage) -> Option<std::net::IpAddr> {
    if let Some(v4) = address.as_sockaddr_in() {
        return Some(v4.ip().into());
    }
    address.as_sockaddr_in6().map(|v6| v6.ip().into())
}

fn prefix_of(mask: &SockaddrStorage) -> Option<u8> {
    let ones = match ip_of(mask)? {
        std::net::IpAddr::V4(ip) => u32::from(ip).count_ones(),
        std::net::IpAddr::V6(ip) => u128::from(ip).count_ones(),
    };
    let _ = mask.family();
    u8::try_from(ones).ok()
}

/// The interfaces in the form of `ip -j addr`, so that a capture of a live node replays like any other.
fn ip_addr_json(interfaces: &[Interface]) -> serde_json::Value {
    interfaces
        .iter()
        .map(|i| {
            let mut flags = Vec::new();
            if i.loopback {
                flags.push("LOOPBACK");
            }
            if i.up {
                flags.push("UP");
                flags.push(if i.running { "LOWER_UP" } else { "NO-CARRIER" });
            }
            let addresses: Vec<_> = i
                .addresses
                .iter()
                .map(|a| {
                    serde_json::json!({
                        "family": if a.ip.is_ipv4() { "inet" } else { "inet6" },
                        "local": a.ip, "prefixlen": a.prefix, "label": a.label,
                    })
                })
                .collect();
            serde_json::json!({ "ifindex": i.ifindex, "ifname": i.name, "flags": flags, "addr_info": addresses })
        })
        .collect()
}
