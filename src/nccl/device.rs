//! Which ports of which RDMA devices NCCL uses, and in which order.
//!
//! Source: `ncclIbInit` (`net_ib.cc`), `ncclIbInitDevices` (`net_ib/init.cc` from 2.29.2), and `libibverbs/init.c` and
//! `ibdev_nl.c` of rdma-core for the list NCCL starts from.

use super::config::Settings;
use super::number::cut;
use super::outcome::Crash;
use super::release::{Feature, Release};
use super::selector::{Selector, max_devices};
use crate::model::{Hca, LinkLayer, Node, Port, PortKey, order};

/// What NCCL calls a port's link layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    /// `IB`.
    InfiniBand,
    /// `RoCE`.
    Roce,
}

impl Link {
    /// The link of a port, unless NCCL leaves such ports out.
    pub(crate) fn of(port: &Port) -> Option<Self> {
        match port.link_layer {
            Ok(LinkLayer::InfiniBand) => Some(Self::InfiniBand),
            Ok(LinkLayer::Ethernet) => Some(Self::Roce),
            Ok(LinkLayer::Other(_)) | Err(_) => None,
        }
    }

    /// The word for it in NCCL's log.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::InfiniBand => "IB",
            Self::Roce => "RoCE",
        }
    }
}

/// A port NCCL uses.
#[derive(Debug, Clone)]
pub(crate) struct Device<'a> {
    /// The device.
    pub(crate) hca: &'a Hca,
    /// The port.
    pub(crate) port: &'a Port,
    /// Its link layer.
    pub(crate) link: Link,
    /// Number of devices before it on the same card; NCCL adds it to the port's number.
    pub(crate) real_port: u32,
    /// Real path of its parent in sysfs with the last digits zeroed, equal for everything NCCL takes for one card; `None`
    /// without a `device` link.
    pub(crate) card: Option<String>,
    /// Rail, from the list entry that selected it.
    pub(crate) rail: Option<i32>,
    /// Plane, from the list entry that selected it.
    pub(crate) plane: Option<i32>,
    /// The number its PCI address sorts by.
    pci_order: Option<u64>,
}

impl Device<'_> {
    /// Speed in Mbit/s as NCCL computes it from speed and width of the link.
    pub(crate) fn speed_mbps(&self) -> u64 {
        self.port.rate_mbps()
    }

    /// The "port" NCCL gives to its topology and compares with `NCCL_NET_FORCE_MERGE`.
    pub(crate) fn net_port(&self) -> u32 {
        self.port.number.saturating_add(self.real_port)
    }
}

/// The ports NCCL uses.
#[derive(Debug, Clone, Default)]
pub(crate) struct Devices<'a> {
    /// In NCCL's order: the position is the number in its log.
    pub(crate) list: Vec<Device<'a>>,
    /// Ports that pass every filter and come after the last one NCCL has room for.
    pub(crate) beyond_limit: Vec<PortKey>,
    /// False where the order rests on something sysfs does not show.
    pub(crate) order_is_certain: bool,
}

/// Returns the ports NCCL uses on a node, or how it dies on the way.
pub(crate) fn enumerate<'a>(
    node: &'a Node,
    settings: &Settings,
    release: Release,
) -> Result<Devices<'a>, Crash> {
    let (hcas, listed_in_order) = verbs_list(node);
    let selector = Selector::devices(settings.get("NCCL_IB_HCA"), release);
    let merge_vfs = cut(settings.integer("NCCL_IB_MERGE_VFS", 1)) != 0;
    let mut devices = Devices::default();
    for hca in hcas {
        for port in hca.ports().iter().filter(|p| p.is_active()) {
            let Some(link) = Link::of(port) else { continue };
            if !selector.selects(&hca.name, Some(port.number)) {
                continue;
            }
            if devices.list.len() == max_devices(release) {
                devices.beyond_limit.push(PortKey {
                    hca: hca.name.clone(),
                    port: port.number,
                });
                continue;
            }
            let path = device_path(hca);
            let entry = selector.first_match(&hca.name, Some(port.number));
            devices.list.push(Device {
                hca,
                port,
                link,
                real_port: 0,
                card: path.as_deref().map(|p| card_path(p, merge_vfs)),
                rail: entry.and_then(|e| e.rail),
                plane: entry.and_then(|e| e.plane),
                pci_order: path.as_deref().map(pci_order),
            });
        }
    }
    let sorted =
        release.has(Feature::PciOrder) && cut(settings.integer("NCCL_IB_DEVICE_PCI_ORDER", 1)) != 0;
    if sorted {
        devices
            .list
            .sort_by_key(|d| (d.pci_order.is_none(), d.pci_order));
    }
    devices.order_is_certain = listed_in_order
        || devices.list.len() < 2 && devices.beyond_limit.is_empty()
        || sorted && devices.beyond_limit.is_empty() && is_strictly_sorted(&devices.list);
    number_ports(&mut devices.list, merge_vfs)?;
    Ok(devices)
}

