//! How far two of NCCL's network devices are apart in the tree NCCL builds from sysfs.
//!
//! It is not `nvidia-smi`'s distance: NCCL keeps every second bridge on the way up, which is the upper end of a switch, and hangs
//! everything that is no PCI function below the first CPU. That is the CPU of the process's GPU; the node's first GPU stands
//! for it here. The function a device's path leads to once its last digits are zeroed is taken to exist, as the first function of
//! a card does. Source: `ncclTopoGetXmlFromSys` (`src/graph/xml.cc`), `ncclTopoFillNet` and `ncclTopoGetPath`
//! (`src/graph/topo.cc`).

use super::device::Device;
use crate::model::Node;

/// A distance by NCCL's names; nearer is less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// Nothing is so near.
    Loc,
    /// One card.
    Port,
    /// One switch.
    Pix,
    /// Several switches.
    Pxb,
    /// Chip-to-chip and PCI.
    P2c,
    /// Through another GPU.
    Pxn,
    /// One CPU.
    Phb,
    /// Any two devices of the node.
    Sys,
    /// Farther than everything.
    Disconnected,
}

impl Reach {
    /// Reads `NCCL_NET_MERGE_LEVEL`: exact names only, and any other text is `LOC`.
    pub(crate) fn of_level(text: Option<&str>) -> Self {
        match text {
            None | Some("PORT") => Self::Port,
            Some("PIX") => Self::Pix,
            Some("PXB") => Self::Pxb,
            Some("P2C") => Self::P2c,
            Some("PXN") => Self::Pxn,
            Some("PHB") => Self::Phb,
            Some("SYS") => Self::Sys,
            Some(_) => Self::Loc,
        }
    }
}

/// The way from a CPU down to the PCI function a network device hangs at; without a function, the CPU alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Name of the network device. Ports of one RDMA device share it, and so are one node of the tree.
    name: String,
    /// NUMA node of the CPU, as written.
    cpu: String,
    /// PCI addresses from the CPU down.
    functions: Vec<String>,
}

/// The length of `0000:3b:00.0`; NCCL takes nothing else for a PCI address.
const BDF_LENGTH: usize = 12;

