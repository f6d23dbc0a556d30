//! Messages about failures of libibverbs and its devices.

use super::super::errno;
use super::super::event::{AsyncEvent, Event, Kind, Problem};
use super::super::text::{address, after, between, gid, number, number_after, word};

/// Calls that are told apart in findings; any other has the last name.
const CALLS: &[&str] = &[
    "ibv_reg_mr_iova2",
    "ibv_reg_dmabuf_mr",
    "ibv_reg_mr",
    "ibv_create_cq",
    "ibv_create_qp",
    "ibv_create_ah",
    "ibv_create_srq",
    "ibv_alloc_pd",
    "ibv_open_device",
    "ibv_query_gid",
    "ibv_query_port",
    "ibv_query_device",
    "ibv_query_qp",
    "ibv_get_device_list",
    "ibv_fork_init",
    "ibv_post_send",
    "ibv_post_recv",
    "ibv_poll_cq",
    "ibv_get_async_event",
    "ibv_dereg_mr",
    "ibv_destroy_qp",
    "a call of libibverbs",
];

/// All three generations:
/// ```text
/// Call to ibv_modify_qp failed with error Connection timed out
/// Call to ibv_modify_qp failed with error No such device errno 19
/// Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_3:1, curr state INIT, next state RTR, local GID index 3, local GID ::ffff:10.1.2.3, remote GID N/A
/// ```
pub(in super::super) fn modify_qp(text: &str) -> Option<Event<'_>> {
    let rest = after(text, "Call to ibv_modify_qp failed")?;
    let errno = number_after(rest, " errno ")
        .or_else(|| number_after(rest, " with "))
        .or_else(|| errno::in_text(rest))
        .unwrap_or(0);
    let local = after(rest, "local GID ")
        .filter(|t| !t.starts_with("index"))
        .or_else(|| after(rest, ", local GID ").and_then(|t| after(t, ", local GID ")));
    let (local, remote) = (
        local.and_then(gid),
        after(rest, "remote GID ").and_then(gid),
    );
    Some(Event::Problem(Problem {
        device: after(rest, "on dev ").map_or("", word),
        index: number_after(rest, "local GID index "),
        local,
        remote,
        ..Problem::of(Kind::ModifyQp {
            errno,
            local: local.map(crate::model::Gid::class),
            remote: remote.map(crate::model::Gid::class),
            retried: rest.contains(", retrying "),
        })
    }))
}

/// All generations:
/// ```text
/// NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129
/// NET/IB : Got completion from peer 10.0.0.2<4000> with error 12, opcode 1, len 0, vendor err 129 (Send) localGid fe80::1 remoteGid fe80::2
/// NET/IB: Got completion from peer 10.0.0.2<4000> with status=12 opcode=0 len=0 vendor err 129 (Recv) localGid ::1 remoteGids::2 hca mlx5_0
/// NET/IB: Got completion from peer 10.0.0.2<4000> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) vendor_err=129 hca mlx5_0
/// ```
pub(in super::super) fn completion(text: &str) -> Option<Event<'_>> {
    let rest = after(text, "Got completion ")?;
    let old = number_after(rest, "with error ");
    let status = old.or_else(|| number_after(rest, "status=")).or_else(|| {
        number(after(after(rest, "status=")?.split(' ').next()?, "(")?)?
            .try_into()
            .ok()
    })?;
    let vendor = number_after(rest, "vendor err ")
        .or_else(|| number_after(rest, "vendor_err="))
        .unwrap_or(0);
    // "remoteGids" touches the address in some releases.
    let remote = after(rest, "remoteGid").map(|t| t.trim_start_matches(['s', ' ']));
    let local = after(rest, "localGid ").and_then(gid);
    Some(Event::Problem(Problem {
        device: after(rest, " hca ").map_or("", word),
        local,
        remote: remote.and_then(gid),
        peer: after(rest, "from peer ").and_then(address),
        ..Problem::of(Kind::Completion {
            status,
            vendor,
            local: local.map(crate::model::Gid::class),
            old: old.is_some(),
        })
    }))
}

/// `Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory`.
pub(in super::super) fn verbs_call(text: &str) -> Option<Event<'_>> {
    let rest = after(text, "Call to ")?;
    let name = word(rest);
    let call = CALLS.iter().find(|c| **c == name).or(CALLS.last())?;
    let errno = number_after(rest, " errno ")
        .or_else(|| errno::in_text(rest))
        .unwrap_or(0);
    Some(Event::Problem(Problem::of(Kind::Verbs { call, errno })))
}

