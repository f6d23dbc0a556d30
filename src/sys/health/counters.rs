//! Counters of ports.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::model::health::{CounterGroup, CounterKind, ERROR_COUNTERS, LINK_DOWNED, PortCounters};
use crate::model::{Node, PortKey, Reading};
use crate::sys::Root;

/// Reads the counters of every port of a hardware device; with an interval a second time after it. A capture or an
/// offline copy cannot change, so nothing is waited for there.
pub(super) fn read(
    root: &Root,
    node: &Node,
    interval_ms: Option<u64>,
) -> BTreeMap<PortKey, PortCounters> {
    let mut found = read_once(root, node);
    if let Some(interval) = interval_ms.filter(|_| !root.is_offline()) {
        let start = Instant::now();
        std::thread::sleep(Duration::from_millis(interval));
        let mut again = read_once(root, node);
        let elapsed = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        for (key, counters) in &mut found {
            counters.later = again.remove(key).map(|c| (elapsed, Box::new(c)));
        }
    }
    found
}

fn read_once(root: &Root, node: &Node) -> BTreeMap<PortKey, PortCounters> {
    node.ports()
        .filter(|(hca, _)| !hca.is_software())
        .map(|(hca, port)| {
            let dir = format!("{}/ports/{}", hca.dir, port.number);
            let key = PortKey {
                hca: hca.name.clone(),
                port: port.number,
            };
            let counters = PortCounters {
                counters: read_group(root, &dir, CounterKind::Port),
                hw_counters: read_group(root, &dir, CounterKind::Hardware),
                later: None,
            };
            (key, counters)
        })
        .collect()
}

/// Reads those counters of a directory that a check looks at.
fn read_group(root: &Root, port: &str, kind: CounterKind) -> Reading<CounterGroup> {
    let dir = format!("{port}/{}", kind.dir());
    let wanted: BTreeSet<&str> = ERROR_COUNTERS
        .iter()
        .chain([&LINK_DOWNED])
        .filter(|c| c.group == kind)
        .map(|c| c.name)
        .collect();
    let values = root
        .list(&dir)?
        .into_iter()
        .filter(|name| wanted.contains(name.as_str()))
        .map(|name| {
            let value = root.parsed(&format!("{dir}/{name}"), str::parse::<u64>);
            (name, value)
        })
        .collect();
    Ok(CounterGroup { values })
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::model::health::{CounterKind, LINK_DOWNED};
    use crate::model::{PortKey, Why};
    use crate::sys::{Root, Scope, Tree, read_node};

    const NODE: &str = "rdmactl capture 1
link sys/class/infiniband/mlx5_0 ../../devices/pci0000:17/0000:17:01.0/0000:18:00.0/infiniband/mlx5_0
sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0/vendor = 0x15b3
sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0/infiniband/mlx5_0/ports/1/state = 4: ACTIVE
sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0/infiniband/mlx5_0/ports/1/counters/link_downed = 6
sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0/infiniband/mlx5_0/ports/1/counters/symbol_error = N/A (no PMA)
sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0/infiniband/mlx5_0/ports/1/counters/port_rcv_data = 5
errno sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0/infiniband/mlx5_0/ports/1/counters/port_rcv_errors EIO
";

    #[test]
    fn values_failures_and_absence_are_told_apart() {
        let root = Root::tree(Tree::parse(NODE).unwrap(), "test");
        let node = read_node(&root, Scope::FULL);
        let all = read(&root, &node, Some(60_000));
        let port = &all[&PortKey {
            hca: "mlx5_0".to_owned(),
            port: 1,
        }];
        assert_eq!(port.value(&LINK_DOWNED), Some(&Ok(6)));
        let group = port.group(CounterKind::Port).as_ref().unwrap();
        let why = |name: &str| group.values[name].clone().unwrap_err().why;
        assert_eq!(why("symbol_error"), Why::Malformed("N/A (no PMA)".into()));
        assert_eq!(why("port_rcv_errors"), Why::Errno(5));
        assert!(!group.values.contains_key("port_rcv_data"));
        assert!(port.hw_counters.as_ref().unwrap_err().is_absent());
        assert!(!port.are_absent());
        assert_eq!(port.later, None, "a capture cannot change");
    }
}