impl Place {
    /// The places of all devices of a list.
    pub(crate) fn of_all(devices: &[Device<'_>], node: &Node) -> Vec<Self> {
        let first_cpu = node
            .gpus()
            .first()
            .map(|gpu| &gpu.pci)
            .or_else(|| devices.iter().find_map(|d| d.hca.pci()))
            .map_or_else(|| "-1".into(), |pci| numa(pci.numa_node.as_ref().ok()));
        devices.iter().map(|d| Self::of(d, &first_cpu)).collect()
    }

    fn of(device: &Device<'_>, first_cpu: &str) -> Self {
        let name = device.hca.name.clone();
        let leaf = device
            .card
            .as_deref()
            .and_then(|card| card.rsplit('/').next())
            .filter(|leaf| is_bdf(leaf));
        let (Some(leaf), Some(pci)) = (leaf, device.hca.pci()) else {
            return Self {
                name,
                cpu: first_cpu.into(),
                functions: Vec::new(),
            };
        };
        let mut above = pci.path.0.as_slice();
        above = above.split_last().map_or(above, |(_, rest)| rest);
        let mut functions = vec![leaf.to_owned()];
        // The next bridge up is a downstream port, the one above it the switch; where one is missing, the CPU comes.
        while let [rest @ .., upper, lower] = above {
            if !is_bdf(upper) || !is_bdf(lower) {
                break;
            }
            functions.push(upper.clone());
            above = rest;
        }
        functions.reverse();
        Self {
            name,
            cpu: numa(pci.numa_node.as_ref().ok()),
            functions,
        }
    }

    /// The distance to another device.
    pub(crate) fn reach(&self, other: &Self) -> Reach {
        if self.name == other.name {
            return Reach::Port;
        }
        if self.cpu != other.cpu {
            return Reach::Sys;
        }
        let common = self
            .functions
            .iter()
            .zip(&other.functions)
            .take_while(|(a, b)| a == b)
            .count();
        match (self.functions.get(common), other.functions.get(common)) {
            (None, None) => Reach::Port,
            // Also bridges that are functions of one device are taken for ports of a card.
            (Some(a), Some(b)) if differ_in_last_character(a, b) => Reach::Port,
            _ if common == 0 => Reach::Phb,
            (Some(_), Some(_)) if self.functions.len().max(other.functions.len()) == common + 1 => {
                Reach::Pix
            }
            _ => Reach::Pxb,
        }
    }

    /// True where two devices have no CPU in common.
    pub(crate) fn is_across_cpus(&self, other: &Self) -> bool {
        self.cpu != other.cpu
    }

    /// True for a device below the first CPU, having no PCI function.
    pub(crate) fn is_off_pci(&self) -> bool {
        self.functions.is_empty()
    }
}

fn numa(node: Option<&i32>) -> String {
    node.map_or_else(|| "-1".into(), ToString::to_string)
}

/// True for `DDDD:BB:DD.F` in hexadecimal.
fn is_bdf(text: &str) -> bool {
    text.len() == BDF_LENGTH
        && text.bytes().enumerate().all(|(i, b)| match i {
            4 | 7 => b == b':',
            10 => b == b'.',
            _ => b.is_ascii_hexdigit(),
        })
}

fn differ_in_last_character(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    a.len() == b.len()
        && a.split_last().map(|(_, rest)| rest) == b.split_last().map(|(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::{Place, Reach, is_bdf};

    fn place(name: &str, cpu: &str, functions: &[&str]) -> Place {
        Place {
            name: name.into(),
            cpu: cpu.into(),
            functions: functions.iter().map(|f| (*f).to_owned()).collect(),
        }
    }

    const SWITCH: &str = "0000:18:00.0";

    #[test]
    fn levels_are_exact_words() {
        assert_eq!(Reach::of_level(None), Reach::Port);
        assert_eq!(Reach::of_level(Some("SYS")), Reach::Sys);
        for text in ["LOC", "", "pix", "NODE", "PIX "] {
            assert_eq!(Reach::of_level(Some(text)), Reach::Loc, "{text}");
        }
    }

    #[test]
    fn one_card_is_a_port_apart() {
        let a = place("mlx5_0", "0", &[SWITCH, "0000:1a:00.0"]);
        assert_eq!(
            a.reach(&place("mlx5_1", "0", &[SWITCH, "0000:1a:00.0"])),
            Reach::Port
        );
        assert_eq!(a.reach(&place("mlx5_0", "1", &[])), Reach::Port);
    }

    #[test]
    fn switches_and_cpus_are_counted() {
        let a = place("mlx5_0", "0", &[SWITCH, "0000:1a:00.0"]);
        let to = |cpu, functions: &[&str]| a.reach(&place("mlx5_1", cpu, functions));
        assert_eq!(to("0", &[SWITCH, "0000:1b:00.0"]), Reach::Pix);
        assert_eq!(
            to("0", &[SWITCH, "0000:1c:00.0", "0000:1e:00.0"]),
            Reach::Pxb
        );
        assert_eq!(to("0", &["0000:20:00.0"]), Reach::Phb);
        assert_eq!(to("0", &[]), Reach::Phb);
        assert_eq!(to("1", &["0000:20:00.0"]), Reach::Sys);
    }

    #[test]
    fn bridges_of_one_device_make_their_children_one_card() {
        let a = place("mlx5_0", "0", &["0000:18:00.0", "0000:1a:00.0"]);
        let b = place("mlx5_1", "0", &["0000:18:00.1", "0000:2a:00.0"]);
        assert_eq!(a.reach(&b), Reach::Port);
    }

    #[test]
    fn devices_off_pci_share_the_first_cpu() {
        let a = place("rxe0", "0", &[]);
        assert_eq!(a.reach(&place("rxe1", "0", &[])), Reach::Port);
        assert!(a.is_off_pci());
    }

    #[test]
    fn only_twelve_characters_are_an_address() {
        assert!(is_bdf("0000:3b:00.0"));
        for text in [
            "pci0000:3b",
            "10000:3b:00.0",
            "0000:3b:00:0",
            "0000-3b:00.0",
            "mlx5_core.sf",
        ] {
            assert!(!is_bdf(text), "{text}");
        }
    }
}
