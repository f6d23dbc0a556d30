//! Which GID of a port's table NCCL uses.
//!
//! Source: `ncclIbGetGidIndex`, `ncclUpdateGidIndex` and `ncclIbRoceGetVersionNum` (`net_ib.cc`, `net_ib/connect.cc` from
//! 2.29.2). NCCL asks the verbs library for GIDs and sysfs only for their types; where a namespace hides rows from sysfs the
//! two differ, and the answer here is that of sysfs.

use super::address::{Family, Range};
use super::config::Settings;
use super::number::cut;
use super::outcome::{Code, Crash};
use super::release::{Feature, Release};
use crate::model::{Gid, GidRow, GidTable, GidType, LinkLayer, Port, Why};

/// `EINVAL`: what the kernel gives for the type of an empty row.
const EINVAL: i32 = 22;

/// The GID NCCL uses on a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GidChoice {
    /// The index; `None` where the release needs no GID (InfiniBand). Out of the table when a setting says so.
    pub(crate) index: Option<i32>,
    /// How looking for it ends. Anything but success makes setting up a connection fail.
    pub(crate) result: Code,
    /// What the row holds: an empty row is the zero GID, `None` a row that cannot be read.
    pub(crate) value: Option<Gid>,
    /// False where the answer rests on a value NCCL never set, or on a row that could not be looked at here.
    pub(crate) guaranteed: bool,
}

/// Returns the GID NCCL uses on a port, or how it dies on the way.
pub(crate) fn choose(
    port: &Port,
    settings: &Settings,
    release: Release,
) -> Result<GidChoice, Crash> {
    let table = Table::of(port);
    let infiniband = port.link_layer == Ok(LinkLayer::InfiniBand);
    if infiniband && release.has(Feature::FlidGid) {
        return Ok(with_flid(&table, settings));
    }
    let dynamic = release.has(Feature::DynamicGid);
    let fixed = cut(settings.integer("NCCL_IB_GID_INDEX", if dynamic { -1 } else { 0 }));
    let family = Family::of_gids(settings.get("NCCL_IB_ADDR_FAMILY"));
    let range = if dynamic && fixed < 0 {
        // The records have this end the process on an InfiniBand port too, where no GID is needed.
        Range::parse(settings.get("NCCL_IB_ADDR_RANGE"), family, release)?
    } else {
        Range::All(None)
    };
    if infiniband {
        return Ok(GidChoice {
            index: None,
            result: Code::Success,
            value: None,
            guaranteed: true,
        });
    }
    if fixed >= 0 || !dynamic {
        return Ok(table.choice(fixed, true));
    }
    let rules = Rules {
        family,
        range,
        version: cut(settings.integer("NCCL_IB_ROCE_VERSION_NUM", 2)),
        release,
    };
    Ok(rules.walk(&table))
}

/// On InfiniBand a GID only matters where a router gave the port an FLID.
fn with_flid(table: &Table<'_>, settings: &Settings) -> GidChoice {
    let routable = cut(settings.integer("NCCL_IB_ROUTABLE_FLID_GID_INDEX", 1));
    if i64::from(routable) >= table.len {
        return table.choice(0, table.complete);
    }
    match table.slot(routable) {
        Slot::Outside => GidChoice {
            result: Code::SystemError,
            ..table.choice(routable, true)
        },
        Slot::Unknown => table.choice(0, false),
        Slot::Holds(gid) => {
            let [_, _, _, _, high, low, ..] = gid.0;
            let index = if (high, low) == (0, 0) { 0 } else { routable };
            table.choice(index, true)
        }
    }
}

/// A port's GID table as NCCL can query it.
struct Table<'a> {
    rows: Option<&'a GidTable>,
    /// Number of rows.
    len: i64,
    /// Whether every row was looked at.
    complete: bool,
}

/// What a query for one index gives.
enum Slot {
    /// The GID, zero for an empty row.
    Holds(Gid),
    /// It is a row, but what it holds was not seen.
    Unknown,
    /// There is no such row.
    Outside,
}

impl<'a> Table<'a> {
    fn of(port: &'a Port) -> Self {
        let rows = port.gids.as_ref().ok();
        let seen = rows.map_or(0, |t| {
            let row = t.rows.last().map_or(0, |r| i64::from(r.index) + 1);
            let unread = t.unread.last().map_or(0, |(i, _)| i64::from(*i) + 1);
            row.max(unread)
        });
        Self {
            rows,
            len: rows.and_then(|t| t.len).map_or(seen, i64::from),
            complete: rows.is_some_and(GidTable::is_complete),
        }
    }

