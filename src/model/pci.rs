//! PCI functions: addresses, their place in the tree, and the distance between two of them.

use std::fmt;

use super::Reading;

/// A PCI address: domain, bus, device, function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Bdf {
    /// Domain; more than four digits behind Intel VMD, any value on Hyper-V.
    pub(crate) domain: u32,
    /// Bus.
    pub(crate) bus: u8,
    /// Device, 0 to 31.
    pub(crate) device: u8,
    /// Function, 0 to 7.
    pub(crate) function: u8,
}

impl Bdf {
    /// True when the other is a function of the same slot: they are one card.
    pub(crate) fn same_slot(self, other: Self) -> bool {
        (self.domain, self.bus, self.device) == (other.domain, other.bus, other.device)
    }
}

impl fmt::Display for Bdf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:04x}:{:02x}:{:02x}.{:x}",
            self.domain, self.bus, self.device, self.function
        )
    }
}

impl fmt::Debug for Bdf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The way from the host bridge to a function: `pci0000:17`, `0000:17:01.0`, ..., the function itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PciPath(pub(crate) Vec<String>);

/// How far two functions are apart, in the words of `nvidia-smi topo`. Ordered: nearer is less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Distance {
    /// One switch, or functions of one card.
    Pix,
    /// Several switches, below one host bridge's port.
    Pxb,
    /// Through the host bridge.
    Phb,
    /// Another host bridge of the same NUMA node.
    Node,
    /// Another NUMA node.
    Sys,
}

impl Distance {
    /// True where traffic need not pass the host bridge, so that `GPUDirect` is at its best.
    pub(crate) fn is_near(self) -> bool {
        self <= Self::Pxb
    }

    /// The word `nvidia-smi topo` uses.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Pix => "PIX",
            Self::Pxb => "PXB",
            Self::Phb => "PHB",
            Self::Node => "NODE",
            Self::Sys => "SYS",
        }
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A PCI function as sysfs shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PciFunction {
    /// Its address.
    pub(crate) address: Bdf,
    /// Real directory below the root, without a leading slash.
    pub(crate) dir: String,
    /// Its place in the tree.
    pub(crate) path: PciPath,
    /// Vendor id, for example 0x15b3.
    pub(crate) vendor: Reading<u16>,
    /// Device id.
    pub(crate) device: Reading<u16>,
    /// Class code, 24 bits.
    pub(crate) class: Reading<u32>,
    /// NUMA node; -1 where the firmware does not say.
    pub(crate) numa_node: Reading<i32>,
}

impl PciFunction {
    /// Returns the distance to another function, from the deepest bridge they share, then by NUMA node.
    ///
    /// A switch is an upstream bridge with downstream bridges below it, so two functions whose common bridge is at most
    /// two components above each of them have one switch between them.
    pub(crate) fn distance(&self, other: &Self) -> Distance {
        let common = self
            .path
            .0
            .iter()
            .zip(&other.path.0)
            .take_while(|(a, b)| a == b)
            .count();
        let below = (self.path.0.len().max(other.path.0.len())).saturating_sub(common);
        match common {
            0 => match (&self.numa_node, &other.numa_node) {
                (Ok(a), Ok(b)) if a == b => Distance::Node,
                _ => Distance::Sys,
            },
            1 => Distance::Phb,
            _ if below <= 2 => Distance::Pix,
            _ => Distance::Pxb,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bdf, Distance, PciFunction, PciPath};

    fn function(path: &str, numa: i32) -> PciFunction {
        PciFunction {
            address: Bdf {
                domain: 0,
                bus: 0,
                device: 0,
                function: 0,
            },
            dir: String::new(),
            path: PciPath(path.split('/').map(str::to_owned).collect()),
            vendor: Ok(0),
            device: Ok(0),
            class: Ok(0),
            numa_node: Ok(numa),
        }
    }

    #[test]
    fn distances_follow_the_deepest_common_bridge() {
        let gpu = function(
            "pci0000:17/0000:17:01.0/0000:18:00.0/0000:19:00.0/0000:1a:00.0",
            0,
        );
        let nic = |path: &str, numa| gpu.distance(&function(path, numa));
        assert_eq!(
            nic(
                "pci0000:17/0000:17:01.0/0000:18:00.0/0000:19:01.0/0000:1b:00.0",
                0
            ),
            Distance::Pix
        );
        assert_eq!(
            nic(
                "pci0000:17/0000:17:01.0/0000:18:00.0/0000:19:02.0/0000:1c:00.0/0000:1d:00.0/0000:1e:00.0",
                0
            ),
            Distance::Pxb
        );
        assert_eq!(
            nic("pci0000:17/0000:17:03.0/0000:20:00.0", 0),
            Distance::Phb
        );
        assert_eq!(
            nic("pci0000:40/0000:40:01.0/0000:41:00.0", 0),
            Distance::Node
        );
        assert_eq!(
            nic("pci0000:80/0000:80:01.0/0000:81:00.0", 1),
            Distance::Sys
        );
    }

    #[test]
    fn functions_of_one_card_are_one_switch_apart() {
        let a = function("pci0000:17/0000:17:01.0/0000:18:00.0", 0);
        let b = function("pci0000:17/0000:17:01.0/0000:18:00.1", 0);
        assert_eq!(a.distance(&b), Distance::Pix);
    }
}
