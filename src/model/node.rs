//! A node: everything that was read of it, and look-ups over it.

use super::{Gpu, Hca, Interface, Netdev, Port, PortKey, Reading, Route};

/// How much of each GID table is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GidDepth {
    /// Rows until every address that can have one has its RoCE v2 row (design: a pinned answer cannot change after that).
    Needed,
    /// The whole table.
    All,
}

/// A node as it was read. Parts that could not be read say so; one bad device never hides the rest.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// /proc/sys/kernel/hostname.
    pub(crate) hostname: Reading<String>,
    /// RDMA devices in natural order of their names. `Absent`: no RDMA stack is loaded.
    pub(crate) hcas: Reading<Vec<Hca>>,
    /// Network devices in natural order of their names.
    pub(crate) netdevs: Reading<Vec<Netdev>>,
    /// Interfaces with addresses, in the kernel's order.
    pub(crate) interfaces: Reading<Vec<Interface>>,
    /// IPv4 routes of the main table.
    pub(crate) routes4: Reading<Vec<Route>>,
    /// IPv6 routes.
    pub(crate) routes6: Reading<Vec<Route>>,
    /// GPUs in PCI order.
    pub(crate) gpus: Reading<Vec<Gpu>>,
    /// What says that this is a container, when something does (`/.dockerenv`).
    pub(crate) container: Option<String>,
    /// Whether /dev/infiniband exists; unread where there is no /dev to look at.
    pub(crate) dev_infiniband: Reading<bool>,
}

impl Node {
    /// The RDMA devices; none where they could not be listed.
    pub(crate) fn hcas(&self) -> &[Hca] {
        self.hcas.as_deref().unwrap_or_default()
    }

    /// The network devices; none where they could not be listed.
    pub(crate) fn netdevs(&self) -> &[Netdev] {
        self.netdevs.as_deref().unwrap_or_default()
    }

    /// The interfaces; none where they could not be listed.
    pub(crate) fn interfaces(&self) -> &[Interface] {
        self.interfaces.as_deref().unwrap_or_default()
    }

    /// The GPUs; none where PCI could not be listed.
    pub(crate) fn gpus(&self) -> &[Gpu] {
        self.gpus.as_deref().unwrap_or_default()
    }

    /// A network device by name.
    pub(crate) fn netdev(&self, name: &str) -> Option<&Netdev> {
        self.netdevs().iter().find(|n| n.name == name)
    }

    /// An interface by name.
    pub(crate) fn interface(&self, name: &str) -> Option<&Interface> {
        self.interfaces().iter().find(|i| i.name == name)
    }

    /// A device by name.
    pub(crate) fn hca(&self, name: &str) -> Option<&Hca> {
        self.hcas().iter().find(|h| h.name == name)
    }

    /// Every port with its device, in order.
    pub(crate) fn ports(&self) -> impl Iterator<Item = (&Hca, &Port)> {
        self.hcas()
            .iter()
            .flat_map(|h| h.ports().iter().map(move |p| (h, p)))
    }

    /// A port by device and number.
    pub(crate) fn port(&self, key: &PortKey) -> Option<(&Hca, &Port)> {
        let hca = self.hca(&key.hca)?;
        let port = hca.ports().iter().find(|p| p.number == key.port)?;
        Some((hca, port))
    }

    /// The default route that decides where the host's ordinary traffic goes: IPv4 by lowest metric, else IPv6.
    pub(crate) fn default_route(&self) -> Option<&Route> {
        [&self.routes4, &self.routes6]
            .into_iter()
            .find_map(|routes| {
                routes
                    .as_ref()
                    .ok()?
                    .iter()
                    .filter(|r| r.is_default())
                    .min_by_key(|r| r.metric)
            })
    }
}