    fn row(&self, index: i32) -> Option<&'a GidRow> {
        self.rows?.row(u32::try_from(index).ok()?)
    }

    fn slot(&self, index: i32) -> Slot {
        let Ok(at) = u32::try_from(index) else {
            return Slot::Outside;
        };
        if i64::from(at) >= self.len {
            return if self.complete {
                Slot::Outside
            } else {
                Slot::Unknown
            };
        }
        match self.row(index) {
            Some(row) => Slot::Holds(row.gid),
            None if self.is_unread(at) => Slot::Unknown,
            None => Slot::Holds(Gid([0; 16])),
        }
    }

    fn is_unread(&self, index: u32) -> bool {
        self.rows
            .is_some_and(|t| t.unread.iter().any(|(i, _)| *i == index))
    }

    /// The choice of an index, with what its row holds.
    fn choice(&self, index: i32, guaranteed: bool) -> GidChoice {
        let (value, seen) = match self.slot(index) {
            Slot::Holds(gid) => (Some(gid), true),
            Slot::Outside => (None, true),
            Slot::Unknown => (None, false),
        };
        GidChoice {
            index: Some(index),
            result: Code::Success,
            value,
            guaranteed: guaranteed && seen,
        }
    }
}

/// What the walk goes by.
struct Rules {
    family: Family,
    range: Range,
    version: i32,
    release: Release,
}

impl Rules {
    /// Goes through the table once, row 0 being the choice until a better one comes.
    fn walk(&self, table: &Table<'_>) -> GidChoice {
        let mut current = 0;
        let mut guaranteed = table.complete;
        for next in 1..i32::try_from(table.len).unwrap_or(i32::MAX) {
            let gid = match table.slot(next) {
                Slot::Holds(gid) => gid,
                Slot::Unknown | Slot::Outside => {
                    guaranteed = false;
                    Gid([0; 16])
                }
            };
            let held = match table.slot(current) {
                Slot::Holds(gid) => gid,
                Slot::Unknown | Slot::Outside => {
                    guaranteed = false;
                    Gid([0; 16])
                }
            };
            let fits = Family::of(gid) == self.family && self.range.contains(gid);
            if fits && Family::of(held) != self.family {
                // Neither the version nor the kind of address is looked at here: an empty row counts as IPv6.
                current = next;
                continue;
            }
            if !fits || !is_valid(gid) {
                continue;
            }
            let versions = self
                .version(table.row(current))
                .and_then(|held| Ok((held, self.version(table.row(next))?)));
            let Ok((held_version, version)) = versions else {
                return GidChoice {
                    result: Code::SystemError,
                    value: None,
                    ..table.choice(current, guaranteed)
                };
            };
            // A version that was not read is whatever the memory held; it is taken to differ from every version.
            if version.is_none() && !self.release.has(Feature::CandidateVersionSet) {
                guaranteed = false;
            }
            if version == Some(self.version) {
                let differs = held_version != version;
                if is_valid(held) && held_version.is_none() {
                    guaranteed = false;
                }
                if differs || !is_valid(held) {
                    current = next;
                }
            }
        }
        table.choice(current, guaranteed)
    }

    /// Reads the RoCE version of a row: `None` leaves NCCL's variable as it was, an error ends the search.
    fn version(&self, row: Option<&GidRow>) -> Result<Option<i32>, Code> {
        let unused = || {
            if self.release.has(Feature::UnreadTypeTolerated) {
                Ok(None)
            } else {
                Err(Code::SystemError)
            }
        };
        match row.map(|r| &r.kind) {
            None => unused(),
            Some(Ok(GidType::V1)) => Ok(Some(1)),
            Some(Ok(GidType::V2)) => Ok(Some(2)),
            Some(Ok(GidType::Other(_))) => Ok(None),
            Some(Err(unread)) => match unread.why {
                // A copied tree has no file where the kernel gives EINVAL.
                Why::Absent | Why::Errno(EINVAL) => unused(),
                Why::Denied | Why::Errno(_) => Err(Code::SystemError),
                Why::Malformed(_) | Why::TooLarge(_) | Why::NotCaptured | Why::NotAsked => Ok(None),
            },
        }
    }
}

/// NCCL's "valid": not empty and not in `fe80::/64`. IPv4 169.254/16 is as good as any other address.
fn is_valid(gid: Gid) -> bool {
    !gid.is_empty() && !gid.0.starts_with(&[0xfe, 0x80, 0, 0, 0, 0, 0, 0])
}

#[cfg(test)]
#[path = "gid_tests.rs"]
mod tests;
