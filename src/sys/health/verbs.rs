//! What a job would meet when it opens RDMA devices: the P_Key table of InfiniBand ports, and the right to open the nodes.

use std::collections::BTreeMap;

use crate::model::{LinkLayer, Node, PortKey, Reading, Unread};
use crate::parse::parse_hex;
use crate::sys::Root;

/// The bit of a P_Key that makes its holder a full member of the partition.
const FULL_MEMBER: u16 = 0x8000;

/// Reads the P_Keys of ACTIVE InfiniBand ports. Each one asks the firmware, so the table is only read on where its first
/// key is not that of a full member.
pub(super) fn read_pkeys(
    root: &Root,
    node: &Node,
) -> BTreeMap<PortKey, Reading<BTreeMap<u32, u16>>> {
    node.ports()
        .filter(|(hca, port)| {
            !hca.is_software() && port.is_active() && port.link_layer == Ok(LinkLayer::InfiniBand)
        })
        .map(|(hca, port)| {
            let key = PortKey {
                hca: hca.name.clone(),
                port: port.number,
            };
            let dir = format!("{}/ports/{}/pkeys", hca.dir, port.number);
            (key, read_table(root, &dir))
        })
        .collect()
}

fn read_table(root: &Root, dir: &str) -> Reading<BTreeMap<u32, u16>> {
    let read = |index: u32| -> Reading<u16> {
        let path = format!("{dir}/{index}");
        let key = root.parsed(&path, parse_hex)?;
        u16::try_from(key).map_err(|_| Unread::malformed(path, &format!("{key:#x}")))
    };
    let first = read(0)?;
    let mut table = BTreeMap::from([(0, first)]);
    if first & FULL_MEMBER == 0 {
        let indexes = root.list(dir)?;
        for index in indexes.iter().filter_map(|n| n.parse().ok()) {
            // A key that cannot be read is none that could be used instead.
            if let Ok(key) = read(index) {
                table.insert(index, key);
            }
        }
    }
    Ok(table)
}

/// Asks whether this process may read and write the devices' nodes; none is opened. The device cgroup of a container only
/// shows on opening.
pub(super) fn read_access(root: &Root, node: &Node) -> BTreeMap<String, Reading<()>> {
    node.hcas()
        .iter()
        .filter(|hca| hca.uverbs.node_exists == Some(true))
        .filter_map(|hca| {
            let path = format!("dev/infiniband/uverbs{}", hca.uverbs.number?);
            Some((hca.name.clone(), root.may_open(&path)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::read_pkeys;
    use crate::model::PortKey;
    use crate::sys::{Root, Scope, Tree, read_node};

    fn pkeys(lines: &str) -> crate::model::Reading<std::collections::BTreeMap<u32, u16>> {
        let text = format!(
            "rdmactl capture 1
link sys/class/infiniband/mlx5_0 ../../devices/pci0000:17/0000:17:01.0/0000:18:00.0/infiniband/mlx5_0
sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0/vendor = 0x15b3
sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0/infiniband/mlx5_0/ports/1/state = 4: ACTIVE
sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0/infiniband/mlx5_0/ports/1/link_layer = InfiniBand
{}",
            lines.replace(
                "PORT",
                "sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0/infiniband/mlx5_0/ports/1"
            )
        );
        let root = Root::tree(Tree::parse(&text).unwrap(), "test");
        let node = read_node(&root, Scope::FULL);
        let key = PortKey {
            hca: "mlx5_0".to_owned(),
            port: 1,
        };
        read_pkeys(&root, &node).remove(&key).unwrap()
    }

    #[test]
    fn the_table_is_read_on_only_behind_a_limited_member() {
        let limited = pkeys("PORT/pkeys/0 = 0x7fff\nPORT/pkeys/1 = 0xf0dc\n").unwrap();
        assert_eq!(
            limited.into_iter().collect::<Vec<_>>(),
            [(0, 0x7fff), (1, 0xf0dc)]
        );
        let full = pkeys("PORT/pkeys/0 = 0xffff\nPORT/pkeys/1 = 0xf0dc\n").unwrap();
        assert_eq!(full.len(), 1);
        assert!(pkeys("").unwrap_err().is_absent());
        assert!(pkeys("PORT/pkeys/0 = 0x12345\n").is_err());
    }
}