/// True where no two devices have the same place in PCI order, ports of one device aside.
fn is_strictly_sorted(list: &[Device<'_>]) -> bool {
    list.windows(2).all(|pair| match pair {
        [a, b] => a.hca.name == b.hca.name || a.pci_order != b.pci_order,
        _ => true,
    })
}

/// Gives each device the number of earlier ones on its card.
///
/// A release compares its path with those of all earlier devices, and dies where one of them has none.
fn number_ports(list: &mut [Device<'_>], merge_vfs: bool) -> Result<(), Crash> {
    let cards: Vec<Option<String>> = list.iter().map(|d| d.card.clone()).collect();
    for (index, device) in list.iter_mut().enumerate() {
        let Some(card) = &device.card else { continue };
        let kept = card.len().saturating_sub(if merge_vfs { 4 } else { 1 });
        let prefix = card.as_bytes().get(..kept).unwrap_or_default();
        for earlier in cards.iter().take(index) {
            match earlier {
                None => return Err(Crash::NoDevicePath),
                Some(path) if path.as_bytes().starts_with(prefix) => device.real_port += 1,
                Some(_) => {}
            }
        }
    }
    Ok(())
}

/// The devices in the order of the verbs library, and whether that order is known.
///
/// The library lists devices as the kernel registered them, which only netlink tells. The uverbs number is the next best: it
/// differs where a device went and came back. Devices whose character device is missing are not listed at all.
fn verbs_list(node: &Node) -> (Vec<&Hca>, bool) {
    let any_uverbs = node.hcas().iter().any(|h| h.uverbs.number.is_some());
    let mut list: Vec<&Hca> = node
        .hcas()
        .iter()
        .filter(|h| h.uverbs.node_exists != Some(false))
        .filter(|h| h.uverbs.number.is_some() || !any_uverbs)
        .collect();
    let registered = list.iter().all(|h| h.ibdev_index.is_some());
    list.sort_by(|a, b| {
        let by_index = if registered {
            a.ibdev_index.cmp(&b.ibdev_index)
        } else {
            a.uverbs.number.cmp(&b.uverbs.number)
        };
        by_index.then_with(|| order::natural(&a.name, &b.name))
    });
    let certain = registered || list.len() < 2;
    (list, certain)
}

/// The real path of a device's parent in sysfs (`/sys/class/infiniband/NAME/device`), without a leading slash.
fn device_path(hca: &Hca) -> Option<String> {
    let parent = hca
        .dir
        .rsplit_once("/infiniband/")
        .map(|(parent, _)| parent);
    match parent {
        Some(path) if path.starts_with("sys/devices/") && path != "sys/devices/virtual" => {
            Some(path.to_owned())
        }
        _ => hca.pci().map(|pci| pci.dir.clone()),
    }
}

/// A device's path with the function's digit zeroed, and with those of the device where virtual functions are joined.
///
/// It is done to the text, so that a sub-function's path is changed in the same places.
fn card_path(path: &str, merge_vfs: bool) -> String {
    let mut bytes = path.as_bytes().to_vec();
    let places: &[usize] = if merge_vfs { &[1, 3, 4] } else { &[1] };
    for place in places {
        if let Some(byte) = bytes
            .len()
            .checked_sub(*place)
            .and_then(|i| bytes.get_mut(i))
        {
            *byte = b'0';
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The last component of a path as one hexadecimal number, up to the first character that cannot be part of one.
fn pci_order(path: &str) -> u64 {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.chars()
        .filter(|c| !matches!(c, ':' | '.'))
        .map_while(|c| c.to_digit(16))
        .fold(0, |sum: u64, digit| {
            sum.wrapping_mul(16).wrapping_add(digit.into())
        })
}

#[cfg(test)]
#[path = "device_tests.rs"]
mod tests;
