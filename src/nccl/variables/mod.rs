//! The variables NCCL reads: what they are, since when and until when.

pub(crate) mod catalogue;
mod infiniband;
mod network;
mod other;
mod socket;