/// `NET/IB : Unable to open device mlx5_0`.
pub(in super::super) fn open_device(text: &str) -> Option<Event<'_>> {
    device_problem(text, "open device ", Kind::OpenDevice)
}

/// `NET/IB : Unable to query device mlx5_0`.
pub(in super::super) fn query_device(text: &str) -> Option<Event<'_>> {
    device_problem(text, "query device ", Kind::QueryDevice)
}

/// `NET/IB : Unable to query port_num 1`, `NET/IB : Unable to query port 1`.
pub(in super::super) fn query_port(_text: &str) -> Option<Event<'_>> {
    Some(Event::Problem(Problem::of(Kind::QueryPort)))
}

fn device_problem<'a>(text: &'a str, mark: &str, kind: Kind) -> Option<Event<'a>> {
    Some(Event::Problem(Problem {
        device: word(after(text, mark)?),
        ..Problem::of(kind)
    }))
}

/// `NET/IB: read failed in ncclIbRoceGetVersionNum: Invalid argument`.
pub(in super::super) fn gid_type(text: &str) -> Option<Event<'_>> {
    let rest = after(text, "in ncclIbRoceGetVersionNum")?;
    Some(Event::Problem(Problem::of(Kind::GidType {
        errno: errno::in_text(rest).unwrap_or(0),
    })))
}

/// `NET/IB : No device found.`
pub(in super::super) fn no_device(_text: &str) -> Option<Event<'_>> {
    Some(Event::Problem(Problem::of(Kind::NoDevice)))
}

/// All generations:
/// ```text
/// NET/IB : Got async event : port error
/// NET/IB : mlx5_7:1 Got async event : port error
/// NET/IB : mlx5_0:1 Got async fatal event on QP: QP fatal
/// NET/IB : mlx5_0:1 Got non-fatal async event: port error(10)
/// ```
pub(in super::super) fn async_event(text: &str) -> Option<Event<'_>> {
    let at = text.find("Got ")?;
    let rest = text.get(at..)?;
    if !rest.contains("async") && !rest.contains("GID table changed") {
        return None;
    }
    let device = text
        .get(..at)?
        .trim_start_matches("NET/IB")
        .trim_start_matches([' ', ':']);
    let has = |words: &[&str]| words.iter().any(|w| rest.contains(w));
    let event = if has(&["port error", "PORT_ERR"]) {
        AsyncEvent::PortError
    } else if has(&["port active", "PORT_ACTIVE"]) {
        AsyncEvent::PortActive
    } else if has(&["GID table", "GID_CHANGE"]) {
        AsyncEvent::GidChange
    } else if has(&["non-fatal"]) && !has(&["LID", "P_Key", "pkey", "SM ", "client rereg"]) {
        AsyncEvent::Other
    } else if has(&["LID", "P_Key", "pkey", "PKEY", "SM ", "SM_", "client rereg"]) {
        AsyncEvent::Subnet
    } else if has(&["fatal", "catastrophic", "access violation"]) {
        AsyncEvent::Fatal
    } else {
        AsyncEvent::Other
    };
    Some(Event::Problem(Problem {
        device: word(device),
        ..Problem::of(Kind::Async(event))
    }))
}

/// `NET/IB : mlx5_0:1 GID table changed`.
pub(in super::super) fn gid_table(text: &str) -> Option<Event<'_>> {
    let device = between(text, "NET/IB", "GID table changed")?.trim_start_matches([' ', ':']);
    Some(Event::Problem(Problem {
        device: word(device.trim_end_matches("Got ")),
        ..Problem::of(Kind::Async(AsyncEvent::GidChange))
    }))
}

/// `NET/IB : Attempted to connect incompatible devices: [0]mlx5_0:1/IB and [4]mlx5_4:1/RoCE. ...`,
/// `NET/IB : Remote IB device is incompatible with the local [0]mlx5_0:1/RoCE. ...`
pub(in super::super) fn incompatible(text: &str) -> Option<Event<'_>> {
    let rest = after(text, "incompatible")?;
    let list = after(rest, "devices: ").or_else(|| after(rest, "the local "))?;
    let list = list.split(". ").next().unwrap_or(list);
    // The last one named is the one that does not belong to the first.
    let named = list.split(" and ").last().unwrap_or(list);
    let name = named.split_once(']').map_or(named, |(_, n)| n);
    Some(Event::Problem(Problem {
        device: name.split('/').next().unwrap_or(name),
        ..Problem::of(Kind::Incompatible)
    }))
}

