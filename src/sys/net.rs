//! Network devices of /sys/class/net.

use std::collections::BTreeSet;

use super::{Root, Scope};
use crate::model::{Bond, Netdev, NetdevKind, Reading, Unread, Why};
use crate::parse::pci_path;

/// Reads every network device of this network namespace.
pub(super) fn read_netdevs(root: &Root, scope: Scope) -> Reading<Vec<Netdev>> {
    const CLASS: &str = "sys/class/net";
    Ok(root
        .list(CLASS)?
        .into_iter()
        // A plain file: the bonding driver's list.
        .filter(|name| name != "bonding_masters")
        .filter_map(|name| {
            let entry = format!("{CLASS}/{name}");
            // A dangling link is no device; one that cannot be read is, and its files say why not.
            let dir = match root.real(&entry) {
                Ok(dir) => dir,
                Err(unread) if unread.is_absent() => return None,
                Err(_) => entry,
            };
            Some(read_netdev(root, scope, name, dir))
        })
        .collect())
}

fn read_netdev(root: &Root, scope: Scope, name: String, dir: String) -> Netdev {
    // One listing tells which of the optional entries are there.
    let names: BTreeSet<String> = root.list(&dir).unwrap_or_default().into_iter().collect();
    let has = |n: &str| names.contains(n);
    let mut lowers: Vec<String> = names
        .iter()
        .filter_map(|n| n.strip_prefix("lower_"))
        .map(str::to_owned)
        .collect();
    let pci = pci_path(&dir)
        .or_else(|| {
            has("device")
                .then(|| pci_path(&root.real(&format!("{dir}/device")).ok()?))
                .flatten()
        })
        .map(|(_, address, _)| address);
    let bond = has("bonding").then(|| {
        let slaves = root
            .text(&format!("{dir}/bonding/slaves"))
            .unwrap_or_default();
        Bond {
            mode: root.text(&format!("{dir}/bonding/mode")),
            slaves: slaves.split_whitespace().map(str::to_owned).collect(),
        }
    });
    let kind = if bond.is_some() {
        NetdevKind::Bond
    } else if has("bridge") {
        NetdevKind::Bridge
    } else if pci.is_some() || has("device") {
        NetdevKind::Physical
    } else {
        virtual_kind(root, &name, &dir, &mut lowers)
    };
    lowers.extend(bond.iter().flat_map(|b| b.slaves.iter().cloned()));
    lowers.sort_by(|a, b| crate::model::order::natural(a, b));
    lowers.dedup();
    let number = |file: &str| -> Reading<u32> {
        inventory(root, scope, &dir, file).and_then(parse_at(&dir, file))
    };
    Netdev {
        master: has("master")
            .then(|| root.link(&format!("{dir}/master")).ok())
            .flatten()
            .and_then(|target| target.rsplit('/').next().map(str::to_owned)),
        ifindex: number("ifindex"),
        iflink: number("iflink"),
        mtu: number("mtu"),
        dev_port: number("dev_port"),
        operstate: inventory(root, scope, &dir, "operstate"),
        speed_mbps: inventory(root, scope, &dir, "speed").and_then(parse_at(&dir, "speed")),
        lowers,
        bond,
        pci,
        kind,
        dir,
        name,
    }
}

/// Tells the kinds of devices apart that have no hardware of their own; adds a VLAN's parent to `lowers`.
fn virtual_kind(root: &Root, name: &str, dir: &str, lowers: &mut Vec<String>) -> NetdevKind {
    if name == "lo" {
        return NetdevKind::Virtual;
    }
    // Only readable with root's capabilities on some systems; `lower_*` says the same.
    if let Ok(vlan) = root.text(&format!("proc/net/vlan/{name}")) {
        let parent = vlan.lines().find_map(|l| l.strip_prefix("Device:"));
        lowers.extend(parent.map(|p| p.trim().to_owned()));
        return NetdevKind::Vlan;
    }
    let uevent = root.text(&format!("{dir}/uevent")).unwrap_or_default();
    match uevent.lines().find_map(|l| l.strip_prefix("DEVTYPE=")) {
        Some("vlan") => NetdevKind::Vlan,
        Some("bond") => NetdevKind::Bond,
        Some("bridge") => NetdevKind::Bridge,
        Some("macvlan" | "macvtap") => NetdevKind::Macvlan,
        Some("ipvlan" | "ipvtap") => NetdevKind::Ipvlan,
        _ => NetdevKind::Virtual,
    }
}

/// Reads a file that only the inventory needs.
fn inventory(root: &Root, scope: Scope, dir: &str, file: &str) -> Reading<String> {
    let path = format!("{dir}/{file}");
    if scope.inventory {
        root.text(&path)
    } else {
        Err(Unread::new(path, Why::NotAsked))
    }
}

fn parse_at<T: std::str::FromStr>(dir: &str, file: &str) -> impl Fn(String) -> Reading<T> {
    move |text| {
        text.parse()
            .map_err(|_| Unread::malformed(format!("{dir}/{file}"), &text))
    }
}
