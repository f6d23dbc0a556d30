//! How a step of NCCL ends: its result codes, and the ways in which it does not end at all.

use std::fmt;

/// An `ncclResult_t`, as far as the network part returns them (`src/nccl.h.in`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// 0: `ncclSuccess`.
    Success,
    /// 2: `ncclSystemError`.
    SystemError,
    /// 3: `ncclInternalError`.
    InternalError,
    /// 4: `ncclInvalidArgument`.
    InvalidArgument,
    /// 5: `ncclInvalidUsage`.
    InvalidUsage,
}

impl Code {
    /// The number NCCL prints.
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::SystemError => 2,
            Self::InternalError => 3,
            Self::InvalidArgument => 4,
            Self::InvalidUsage => 5,
        }
    }

    /// True for `ncclSuccess`.
    pub(crate) fn is_success(self) -> bool {
        self == Self::Success
    }

    /// The words of `ncclGetErrorString`.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Success => "no error",
            Self::SystemError => "unhandled system error",
            Self::InternalError => "internal error",
            Self::InvalidArgument => "invalid argument",
            Self::InvalidUsage => "invalid usage",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text())
    }
}

/// A fault of a release that ends the process, or never ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Crash {
    /// A device without `device` link in sysfs has no PCI path, and the release compares with it all the same.
    NoDevicePath,
    /// `NCCL_IB_ADDR_RANGE` has no slash and the release writes where it should be.
    RangeWithoutSlash,
    /// A group of `NCCL_NET_FORCE_MERGE` names nothing (`,`), and the release looks at it forever.
    EmptyMergeGroup,
}

impl Crash {
    /// True where the process hangs; otherwise it dies of SIGSEGV.
    pub(crate) fn is_hang(self) -> bool {
        self == Self::EmptyMergeGroup
    }

    /// One line on what happens.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::NoDevicePath => {
                "NCCL dies of SIGSEGV because an RDMA device has no device link in sysfs"
            }
            Self::RangeWithoutSlash => {
                "NCCL dies of SIGSEGV because NCCL_IB_ADDR_RANGE has no slash"
            }
            Self::EmptyMergeGroup => {
                "NCCL hangs because a group of NCCL_NET_FORCE_MERGE names no device"
            }
        }
    }
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text())
    }
}