/// `NET/IB : Local mergedDev mlx5_0+mlx5_1 has a different number of devices=2 as remote mlx5_0 1`.
pub(in super::super) fn merged_count(text: &str) -> Option<Event<'_>> {
    device_problem(text, "mergedDev ", Kind::MergedCount)
}

/// `Detected mixed local Net device counts across ranks (min 4, max 8)`.
pub(in super::super) fn device_count(_text: &str) -> Option<Event<'_>> {
    Some(Event::Problem(Problem::of(Kind::DeviceCount)))
}

#[cfg(test)]
mod tests {
    use super::super::super::event::{AsyncEvent, Event, Kind, Problem};
    use super::{async_event, completion, modify_qp};

    fn problem(event: Option<Event<'_>>) -> Problem<'_> {
        match event {
            Some(Event::Problem(problem)) => problem,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_newest_modify_qp_has_everything() {
        let p = problem(modify_qp(
            "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_3:1, curr state INIT, next state \
             RTR, local GID index 3, local GID ::ffff:10.1.2.3, remote GID ::ffff:10.1.9.3",
        ));
        assert_eq!((p.device, p.index), ("mlx5_3:1", Some(3)));
        assert_eq!(p.local.unwrap().to_string(), "::ffff:10.1.2.3");
        assert_eq!(p.remote.unwrap().to_string(), "::ffff:10.1.9.3");
        assert!(matches!(
            p.kind,
            Kind::ModifyQp {
                errno: 110,
                retried: false,
                ..
            }
        ));
    }

    #[test]
    fn old_modify_qp_has_the_errno_at_least() {
        for text in [
            "Call to ibv_modify_qp failed with error No such device",
            "Call to ibv_modify_qp failed with error No such device errno 19",
        ] {
            assert!(matches!(
                problem(modify_qp(text)).kind,
                Kind::ModifyQp { errno: 19, .. }
            ));
        }
        let na = problem(modify_qp(
            "Call to ibv_modify_qp failed with 22 Invalid argument, on dev a:1, curr state INIT, next state RTR, local \
             GID index 1, local GID N/A, remote GID N/A",
        ));
        assert_eq!((na.local, na.remote, na.index), (None, None, Some(1)));
    }

    #[test]
    fn completions_of_every_generation_are_read() {
        for (text, device, peer) in [
            (
                "NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129",
                "",
                None,
            ),
            (
                "NET/IB : Got completion from peer 10.0.0.2<4000> with error 12, opcode 1, len 0, vendor err 129 (Send) \
                 localGid fe80::1 remoteGid fe80::2",
                "",
                Some("10.0.0.2"),
            ),
            (
                "NET/IB: Got completion from peer 10.0.0.2<4000> with status=12 opcode=0 len=0 vendor err 129 (Recv) \
                 localGid fe80::1 remoteGidsfe80::2 hca mlx5_0",
                "mlx5_0",
                Some("10.0.0.2"),
            ),
            (
                "NET/IB: Got completion from peer 10.0.0.2<4000> with status=IBV_WC_RETRY_EXC_ERR(12) \
                 opcode=IBV_WC_SEND(0) reqSize=4 vendor_err=129 req_type=Send hca mlx5_0",
                "mlx5_0",
                Some("10.0.0.2"),
            ),
        ] {
            let p = problem(completion(text));
            assert_eq!((p.device, p.peer), (device, peer), "{text}");
            assert!(
                matches!(
                    p.kind,
                    Kind::Completion {
                        status: 12,
                        vendor: 129,
                        ..
                    }
                ),
                "{text}: {:?}",
                p.kind
            );
            if text.contains("localGid") {
                assert_eq!(p.remote.unwrap().to_string(), "fe80::2", "{text}");
            }
        }
    }

    #[test]
    fn events_are_told_apart() {
        let kind = |text| problem(async_event(text)).kind;
        assert_eq!(
            kind("NET/IB : Got async event : port error"),
            Kind::Async(AsyncEvent::PortError)
        );
        assert_eq!(
            kind("NET/IB : mlx5_0:1 Got async fatal event on QP: local catastrophic error"),
            Kind::Async(AsyncEvent::Fatal)
        );
        assert_eq!(
            kind("NET/IB : mlx5_0:1 Got non-fatal async event: client reregistration(17)"),
            Kind::Async(AsyncEvent::Subnet)
        );
        assert_eq!(
            kind("NET/IB : mlx5_0:1 Got non-fatal async event: communication established(4)"),
            Kind::Async(AsyncEvent::Other)
        );
    }
}
