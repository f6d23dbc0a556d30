//! Why there is no plan, and the ways out.

use crate::model::{PortKey, Unread};
use crate::nccl::release::Release;
use crate::roles::Refusal;

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PlanError {
    /// No port is usable, or only the main ones are and better ones are merely broken.
    #[error("{}", no_data_port(.refusal, .ports))]
    NoDataPort {
        /// Which of the two.
        refusal: Refusal,
        /// Every port with the reason it is not used.
        ports: Vec<(PortKey, String)>,
    },
    /// The default route is not known, so the main port is not either.
    #[error(
        "could not read the routes, so the port of the host's ordinary traffic is not known: {0}"
    )]
    RoutesUnread(Unread),
    /// No interface can carry the bootstrap traffic.
    #[error("no network interface is up with an address: NCCL needs one to set connections up")]
    NoInterface,
    /// NCCL keeps fewer ports than there are data ports, and drops the rest without a word.
    #[error("{count} data ports are more than the {limit} that NCCL uses")]
    TooManyPorts {
        /// Number of data ports.
        count: usize,
        /// What the oldest release in question takes.
        limit: usize,
    },
    /// A name that must not get into a shell.
    #[error("the {what} {name:?} has characters outside [A-Za-z0-9._:@+-] and is not printed")]
    OddName {
        /// `device` or `interface`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The ports' GIDs need a way of choosing that the release does not have or that does not find them.
    #[error("no setting makes NCCL {} use the right GID on every port: {}", .releases, .rows.join(", "))]
    NoPolicy {
        /// The releases that were tried.
        releases: String,
        /// Ports and the rows they need.
        rows: Vec<String>,
        /// What was tried and why it does not work.
        tried: Vec<String>,
        /// The oldest release that a setting would be right for, up to the newest.
        works_from: Option<Release>,
    },
    /// NCCL would not do what is intended; the difference.
    #[error("NCCL {release} would not do what is intended with these settings: {difference}")]
    NotProved {
        /// The release.
        release: Release,
        /// What differs.
        difference: String,
    },
}

impl PlanError {
    /// What the user can do.
    pub(crate) fn hints(&self) -> Vec<String> {
        match self {
            Self::NoDataPort { refusal: Refusal::BetterPortsBroken(_), .. } => vec![
                "repair these ports (`rdmactl check` says how), or use the main port all the same with --allow-main".to_owned(),
            ],
            Self::NoDataPort { .. } => vec![
                "`rdmactl devices` shows every port and why it is not used".to_owned(),
                "--fallback tcp prints settings for plain sockets instead".to_owned(),
            ],
            Self::RoutesUnread(_) => vec![
                "name the interface of the host's ordinary traffic with --main, or the ports with --hca".to_owned(),
            ],
            Self::NoInterface => vec!["give an interface an address, or name one with --main".to_owned()],
            Self::TooManyPorts { .. } => vec!["choose them with --hca LIST, or leave some out with --exclude".to_owned()],
            Self::OddName { what: "interface", .. } => vec!["name another one with --main, or rename it".to_owned()],
            Self::OddName { .. } => vec!["leave it out with --exclude, or rename it".to_owned()],
            Self::NoPolicy { tried, works_from, .. } => {
                let mut hints = tried.clone();
                hints.push("use a subset of the ports whose index is the same: --hca LIST".to_owned());
                hints.extend(works_from.map(|r| {
                    format!("with NCCL {r} or newer it works: say so with --nccl-version if that is what the job has")
                }));
                hints
            }
            Self::NotProved { .. } => vec![
                "this should not happen: please send the output of `rdmactl capture --redact`".to_owned(),
            ],
        }
    }
}

fn no_data_port(refusal: &Refusal, ports: &[(PortKey, String)]) -> String {
    let all = |keys: &dyn Fn(&PortKey) -> bool| -> String {
        ports
            .iter()
            .filter(|(key, _)| keys(key))
            .map(|(key, why)| format!("{key} ({why})"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    match refusal {
        Refusal::NothingUsable if ports.is_empty() => "no RDMA device on this node".to_owned(),
        Refusal::NothingUsable => format!("no usable RDMA port: {}", all(&|_| true)),
        Refusal::BetterPortsBroken(broken) => format!(
            "only the port of the host's ordinary traffic is usable, and better ports are merely broken: {}",
            all(&|key| broken.contains(key))
        ),
    }
}
