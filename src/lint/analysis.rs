//! The settings in the NCCL model, release by release, and beside them what `env` would choose.

use std::collections::BTreeSet;

use super::Sources;
use crate::model::{GidClass, GidType, Node, PortKey};
use crate::nccl::config::{Origin, Settings};
use crate::nccl::device::{self, Link};
use crate::nccl::gid::{self, GidChoice};
use crate::nccl::predict::{Prediction, predict};
use crate::nccl::release::Release;
use crate::plan::{Plan, PlanError, Policy, Profile, Request, build};
use crate::roles::{Assigned, Decision, RowVerdict, Rules, judge_row, socket_interface};

/// A node's settings, looked at from every side.
pub(crate) struct Analysis<'a> {
    /// The node.
    pub(crate) node: &'a Node,
    /// Every port's role.
    pub(crate) decision: &'a Decision,
    /// Where the settings stand.
    pub(crate) sources: &'a Sources,
    /// Whether the release in use is known; otherwise the newest is judged.
    pub(crate) release_known: bool,
    /// What each release would do, oldest first.
    pub(crate) judged: Vec<Judged>,
    /// What `env` would choose.
    pub(crate) choice: Choice,
}

/// What one release would do with the settings.
pub(crate) struct Judged {
    /// The release.
    pub(crate) release: Release,
    /// The settings as it reads them.
    pub(crate) settings: Settings,
    /// What it does.
    pub(crate) prediction: Prediction,
    /// The ports that pass its list, whether or not RDMA is then used at all.
    pub(crate) used: Vec<Used>,
    /// The ports it would use without a list.
    pub(crate) without_list: Vec<PortKey>,
}

/// A port that passes the list.
pub(crate) struct Used {
    /// Which.
    pub(crate) key: PortKey,
    /// Its link layer.
    pub(crate) link: Link,
    /// The GID the release uses on it, unless it dies on the way.
    pub(crate) gid: Option<GidChoice>,
}

/// What `env` would choose, or why it refuses.
pub(crate) struct Choice {
    /// The interface for out-of-band traffic, and why.
    pub(crate) interface: Option<(String, &'static str)>,
    /// The plan.
    pub(crate) plan: Result<Plan, PlanError>,
}

impl<'a> Analysis<'a> {
    /// Looks at settings with the releases in use; with the newest where none is known.
    pub(crate) fn new(
        node: &'a Node,
        decision: &'a Decision,
        rules: &Rules,
        sources: &'a Sources,
        releases: &[Release],
    ) -> Self {
        let judged = if releases.is_empty() {
            vec![Release::NEWEST]
        } else {
            releases.to_vec()
        };
        let netdevs: Vec<BTreeSet<String>> = decision.data().map(|p| p.netdevs.clone()).collect();
        let existing = |release| sources.settings(release);
        let plan = build(&Request {
            node,
            decision,
            rules,
            existing: &existing,
            releases,
            policy: Policy::Auto,
            profile: Profile::Base,
            keep: false,
            set: &[],
        });
        Self {
            node,
            decision,
            sources,
            release_known: !releases.is_empty(),
            judged: judged
                .into_iter()
                .map(|r| Judged::new(node, sources.settings(r), r))
                .collect(),
            choice: Choice {
                interface: socket_interface(node, &rules.main, &netdevs).map(|c| (c.name, c.why)),
                plan,
            },
        }
    }

    /// The predictions alone: what `env` would choose is not worked out.
    #[cfg(test)]
    pub(crate) fn predict_only(
        node: &'a Node,
        decision: &'a Decision,
        sources: &'a Sources,
        releases: &[Release],
    ) -> Self {
        Self {
            node,
            decision,
            sources,
            release_known: true,
            judged: releases
                .iter()
                .map(|r| Judged::new(node, sources.settings(*r), *r))
                .collect(),
            choice: Choice {
                interface: None,
                plan: Err(PlanError::NoInterface),
            },
        }
    }

    /// The data ports.
    pub(crate) fn data(&self) -> Vec<&PortKey> {
        self.decision.data().map(|p| &p.key).collect()
    }

