//! Settings and memory of the kernel.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::health::{Kernel, Sysctl};
use crate::model::{LinkLayer, Node, Reading, Unread, Why};
use crate::parse::{parse_arch, parse_cpuinfo, parse_meminfo};
use crate::sys::Root;

const MEMINFO: &str = "proc/meminfo";

/// Reads what the kernel says about itself.
pub(super) fn read(root: &Root, node: &Node) -> Kernel {
    let iommu_groups = read_iommu_groups(root, node);
    // On x86 the file of a big machine has hundreds of kilobytes, so it is read only where it matters.
    let translates = iommu_groups.values().any(|kind| !is_identity(kind));
    let arch = root.parsed("proc/sys/kernel/arch", parse_arch);
    let cpuinfo = (arch.is_err() || translates).then(|| root.parsed("proc/cpuinfo", parse_cpuinfo));
    let meminfo = root.text(MEMINFO);
    let is_arm = arch.or_else(|unread| match &cpuinfo {
        Some(processor) => processor.clone().map(|p| p.is_arm),
        None => Err(unread),
    });
    let mut kernel = Kernel {
        cmdline: root.text("proc/cmdline"),
        numa_balancing: root.parsed("proc/sys/kernel/numa_balancing", str::parse),
        governors: read_governors(root),
        sysctl: read_sysctl(root, node),
        is_guest: cpuinfo.and_then(|p| p.ok()?.is_guest),
        is_arm,
        cma_total_kb: read_memory(&meminfo, "CmaTotal"),
        cma_free_kb: read_memory(&meminfo, "CmaFree"),
        slave_status: read_slave_status(root, node),
        iommu_groups,
        ..Kernel::default()
    };
    super::modules::fill(root, node, &mut kernel);
    kernel
}

fn is_identity(kind: &Reading<String>) -> bool {
    kind.as_deref() == Ok("identity")
}

/// Reads which kind of IOMMU group each RDMA device and GPU is in; one without a group is left out.
fn read_iommu_groups(root: &Root, node: &Node) -> BTreeMap<String, Reading<String>> {
    let functions = node
        .hcas()
        .iter()
        .filter_map(|h| h.pci())
        .chain(node.gpus().iter().map(|g| &g.pci));
    let mut groups = BTreeMap::new();
    for function in functions {
        let kind = root
            .real(&format!("{}/iommu_group", function.dir))
            .and_then(|group| match root.text(&format!("{group}/type")) {
                // The group is there, and only its kind is not said.
                Err(unread) if unread.is_absent() => {
                    Err(Unread::new(unread.path, Why::NotCaptured))
                }
                kind => kind,
            });
        match kind {
            Err(unread) if unread.is_absent() => {}
            kind => {
                groups.insert(function.address.to_string(), kind);
            }
        }
    }
    groups
}

/// Counts frequency governors by the policies (CPUs that change together) that have them.
fn read_governors(root: &Root) -> Reading<BTreeMap<String, u32>> {
    const POLICIES: &str = "sys/devices/system/cpu/cpufreq";
    let mut governors = BTreeMap::new();
    for policy in root.list(POLICIES)? {
        if !policy.starts_with("policy") {
            continue;
        }
        match root.text(&format!("{POLICIES}/{policy}/scaling_governor")) {
            Ok(governor) => *governors.entry(governor).or_default() += 1,
            // CPUs that were taken offline.
            Err(unread) if unread.is_absent() => {}
            Err(unread) => return Err(unread),
        }
    }
    Ok(governors)
}

/// Reads the ARP and reverse-path settings of the network devices of RoCE ports, and those for all.
fn read_sysctl(root: &Root, node: &Node) -> BTreeMap<String, Sysctl> {
    const FILES: [&str; 3] = ["arp_ignore", "arp_announce", "rp_filter"];
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let roce = node
        .ports()
        .filter(|(_, port)| port.link_layer == Ok(LinkLayer::Ethernet));
    for (_, port) in roce {
        names.extend(port.netdevs.iter().map(String::as_str));
        let masters = port.netdevs.iter().filter_map(|n| node.netdev(n));
        names.extend(masters.filter_map(|n| n.master.as_deref()));
        names.extend(
            port.gid_rows()
                .iter()
                .filter_map(|r| r.ndev.as_deref().ok()),
        );
    }
    names.retain(|name| node.netdev(name).is_some());
    if !names.is_empty() {
        names.insert("all");
    }
    names
        .into_iter()
        .map(|name| {
            let values = FILES
                .iter()
                .map(|file| {
                    let path = format!("proc/sys/net/ipv4/conf/{name}/{file}");
                    let value = root.parsed(&path, str::parse);
                    (path, value)
                })
                .collect();
            (name.to_owned(), Sysctl { values })
        })
        .collect()
}

/// An amount of /proc/meminfo in kB; `Absent` where the kernel has no such line.
fn read_memory(meminfo: &Reading<String>, name: &str) -> Reading<u64> {
    let text = meminfo.as_ref().map_err(Clone::clone)?;
    parse_meminfo(text, name)
        .map_err(|e| Unread::malformed(MEMINFO, &e.text))?
        .ok_or_else(|| Unread::new(MEMINFO, Why::Absent))
}

fn read_slave_status(root: &Root, node: &Node) -> BTreeMap<String, Reading<String>> {
    node.netdevs()
        .iter()
        .flat_map(|n| n.bond.iter().flat_map(|b| &b.slaves))
        .map(|slave| {
            let dir = node
                .netdev(slave)
                .map_or_else(|| format!("sys/class/net/{slave}"), |n| n.dir.clone());
            let status = root.text(&format!("{dir}/bonding_slave/mii_status"));
            (slave.clone(), status)
        })
        .collect()
}
