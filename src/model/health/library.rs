//! User-space libraries a job would load, found by name.

use std::collections::BTreeMap;

use crate::model::{Reading, Unread, Why};
use crate::nccl::release::Release;

/// Libraries of verbs and NCCL.
#[derive(Debug, Clone)]
pub(crate) struct Libraries {
    /// Where libibverbs.so.1 is; `Ok(None)`: not where the loader looks.
    pub(crate) verbs: Reading<Option<String>>,
    /// Provider libraries, by name (`mlx5`, `bnxt_re`), with their paths.
    pub(crate) providers: Reading<BTreeMap<String, String>>,
    /// NCCL libraries: path to release.
    pub(crate) nccl: BTreeMap<String, Release>,
    /// Network plugins (libnccl-net*.so) that the loader would find.
    pub(crate) net_plugins: Vec<NetPlugin>,
}

/// A network plugin of NCCL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NetPlugin {
    /// Where it is found.
    pub(crate) path: String,
    /// The file that a link there leads to, which tells whose it is.
    pub(crate) target: String,
}

impl Default for Libraries {
    fn default() -> Self {
        Self {
            verbs: Err(Unread::new("etc/ld.so.cache", Why::NotAsked)),
            providers: Err(Unread::new("etc/ld.so.cache", Why::NotAsked)),
            nccl: BTreeMap::new(),
            net_plugins: Vec::new(),
        }
    }
}
