//! Reads where settings stand, for `lint` and `check`: environments, configuration files, and the paths they name.

use std::collections::BTreeMap;

use crate::lint::{Sources, is_known_variable, parse_environ};
use crate::model::Reading;
use crate::nccl::gdr::peer_memory_paths;
use crate::nccl::release::KNOWN;
use crate::sys::{Env, Root, find_net_plugin, passwd_home};

/// The settings of this process, or of the process that a capture was made in.
pub(crate) fn own_sources(root: &Root, env: &Env) -> Sources {
    let mut sources = Sources {
        whose: "this process".to_owned(),
        environment: env
            .vars()
            .iter()
            .filter(|(name, _)| is_known_variable(name) || *name == "HOME")
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect(),
        home: passwd_home(root),
        ..Sources::default()
    };
    complete(&mut sources, root, env);
    sources
}

/// Reads what an environment leads to: configuration files, and whether what the settings name is there.
pub(crate) fn complete(sources: &mut Sources, root: &Root, env: &Env) {
    for path in sources.candidate_paths() {
        if let Ok(text) = root.raw_text(path.trim_start_matches('/')) {
            sources.files.insert(path, text);
        }
    }
    for release in KNOWN {
        let Some(path) = sources
            .settings(*release)
            .get("NCCL_TOPO_FILE")
            .map(str::to_owned)
        else {
            continue;
        };
        // A path that could not be looked at is not said to be missing.
        if path.starts_with('/')
            && let Ok(there) = root.exists(path.trim_start_matches('/'))
        {
            sources.exists.insert(path, there);
        }
    }
    sources.net_plugin = find_net_plugin(root, env);
    for path in KNOWN.iter().flat_map(|r| peer_memory_paths(*r)) {
        sources
            .peer_memory
            .entry(path)
            .or_insert_with(|| root.exists(path).ok());
    }
}

/// The libraries' variables of another process.
pub(crate) fn of_process(pid: u32, root: &Root) -> Reading<BTreeMap<String, String>> {
    root.bytes(&format!("proc/{pid}/environ"))
        .map(|bytes| parse_environ(&bytes))
}
