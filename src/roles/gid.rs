//! Which row of a RoCE port's GID table is right: RoCE v2, of a network device in this namespace, and not link-local.

use crate::model::{GidClass, GidRow, GidType, NetdevKind, Node, Port, Reading, Unread};

/// What a row is worth to a RoCE connection from this network namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RowVerdict {
    /// RoCE v2, routable, and ours.
    Usable,
    /// Routable and ours, but RoCE v1.
    V1,
    /// fe80::/10 or 169.254/16: does not leave the link.
    LinkLocal,
    /// Its network device is in another namespace (or another device of that name is meant).
    Foreign,
    /// Its network device could not be read, so it cannot be known to be ours.
    Unreadable(Unread),
    /// It is ours and routable, but its type could not be read.
    TypeUnread(Unread),
}

impl RowVerdict {
    /// A short word for tables.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Usable => "usable",
            Self::V1 => "RoCE v1",
            Self::LinkLocal => "link-local",
            Self::Foreign => "other namespace",
            Self::Unreadable(_) | Self::TypeUnread(_) => "unreadable",
        }
    }
}

/// Why a RoCE port has no usable row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoGid {
    /// The table could not be read.
    Unread(Unread),
    /// No row holds anything.
    Empty,
    /// Link-local rows only.
    LinkLocalOnly,
    /// There are routable rows of this namespace, all of them RoCE v1.
    V1Only,
    /// There are routable rows, all of other namespaces; the names of their network devices.
    Foreign(Vec<String>),
}

/// Judges a row. Addresses decide where a device's name could be another namespace's: `eth0` is everywhere.
pub(crate) fn judge_row(node: &Node, row: &GidRow) -> RowVerdict {
    if matches!(
        row.gid.class(),
        GidClass::LinkLocal | GidClass::Ipv4LinkLocal | GidClass::Empty
    ) {
        return RowVerdict::LinkLocal;
    }
    match is_ours(node, row) {
        Ok(false) => return RowVerdict::Foreign,
        Err(unread) => return RowVerdict::Unreadable(unread),
        Ok(true) => {}
    }
    match &row.kind {
        Ok(GidType::V2) => RowVerdict::Usable,
        Ok(GidType::V1 | GidType::Other(_)) => RowVerdict::V1,
        Err(unread) => RowVerdict::TypeUnread(unread.clone()),
    }
}

fn is_ours(node: &Node, row: &GidRow) -> Reading<bool> {
    let address = row.gid.address();
    let ndev = match &row.ndev {
        Ok(ndev) => ndev,
        // The kernel does not say whose it is; an address of this namespace says it as well.
        Err(unread) => {
            let known = node
                .interfaces()
                .iter()
                .any(|i| i.addresses.iter().any(|a| a.ip == address));
            return if known { Ok(true) } else { Err(unread.clone()) };
        }
    };
    let Some(netdev) = node.netdev(ndev) else {
        return Ok(false);
    };
    if node.interfaces.is_err() {
        return Ok(true);
    }
    // Some drivers write a slave's name where the address is its bond's.
    let holders = [Some(ndev), netdev.master.as_ref()];
    Ok(holders
        .into_iter()
        .flatten()
        .filter_map(|name| node.interface(name))
        .any(|i| i.addresses.iter().any(|a| a.ip == address)))
}

/// Chooses the row of a RoCE port: of the port's own network device (or its bond) before a VLAN's or macvlan's on top of
/// it, IPv4 before IPv6, then the lowest index. Holes in the table are normal.
pub(crate) fn choose_gid<'a>(node: &Node, port: &'a Port) -> Result<&'a GidRow, NoGid> {
    let table = port.gids.as_ref().map_err(|u| NoGid::Unread(u.clone()))?;
    let verdicts: Vec<(&GidRow, RowVerdict)> =
        table.rows.iter().map(|r| (r, judge_row(node, r))).collect();
    let rank = |r: &GidRow| {
        (
            // Only its address says that it is ours.
            r.ndev.is_err(),
            is_on_top(node, port, r),
            r.gid.class() != GidClass::Ipv4,
            r.index,
        )
    };
    let best = verdicts
        .iter()
        .filter(|(_, v)| matches!(v, RowVerdict::Usable | RowVerdict::TypeUnread(_)))
        .min_by_key(|(r, _)| rank(r));
    match best {
        Some((row, RowVerdict::Usable)) => return Ok(row),
        // It may be the right one, or RoCE v1: that cannot be told.
        Some((_, RowVerdict::TypeUnread(unread))) => return Err(NoGid::Unread(unread.clone())),
        _ => {}
    }
    let any = |wanted: fn(&RowVerdict) -> bool| verdicts.iter().any(|(_, v)| wanted(v));
    if let Some((_, unread)) = table.unread.first()
        && verdicts.is_empty()
    {
        return Err(NoGid::Unread(unread.clone()));
    }
    Err(if any(|v| *v == RowVerdict::V1) {
        NoGid::V1Only
    } else if any(|v| matches!(v, RowVerdict::Foreign | RowVerdict::Unreadable(_))) {
        let mut names: Vec<String> = verdicts
            .iter()
            .filter(|(_, v)| *v == RowVerdict::Foreign)
            .filter_map(|(r, _)| r.ndev.clone().ok())
            .collect();
        names.sort_by(|a, b| crate::model::order::natural(a, b));
        names.dedup();
        NoGid::Foreign(names)
    } else if any(|v| *v == RowVerdict::LinkLocal) {
        NoGid::LinkLocalOnly
    } else {
        NoGid::Empty
    })
}

/// True for the row of a VLAN, macvlan, ipvlan or bridge on top of the port's own device, which may be one itself.
fn is_on_top(node: &Node, port: &Port, row: &GidRow) -> bool {
    row.ndev
        .as_ref()
        .ok()
        .filter(|n| !port.netdevs.contains(n))
        .and_then(|n| node.netdev(n))
        .is_some_and(|n| {
            matches!(
                n.kind,
                NetdevKind::Vlan | NetdevKind::Macvlan | NetdevKind::Ipvlan | NetdevKind::Bridge
            )
        })
}
