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
    pub(crate) providers: BTreeMap<String, String>,
    /// NCCL libraries: path to release.
    pub(crate) nccl: BTreeMap<String, Release>,
    /// Network plugins (libnccl-net*.so): paths.
    pub(crate) net_plugins: Vec<String>,
}

impl Default for Libraries {
    fn default() -> Self {
        Self {
            verbs: Err(Unread::new("etc/ld.so.cache", Why::NotAsked)),
            providers: BTreeMap::new(),
            nccl: BTreeMap::new(),
            net_plugins: Vec::new(),
        }
    }
}
