//! Reads where settings stand, for `lint` and `check`: environments, configuration files, and the paths they name.

use std::collections::BTreeMap;

use super::Cx;
use crate::lint::{Sources, is_known_variable, parse_environ};
use crate::model::Reading;
use crate::nccl::gdr::peer_memory_paths;
use crate::nccl::release::KNOWN;
use crate::sys::{find_net_plugin, passwd_home};

/// The settings of this process, or of the process that a capture was made in.
pub(super) fn own_sources(cx: &Cx) -> Sources {
    let mut sources = Sources {
        whose: "this process".to_owned(),
        environment: cx
            .env
            .vars()
            .iter()
            .filter(|(name, _)| is_known_variable(name) || *name == "HOME")
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect(),
        home: passwd_home(&cx.root),
        ..Sources::default()
    };
    complete(&mut sources, cx);
    sources
}

/// Reads what an environment leads to: configuration files, and whether what the settings name is there.
pub(super) fn complete(sources: &mut Sources, cx: &Cx) {
    for path in sources.candidate_paths() {
        if let Ok(text) = cx.root.raw_text(path.trim_start_matches('/')) {
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
            && let Ok(there) = cx.root.exists(path.trim_start_matches('/'))
        {
            sources.exists.insert(path, there);
        }
    }
    sources.net_plugin = find_net_plugin(&cx.root, &cx.env);
    for path in KNOWN.iter().flat_map(|r| peer_memory_paths(*r)) {
        sources
            .peer_memory
            .entry(path)
            .or_insert_with(|| cx.root.exists(path).ok());
    }
}

/// The libraries' variables of another process.
pub(super) fn of_process(pid: u32, cx: &Cx) -> Reading<BTreeMap<String, String>> {
    cx.root
        .bytes(&format!("proc/{pid}/environ"))
        .map(|bytes| parse_environ(&bytes))
}
