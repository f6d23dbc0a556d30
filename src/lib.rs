//! rdmactl: what is wrong with this GPU node's RDMA, and the NCCL settings that are right on it.

#![allow(dead_code, reason = "until every room is furnished")]

mod model;
mod nccl;
