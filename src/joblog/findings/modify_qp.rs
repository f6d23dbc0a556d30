//! `ibv_modify_qp` that failed: on RoCE it is always about addresses, on InfiniBand never about a GID.

use super::{Link, LogFinding, counted, device_name, index_words, link_of};
use crate::checks::Severity;
use crate::joblog::errno;
use crate::joblog::event::Kind;
use crate::joblog::state::Job;
use crate::joblog::tally::{HostId, Tally};
use crate::model::GidClass;

const EINVAL: i32 = 22;
const ENODEV: i32 = 19;
const ENODATA: i32 = 61;
const ENOMEM: i32 = 12;
const ENETUNREACH: i32 = 101;
const ETIMEDOUT: i32 = 110;
const EHOSTUNREACH: i32 = 113;

pub(super) fn find(job: &Job, found: &mut Vec<LogFinding>) {
    for tally in &job.tallies {
        let Kind::ModifyQp {
            errno,
            local,
            remote,
            retried,
        } = tally.kind
        else {
            continue;
        };
        // Where it failed in the end, the tries before add nothing.
        let failed_in_the_end = || {
            job.tallies(
                |k| matches!(k, Kind::ModifyQp { errno: e, retried: false, .. } if e == errno),
            )
            .next()
            .is_some()
        };
        if retried && failed_in_the_end() {
            continue;
        }
        let severity = if retried {
            Severity::Warning
        } else {
            Severity::Error
        };
        let case = Case {
            job,
            tally,
            severity,
            local,
            remote,
        };
        let is_infiniband = match link_of(job, tally) {
            Link::InfiniBand => true,
            Link::RoCE => false,
            // Releases that show the index show GIDs too, unless the connection has none.
            Link::Unknown => !tally.indexes.is_empty() && tally.gids == (None, None),
        };
        if is_infiniband {
            found.push(case.infiniband(errno));
            continue;
        }
        match errno {
            _ if local == Some(GidClass::Empty) => found.push(case.empty(errno)),
            ENODATA => found.push(case.empty(errno)),
            ENODEV => found.push(case.foreign()),
            EINVAL => found.push(case.invalid()),
            ENETUNREACH | EHOSTUNREACH => found.push(case.no_route(errno)),
            ETIMEDOUT => case.timeout(found),
            ENOMEM => found.push(case.memory()),
            _ => found.push(case.other(errno)),
        }
    }
}

struct Case<'a> {
    job: &'a Job,
    tally: &'a Tally,
    severity: Severity,
    local: Option<GidClass>,
    remote: Option<GidClass>,
}