    /// A port's role.
    pub(crate) fn role(&self, key: &PortKey) -> Option<&Assigned> {
        self.decision.port(key)
    }
}

impl Judged {
    fn new(node: &Node, settings: Settings, release: Release) -> Self {
        let ports = |settings: &Settings| {
            device::enumerate(node, settings, release)
                .map(|d| d.list)
                .unwrap_or_default()
        };
        let used = ports(&settings)
            .iter()
            .map(|d| Used {
                key: key(&d.hca.name, d.port.number),
                link: d.link,
                gid: gid::choose(d.port, &settings, release).ok(),
            })
            .collect();
        let mut bare = settings.clone();
        bare.set("NCCL_IB_HCA", "");
        Self {
            used,
            without_list: ports(&bare)
                .iter()
                .map(|d| key(&d.hca.name, d.port.number))
                .collect(),
            prediction: predict(node, &settings, release),
            settings,
            release,
        }
    }

    /// The effective value of a variable.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.settings.get(name)
    }

    /// The effective value of a variable that is not empty.
    pub(crate) fn filled(&self, name: &str) -> Option<&str> {
        self.value(name).filter(|v| !v.is_empty())
    }

    /// Where a variable's effective value stands.
    pub(crate) fn origin(&self, name: &str) -> Option<&Origin> {
        self.settings.setting(name).map(|s| &s.effective.origin)
    }

    /// True where the port passes the list.
    pub(crate) fn uses(&self, wanted: &PortKey) -> bool {
        self.used.iter().any(|u| u.key == *wanted)
    }
}

fn key(hca: &str, port: u32) -> PortKey {
    PortKey {
        hca: hca.to_owned(),
        port,
    }
}

/// What is wrong with a row of a GID table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RowFault {
    /// The table has no such row.
    Outside,
    /// The row holds nothing.
    Empty,
    /// It is of another network namespace's device, where that is known by name.
    Foreign(Option<String>),
    /// The address does not leave its link; whether it is RoCE v1.
    LinkLocal(String, bool),
    /// RoCE v1, which routers do not forward.
    V1,
}

impl RowFault {
    /// The rest of a sentence that begins with `index 3 is`.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Outside => "outside the table".to_owned(),
            Self::Empty => "an empty row".to_owned(),
            Self::Foreign(Some(netdev)) => format!("a row of another network namespace ({netdev})"),
            Self::Foreign(None) => "a row of another network namespace".to_owned(),
            Self::LinkLocal(gid, v1) => {
                let version = if *v1 { "v1" } else { "v2" };
                format!("link-local ({gid}, RoCE {version})")
            }
            Self::V1 => "RoCE v1".to_owned(),
        }
    }
}

/// What is wrong with the row that a release uses on a port; nothing where it is right, or cannot be judged.
pub(crate) fn row_fault(node: &Node, port: &PortKey, index: i32) -> Option<RowFault> {
    let (_, port) = node.port(port)?;
    let table = port.gids.as_ref().ok()?;
    let Ok(index) = u32::try_from(index) else {
        return Some(RowFault::Outside);
    };
    let Some(row) = table.row(index) else {
        if table.unread.iter().any(|(i, _)| *i == index) {
            return None;
        }
        return match table.len {
            Some(len) if index >= len => Some(RowFault::Outside),
            Some(_) => Some(RowFault::Empty),
            None => None,
        };
    };
    let v1 = row.kind == Ok(GidType::V1);
    let away = row.ndev.as_ref().ok().filter(|n| node.netdev(n).is_none());
    match judge_row(node, row) {
        RowVerdict::Usable | RowVerdict::Unreadable(_) | RowVerdict::TypeUnread(_) => None,
        RowVerdict::Foreign => Some(RowFault::Foreign(row.ndev.as_ref().ok().cloned())),
        RowVerdict::LinkLocal if row.gid.class() == GidClass::Empty => Some(RowFault::Empty),
        RowVerdict::LinkLocal if away.is_some() => Some(RowFault::Foreign(away.cloned())),
        RowVerdict::LinkLocal => Some(RowFault::LinkLocal(row.gid.address().to_string(), v1)),
        RowVerdict::V1 => Some(RowFault::V1),
    }
}
