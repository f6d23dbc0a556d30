//! Why a port has its role, as a stable word for programs and a sentence for people.

use std::fmt;

use super::decide::Fabric;
use super::gid::NoGid;
use crate::model::{Distance, LinkLayer, PhysState, PortState, Transport, Unread};

/// Why a port has its role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Data: usable, and nothing better.
    Chosen,
    /// Data: the user's list names it.
    Listed,
    /// Data although it carries the host's ordinary traffic: only main ports are usable.
    OnlyMain,
    /// Main: it is under the default route (or the user's `--main`); the network device.
    Main(String),
    /// Other: the user's list leaves it out.
    LeftOut,
    /// Other: NCCL cannot mix link layers, and this one was kept.
    OtherFabric(Fabric),
    /// Other: farther from the GPUs than the data ports.
    Far(Distance),
    /// Other: below half the fastest candidate's rate; both in Mbit/s.
    Slow(u64, u64),
    /// Other: a dual-port card of another model or rate beside one equal card for each GPU.
    OtherModel,
    /// Other: a virtual function whose physical function is used.
    VirtualOfPhysical(String),
    /// Other: a physical function whose virtual function is the one with an address here.
    PhysicalOfVirtual(String),
    /// Other: a software device beside hardware.
    Software,
    /// Other: not the nearest to a GPU in use.
    NotForTheseGpus,
    /// Unusable: the state is not ACTIVE.
    Down(PortState, Option<PhysState>),
    /// Unusable: the state could not be read.
    StateUnread(Unread),
    /// Unusable: not `InfiniBand` or RoCE.
    Transport(Transport),
    /// Unusable: a link layer that is neither.
    UnknownLinkLayer(LinkLayer),
    /// Unusable: /dev/infiniband has no device node for it.
    NoUverbs(Option<u32>),
    /// Unusable: no GID of it can be used.
    NoGid(NoGid),
    /// Unusable: `InfiniBand` without a LID.
    NoLid(u32),
}

impl Reason {
    /// The word that stands for it in JSON. Permanent.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Chosen => "data",
            Self::Listed => "listed",
            Self::OnlyMain => "only-main",
            Self::Main(_) => "main",
            Self::LeftOut => "left-out",
            Self::OtherFabric(_) => "link-layer",
            Self::Far(_) => "far",
            Self::Slow(..) => "slow",
            Self::OtherModel => "other-model",
            Self::VirtualOfPhysical(_) => "vf-of-pf",
            Self::PhysicalOfVirtual(_) => "pf-of-vf",
            Self::Software => "software",
            Self::NotForTheseGpus => "other-gpu",
            Self::Down(..) => "down",
            Self::Transport(_) | Self::UnknownLinkLayer(_) => "not-nccl",
            Self::NoUverbs(_) => "no-uverbs",
            Self::StateUnread(_) | Self::NoGid(NoGid::Unread(_)) => "unreadable",
            Self::NoGid(NoGid::Empty) => "no-gid",
            Self::NoGid(NoGid::LinkLocalOnly) => "link-local",
            Self::NoGid(NoGid::V1Only) => "v1-only",
            Self::NoGid(NoGid::Foreign(_)) => "foreign-netns",
            Self::NoLid(_) => "no-lid",
        }
    }
}

/// Writes Mbit/s as people say it: `400G`, `2.5G`.
struct Gbps(u64);

impl fmt::Display for Gbps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 1000, self.0 % 1000 / 100);
        if rest == 0 {
            write!(f, "{whole}G")
        } else {
            write!(f, "{whole}.{rest}G")
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chosen => f.write_str("usable data port"),
            Self::Listed => f.write_str("named by --hca"),
            Self::OnlyMain => {
                f.write_str("carries the host's ordinary traffic too: no other port is usable")
            }
            Self::Main(netdev) => write!(
                f,
                "carries the host's ordinary traffic ({netdev} is under the default route)"
            ),
            Self::LeftOut => f.write_str("left out by --hca or --exclude"),
            Self::OtherFabric(kept) => write!(
                f,
                "NCCL cannot mix link layers, and {kept} is the one with more bandwidth near the GPUs"
            ),
            Self::Far(distance) => write!(
                f,
                "only {distance} to the nearest GPU, while other ports share a switch with one"
            ),
            Self::Slow(rate, fastest) => write!(
                f,
                "{} is below half of the fastest port's {}",
                Gbps(*rate),
                Gbps(*fastest)
            ),
            Self::OtherModel => {
                f.write_str("a dual-port card of another model beside one equal card for each GPU")
            }
            Self::VirtualOfPhysical(pf) => write!(
                f,
                "a virtual function of {pf}, which is used itself; NCCL would merge them"
            ),
            Self::PhysicalOfVirtual(vf) => write!(
                f,
                "the physical function of {vf}, which has the address here"
            ),
            Self::Software => f.write_str("a software device beside hardware"),
            Self::NotForTheseGpus => f.write_str("not nearest to a GPU in use"),
            Self::Down(state, phys) => write_down(f, state, phys.as_ref()),
            Self::StateUnread(unread) => write!(f, "its state could not be read ({unread})"),
            Self::Transport(Transport::Efa) => f.write_str(
                "EFA: NCCL reaches it through the aws-ofi-nccl plugin, not through verbs",
            ),
            Self::Transport(Transport::Iwarp) => {
                f.write_str("iWARP: NCCL does not use RDMA-CM, so it cannot connect over it")
            }
            Self::Transport(Transport::UsNic) => f.write_str("usNIC is no transport of NCCL"),
            Self::Transport(_) => f.write_str("a transport that NCCL's verbs code does not know"),
            Self::UnknownLinkLayer(layer) => write!(
                f,
                "link layer {layer:?} is neither InfiniBand nor Ethernet",
                layer = layer.to_string()
            ),
            Self::NoUverbs(Some(number)) => {
                write!(f, "/dev/infiniband/uverbs{number} is not there")
            }
            Self::NoUverbs(None) => f.write_str("it has no uverbs device"),
            Self::NoGid(no_gid) => write!(f, "{no_gid}"),
            Self::NoLid(lid) => write!(f, "LID is {lid:#x}: no subnet manager has given one"),
        }
    }
}

fn write_down(
    f: &mut fmt::Formatter<'_>,
    state: &PortState,
    phys: Option<&PhysState>,
) -> fmt::Result {
    write!(f, "state is {state}")?;
    match (state, phys) {
        (PortState::Init, _) => {
            f.write_str(": the link is up, but no subnet manager has configured it")
        }
        (PortState::Armed, _) => f.write_str(": a subnet manager has not finished with it"),
        (_, Some(PhysState::Polling)) => {
            f.write_str(" (Polling: no cable, or the other end is down)")
        }
        (_, Some(PhysState::Disabled)) => {
            f.write_str(" (Disabled: switched off here, or Ethernet without carrier)")
        }
        (_, Some(phys)) => write!(f, " ({phys})"),
        (_, None) => Ok(()),
    }
}

impl fmt::Display for NoGid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unread(unread) => write!(f, "its GIDs could not be read ({unread})"),
            Self::Empty => f.write_str("its GID table is empty in this network namespace"),
            Self::LinkLocalOnly => {
                f.write_str("link-local GIDs only: its interface has no address")
            }
            Self::V1Only => f.write_str("RoCE v1 GIDs only"),
            Self::Foreign(names) if names.is_empty() => {
                f.write_str("its GIDs belong to another network namespace")
            }
            Self::Foreign(names) => write!(
                f,
                "its GIDs belong to another network namespace ({})",
                names.join(", ")
            ),
        }
    }
}