impl Case<'_> {
    fn start(&self, id: &'static str, message: String) -> LogFinding {
        LogFinding::new(id, self.severity, message)
    }

    fn of(&self, finding: LogFinding) -> LogFinding {
        finding.of(self.job, self.tally)
    }

    fn index(&self) -> String {
        index_words(self.job, Some(self.tally))
    }

    /// `local GID fe80::1 (link-local), remote GID 10.0.0.1`.
    fn gids(&self) -> String {
        let side = |gid: Option<crate::model::Gid>, name: &str| match gid {
            None => format!("{name} GID not shown"),
            Some(gid) => format!("{name} GID {} ({})", gid.address(), class_word(gid.class())),
        };
        let (local, remote) = self.tally.gids;
        if (local, remote) == (None, None) {
            "GIDs not shown".to_owned()
        } else {
            format!("{}, {}", side(local, "local"), side(remote, "remote"))
        }
    }

    fn infiniband(&self, errno: i32) -> LogFinding {
        self.of(self.start(
            "log.modify-qp",
            format!(
                "a connection over InfiniBand could not be set up: {}",
                errno::shown(errno)
            ),
        ))
        .why(
            "InfiniBand is addressed by LID, so no GID index has a part in this; a P_Key index that does not exist, a \
             port without a subnet manager, or different MTUs do",
        )
        .check("port.no-subnet-manager")
        .fix("look at the ports' state and P_Keys on both nodes; leave NCCL_IB_PKEY and NCCL_IB_SL unset unless the fabric needs them")
        .command("rdmactl devices")
    }

    fn empty(&self, errno: i32) -> LogFinding {
        self.of(self.start(
            "log.gid-empty",
            format!(
                "the row of the GID table that NCCL used is empty: ibv_modify_qp failed with {}; {}; {}",
                errno::shown(errno),
                self.gids(),
                self.index()
            ),
        ))
        .why(
            "a pinned index names a row, and rows move: an address that is removed and added again, a reboot or a link \
             that flaps leaves a hole; in a pod the rows of the host stay empty",
        )
        .check("gid.indexes-differ")
        .fix_gid("pin no index that is not right on every port")
    }

    fn foreign(&self) -> LogFinding {
        self.of(self.start(
            "log.gid-foreign",
            format!(
                "the GID belongs to a network device that is not in this network namespace: ibv_modify_qp failed with \
                 {}; {}; {}",
                errno::shown(ENODEV),
                self.gids(),
                self.index()
            ),
        ))
        .why(
            "a container sees all rows of the device's GID table, also those of the host and of other pods, but the \
             kernel lets it use only rows whose network device is its own; NCCL does not look at that",
        )
        .check("gid.foreign-namespace")
        .fix_gid("use the row of an interface inside the container (or the host's network)")
    }

    fn invalid(&self) -> LogFinding {
        let (what, why) = match (self.local, self.remote) {
            (Some(local), Some(remote)) if local != remote => (
                "the two ends use GIDs of different kinds",
                "one end has a link-local or IPv6 row where the other has an IPv4 row; both must be RoCE v2 of one \
                 family, and one index number can mean different rows on different nodes",
            ),
            _ => (
                "the address, the P_Key index or the MTU is not valid",
                "the usual cause is a GID of another kind than the peer's (link-local against IPv4, RoCE v1 against \
                 v2): one index number can mean different rows on different nodes or ports",
            ),
        };
        self.of(self.start(
            "log.gid-mismatch",
            format!(
                "{what}: ibv_modify_qp failed with {}; {}; {}",
                errno::shown(EINVAL),
                self.gids(),
                self.index()
            ),
        ))
        .why(why)
        .check("gid.indexes-differ")
        .fix_gid("use RoCE v2 rows of one family on all nodes")
    }

    fn no_route(&self, errno: i32) -> LogFinding {
        self.of(self.start(
            "log.no-route",
            format!(
                "no route from the local GID's interface to the peer: ibv_modify_qp failed with {}; {}",
                errno::shown(errno),
                self.gids()
            ),
        ))
        .why(
            "each rail is a subnet of its own and NCCL has paired ports of different rails, or the interface has no \
             route to the other subnet; the kernel looks for the route from the GID's own interface",
        )
        .check("net.data-port-no-address")
        .fix(
            "give the data interfaces a route to the other rails (or a gateway in a table of their own), or keep traffic \
             in its rail: equal NICs in equal order on all nodes, `rdmactl env` and NCCL_CROSS_NIC=0",
        )
        .command("ip route get PEER oif INTERFACE")
    }

    fn memory(&self) -> LogFinding {
        self.of(self.start(
            "log.enomem",
            format!("ibv_modify_qp failed with {}", errno::shown(ENOMEM)),
        ))
        .why("the device or the process has no memory left that it may lock for a queue pair")
        .check("limits.memlock")
        .fix("raise the limit of locked memory (memlock) of the job")
        .command("ulimit -l unlimited")
    }

    fn other(&self, errno: i32) -> LogFinding {
        let name = if errno == 0 {
            "an error without a known number".to_owned()
        } else {
            format!("{}, {}", errno::shown(errno), errno::words(errno))
        };
        self.of(self.start(
            "log.modify-qp",
            format!(
                "a connection could not be set up: ibv_modify_qp failed with {name}; {}; {}",
                self.gids(),
                self.index()
            ),
        ))
        .why("the two ends' addresses or the device's state do not fit")
        .fix_gid("look at the GIDs first")
    }

    /// No answer to ARP or neighbour discovery: one finding for each way in which it is spread over devices.
    fn timeout(&self, found: &mut Vec<LogFinding>) {
        let what = format!("ibv_modify_qp failed with {}", errno::shown(ETIMEDOUT));
        if matches!(
            self.local,
            Some(GidClass::LinkLocal | GidClass::Ipv4LinkLocal)
        ) {
            found.push(
                self.of(self.start(
                    "log.gid-link-local",
                    format!(
                        "the peer's address was not resolved from a link-local GID: {what}; {}; {}",
                        self.gids(),
                        self.index()
                    ),
                ))
                .why("a link-local address reaches only its own Ethernet segment")
                .check("gid.link-local-only")
                .fix_gid("use a routable RoCE v2 row"),
            );
            return;
        }
        let mut whole: Vec<HostId> = Vec::new();
        let mut rest: Vec<HostId> = Vec::new();
        for (host, on) in &self.tally.hosts {
            let used = self.used_devices(*host);
            let all = on.devices.len() > 1 && on.devices.len() >= used;
            if all { &mut whole } else { &mut rest }.push(*host);
        }
        if !whole.is_empty() {
            let devices = whole
                .iter()
                .filter_map(|h| self.tally.hosts.get(h))
                .map(|on| on.devices.len())
                .max()
                .unwrap_or(0);
            let names: Vec<String> = whole
                .iter()
                .map(|h| self.job.host_name(*h).to_owned())
                .collect();
            found.push(
                self.start(
                    "log.host-unreachable",
                    format!(
                        "all {} of {} time out, with proper GIDs: {what}; {}",
                        counted(devices, "device"),
                        super::shortened(&names, 6),
                        self.gids()
                    ),
                )
                .of_hosts(self.job, self.tally, &whole)
                .why(
                    "every rail of the host fails in the same way, so it is the host's network and not a cable: VLAN, \
                     routes, gateway or ARP of the data interfaces, or the switch they all lead to",
                )
                .fix(
                    "compare VLAN, addresses and routes of these hosts' data interfaces with those of a host that \
                     works, and ping a peer from each; take the host out of the job until then",
                )
                .command("ping -c 3 -I INTERFACE PEER"),
            );
        }
        if !rest.is_empty() {
            found.push(self.rail(&what, &rest));
        }
    }

    /// How many devices a host uses as far as the log tells.
    fn used_devices(&self, host: HostId) -> usize {
        let ports = self.job.ports_of(host);
        let mut devices: Vec<&str> = ports.iter().map(|p| device_name(p)).collect();
        devices.dedup();
        devices.len()
    }

    fn rail(&self, what: &str, hosts: &[HostId]) -> LogFinding {
        let unknown = self.tally.gids == (None, None);
        let (message, why, fix) = if unknown {
            (
                format!(
                    "the peer's address is not resolved from the local GID: {what}; {}",
                    self.index()
                ),
                "the GID's interface gets no answer to ARP or neighbour discovery; the usual cause is an index that \
                 names a link-local row, or another interface's row, on this node or on the peer",
                "compare the rows behind the index on both nodes",
            )
        } else {
            (
                format!(
                    "the peer is not reachable on this rail: {what}; {}; {}",
                    self.gids(),
                    self.index()
                ),
                "the addresses look right, but the peer does not answer ARP or neighbour discovery on this interface: \
                 cable, switch port, VLAN or route of one rail, or rails that share a subnet and answer for each other",
                "ping the peer from the device's interface, and look at this rail's switch port and VLAN",
            )
        };
        let finding = self
            .start("log.rail-unreachable", message)
            .of_hosts(self.job, self.tally, hosts)
            .why(why)
            .check(if unknown {
                "gid.link-local-only"
            } else {
                "net.rails-share-subnet"
            });
        if unknown {
            finding.fix_gid(fix)
        } else {
            finding.fix(fix).command("ping -c 3 -I INTERFACE PEER")
        }
    }
}

/// The word for a kind of address.
pub(super) fn class_word(class: GidClass) -> &'static str {
    match class {
        GidClass::Empty => "empty",
        GidClass::LinkLocal => "link-local",
        GidClass::Ipv4LinkLocal => "IPv4 link-local",
        GidClass::Ipv4 => "IPv4",
        GidClass::Ipv6 => "IPv6",
    }
}
