//! Errno names and texts as glibc's `strerror` writes them, and names of InfiniBand completion statuses.

/// Number, name and text of every errno that verbs and sockets calls end with.
const ERRNOS: &[(i32, &str, &str)] = &[
    (1, "EPERM", "Operation not permitted"),
    (2, "ENOENT", "No such file or directory"),
    (5, "EIO", "Input/output error"),
    (11, "EAGAIN", "Resource temporarily unavailable"),
    (12, "ENOMEM", "Cannot allocate memory"),
    (13, "EACCES", "Permission denied"),
    (14, "EFAULT", "Bad address"),
    (16, "EBUSY", "Device or resource busy"),
    (19, "ENODEV", "No such device"),
    (22, "EINVAL", "Invalid argument"),
    (24, "EMFILE", "Too many open files"),
    (28, "ENOSPC", "No space left on device"),
    (32, "EPIPE", "Broken pipe"),
    (38, "ENOSYS", "Function not implemented"),
    (61, "ENODATA", "No data available"),
    (71, "EPROTO", "Protocol error"),
    (93, "EPROTONOSUPPORT", "Protocol not supported"),
    (95, "EOPNOTSUPP", "Operation not supported"),
    (
        97,
        "EAFNOSUPPORT",
        "Address family not supported by protocol",
    ),
    (98, "EADDRINUSE", "Address already in use"),
    (99, "EADDRNOTAVAIL", "Cannot assign requested address"),
    (100, "ENETDOWN", "Network is down"),
    (101, "ENETUNREACH", "Network is unreachable"),
    (103, "ECONNABORTED", "Software caused connection abort"),
    (104, "ECONNRESET", "Connection reset by peer"),
    (107, "ENOTCONN", "Transport endpoint is not connected"),
    (110, "ETIMEDOUT", "Connection timed out"),
    (111, "ECONNREFUSED", "Connection refused"),
    (112, "EHOSTDOWN", "Host is down"),
    (113, "EHOSTUNREACH", "No route to host"),
    (115, "EINPROGRESS", "Operation now in progress"),
    (121, "EREMOTEIO", "Remote I/O error"),
];

/// `enum ibv_wc_status` of libibverbs, in order from 0.
const STATUSES: &[&str] = &[
    "SUCCESS",
    "LOC_LEN_ERR",
    "LOC_QP_OP_ERR",
    "LOC_EEC_OP_ERR",
    "LOC_PROT_ERR",
    "WR_FLUSH_ERR",
    "MW_BIND_ERR",
    "BAD_RESP_ERR",
    "LOC_ACCESS_ERR",
    "REM_INV_REQ_ERR",
    "REM_ACCESS_ERR",
    "REM_OP_ERR",
    "RETRY_EXC_ERR",
    "RNR_RETRY_EXC_ERR",
    "LOC_RDD_VIOL_ERR",
    "REM_INV_RD_REQ_ERR",
    "REM_ABORT_ERR",
    "INV_EECN_ERR",
    "INV_EEC_STATE_ERR",
    "FATAL_ERR",
    "RESP_TIMEOUT_ERR",
    "GENERAL_ERR",
    "TM_ERR",
    "TM_RNDV_INCOMPLETE",
];

/// The errno whose text stands somewhere in a message; older releases of NCCL print no number.
pub(super) fn in_text(text: &str) -> Option<i32> {
    ERRNOS
        .iter()
        .find(|(_, _, words)| text.contains(words))
        .map(|(n, _, _)| *n)
}

/// `ETIMEDOUT (110)`; the bare number of one that has no name here.
pub(super) fn shown(errno: i32) -> String {
    match ERRNOS.iter().find(|(n, _, _)| *n == errno) {
        Some((_, name, _)) => format!("{name} (errno {errno})"),
        None => format!("errno {errno}"),
    }
}

/// `Connection timed out`.
pub(super) fn words(errno: i32) -> &'static str {
    ERRNOS
        .iter()
        .find(|(n, _, _)| *n == errno)
        .map_or("unknown error", |(_, _, words)| words)
}

/// `RETRY_EXC_ERR`, the name of a completion status without its prefix `IBV_WC_`.
pub(super) fn status(number: u32) -> &'static str {
    usize::try_from(number)
        .ok()
        .and_then(|n| STATUSES.get(n))
        .copied()
        .unwrap_or("unknown status")
}

#[cfg(test)]
mod tests {
    use super::{in_text, shown, status};

    #[test]
    fn texts_become_numbers_and_names() {
        assert_eq!(in_text("failed with error Connection timed out"), Some(110));
        assert_eq!(in_text("all is well"), None);
        assert_eq!(shown(61), "ENODATA (errno 61)");
        assert_eq!(shown(4242), "errno 4242");
        assert_eq!(status(12), "RETRY_EXC_ERR");
        assert_eq!(status(99), "unknown status");
    }
}
