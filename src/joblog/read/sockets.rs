//! Messages about the bootstrap's sockets, shared memory, files, and what PyTorch says.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::super::errno;
use super::super::event::{Event, Kind, Problem};
use super::super::text::address;

/// `Bootstrap : no socket interface found`.
pub(in super::super) fn no_socket_interface(_text: &str) -> Option<Event<'_>> {
    Some(Event::Problem(Problem::of(Kind::NoSocketInterface)))
}

/// `NET/IB : No IP interface found.`
pub(in super::super) fn no_ip_interface(_text: &str) -> Option<Event<'_>> {
    Some(Event::Problem(Problem::of(Kind::NoIpInterface)))
}

/// `Invalid NCCL_COMM_ID, please use format: ...`, `NET/Socket : No usable listening interface found`.
pub(in super::super) fn comm_id(_text: &str) -> Option<Event<'_>> {
    Some(Event::Problem(Problem::of(Kind::BadCommId)))
}

/// Any failure of a connection between nodes:
/// ```text
/// socketStartConnect: Connect to 169.254.20.10<43369> failed : Software caused connection abort
/// ncclOsSocketPollConnect: connect to 10.1.0.7<45001> returned Connection refused, exceeded error retry count after 35 attempts
/// Net : Call to recv from 10.1.0.7<4000> failed : Connection reset by peer
/// ```
pub(in super::super) fn socket_error(text: &str) -> Option<Event<'_>> {
    if text.contains("retrying") {
        return Some(Event::Harmless);
    }
    let errno = errno::in_text(text).unwrap_or(0);
    let peer = address(text);
    let speaks_of_a_connection = ["onnect", "Call to recv", "Call to send", "Call to accept"]
        .iter()
        .any(|m| text.contains(m));
    if !speaks_of_a_connection || (errno == 0 && !text.contains("imed out")) {
        return None;
    }
    Some(Event::Problem(Problem {
        peer,
        ..Problem::of(Kind::Socket {
            errno,
            link_local: peer.is_some_and(is_link_local),
        })
    }))
}

/// `socketProgress: Connection closed by remote peer node-b<4000>`.
pub(in super::super) fn peer_gone(text: &str) -> Option<Event<'_>> {
    Some(Event::Problem(Problem {
        peer: address(text),
        ..Problem::of(Kind::PeerGone)
    }))
}

/// True for 169.254/16 and fe80::/10; a zone (`%eth0`) may follow.
pub(in super::super) fn is_link_local(address: &str) -> bool {
    let address = address.split('%').next().unwrap_or(address);
    address.parse::<Ipv4Addr>().is_ok_and(|a| a.is_link_local())
        || address
            .parse::<Ipv6Addr>()
            .is_ok_and(|a| a.is_unicast_link_local())
}

/// `Error: failed to extend /dev/shm/nccl-AbCdEf to 33030532 bytes, error: No space left on device (28)` and others.
pub(in super::super) fn shared_memory(text: &str) -> Option<Event<'_>> {
    Some(Event::Problem(Problem::of(Kind::SharedMemory {
        errno: errno::in_text(text).unwrap_or(0),
    })))
}

/// `XML Import Channel : dev 1 not found.`, `Could not open XML topology file /x : No such file or directory`.
pub(in super::super) fn graph(_text: &str) -> Option<Event<'_>> {
    Some(Event::Problem(Problem::of(Kind::Graph)))
}

/// `Mismatched NCCL version detected : rank 0 version 22705 ...`.
pub(in super::super) fn mismatch(_text: &str) -> Option<Event<'_>> {
    Some(Event::Problem(Problem::of(Kind::Mismatch)))
}

/// `Cuda failure 2 'out of memory'`.
pub(in super::super) fn cuda(_text: &str) -> Option<Event<'_>> {
    Some(Event::Problem(Problem::of(Kind::Cuda)))
}

/// `[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, ...`.
pub(in super::super) fn watchdog(_text: &str) -> Option<Event<'_>> {
    Some(Event::Problem(Problem::of(Kind::Watchdog)))
}

#[cfg(test)]
mod tests {
    use super::{is_link_local, socket_error};
    use crate::joblog::event::{Event, Kind, Problem};

    #[test]
    fn link_local_peers_are_seen() {
        assert!(is_link_local("169.254.3.4"));
        assert!(is_link_local("fe80::1%ib0"));
        assert!(!is_link_local("10.0.0.1"));
        assert!(!is_link_local("node-a"));
    }

    #[test]
    fn socket_errors_have_a_peer_and_an_errno() {
        let text = "ncclOsSocketPollConnect: connect to 10.1.0.7<45001> returned Connection refused, exceeded error \
                    retry count after 35 attempts";
        let Some(Event::Problem(Problem { peer, kind, .. })) = socket_error(text) else {
            panic!("no problem");
        };
        assert_eq!(peer, Some("10.1.0.7"));
        assert_eq!(
            kind,
            Kind::Socket {
                errno: 111,
                link_local: false
            }
        );
        assert!(socket_error("something else failed").is_none());
    }
}
