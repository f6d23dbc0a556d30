//! Which NCCL a job would load, from file names alone: no library is opened.

use super::{Env, Root};
use crate::model::Reading;
use crate::nccl::release::Release;

/// An NCCL library on the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundNccl {
    /// Its release.
    pub(crate) release: Release,
    /// The file or package directory that says so.
    pub(crate) path: String,
}

/// Finds NCCL where the loader and Python look: `LD_LIBRARY_PATH`, the loader's cache, and the site-packages of the
/// environments that are active or usual in images. Libraries of several releases are all returned.
pub(crate) fn find_nccl(root: &Root, env: &Env) -> Vec<FoundNccl> {
    let mut found = Vec::new();
    for dir in env
        .var("LD_LIBRARY_PATH")
        .unwrap_or_default()
        .split(':')
        .filter(|d| d.starts_with('/'))
    {
        found.extend(in_directory(root, dir));
    }
    found.extend(in_loader_cache(root));
    for dir in site_packages(root, env) {
        found.extend(in_site_packages(root, &dir));
    }
    found
}

/// `libnccl.so.2.27.7`, or `libnccl.so.2` as a link to it.
fn in_directory(root: &Root, dir: &str) -> Option<FoundNccl> {
    let dir = dir.trim_matches('/');
    let release = root
        .link(&format!("{dir}/libnccl.so.2"))
        .ok()
        .and_then(|t| of_file_name(&t))?;
    Some(FoundNccl {
        release,
        path: format!("/{dir}/libnccl.so.2"),
    })
}

fn of_file_name(path: &str) -> Option<Release> {
    path.rsplit('/')
        .next()?
        .strip_prefix("libnccl.so.")?
        .parse()
        .ok()
}

/// Paths of the loader's cache, without their leading slash. A capture keeps those of the libraries that matter here: the
/// rest says what else is installed, and is nobody's business.
pub(super) fn loader_cache(root: &Root) -> Reading<Vec<String>> {
    const CACHE: &str = "etc/ld.so.cache";
    const KEPT: [&str; 8] = [
        "libnccl",
        "libibverbs",
        "librdmacm",
        "libmlx",
        "libefa",
        "libbnxt",
        "libirdma",
        "libionic",
    ];
    // The cache holds each library's path as a NUL-terminated string; a capture has one a line.
    let paths: Vec<String> = root
        .bytes(CACHE)?
        .split(|b| matches!(b, 0 | b'\n'))
        .filter_map(|s| std::str::from_utf8(s).ok())
        .filter_map(|s| s.strip_prefix('/'))
        .map(str::to_owned)
        .collect();
    let kept: String = paths
        .iter()
        .filter(|p| {
            let name = p.rsplit('/').next().unwrap_or(p);
            name.contains("-rdmav") || KEPT.iter().any(|k| name.starts_with(k))
        })
        .fold(String::new(), |kept, path| kept + "/" + path + "\n");
    root.note(CACHE, kept.as_bytes());
    Ok(paths)
}

fn in_loader_cache(root: &Root) -> Option<FoundNccl> {
    let paths = loader_cache(root).ok()?;
    paths
        .iter()
        .filter_map(|s| s.strip_suffix("/libnccl.so.2"))
        .find_map(|dir| in_directory(root, dir))
}

/// The network plugin the loader finds by its usual name: in `LD_LIBRARY_PATH`, or in its cache.
pub(crate) fn find_net_plugin(root: &Root, env: &Env) -> Option<String> {
    const NAME: &str = "libnccl-net.so";
    let listed = env
        .var("LD_LIBRARY_PATH")
        .unwrap_or_default()
        .split(':')
        .filter(|d| d.starts_with('/'))
        .map(|d| format!("{}/{NAME}", d.trim_end_matches('/')))
        .find(|path| root.exists(path.trim_start_matches('/')) == Ok(true));
    listed.or_else(|| {
        let cache = root.bytes("etc/ld.so.cache").ok()?;
        cache
            .split(|b| *b == 0)
            .filter_map(|s| std::str::from_utf8(s).ok())
            .find(|s| s.starts_with('/') && s.ends_with("/libnccl-net.so"))
            .filter(|path| root.exists(path.trim_start_matches('/')) == Ok(true))
            .map(str::to_owned)
    })
}

/// Directories of Python packages.
fn site_packages(root: &Root, env: &Env) -> Vec<String> {
    let mut prefixes: Vec<String> = ["VIRTUAL_ENV", "CONDA_PREFIX"]
        .iter()
        .filter_map(|name| env.var(name))
        .filter(|p| p.starts_with('/'))
        .map(|p| p.trim_matches('/').to_owned())
        .collect();
    prefixes.extend(["usr/local", "opt/conda", "opt/venv", "usr"].map(str::to_owned));
    let mut dirs = Vec::new();
    for prefix in prefixes {
        for python in root.list(&format!("{prefix}/lib")).unwrap_or_default() {
            if python.starts_with("python3") {
                dirs.push(format!("{prefix}/lib/{python}/site-packages"));
                dirs.push(format!("{prefix}/lib/{python}/dist-packages"));
            }
        }
    }
    dirs
}

/// `nvidia_nccl_cu12-2.27.7.dist-info`, the wheel that `PyTorch` depends on.
fn in_site_packages(root: &Root, dir: &str) -> Option<FoundNccl> {
    let names = root.list(dir).ok()?;
    names.iter().find_map(|name| {
        let version = name
            .strip_prefix("nvidia_nccl_cu")?
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .strip_prefix('-')?
            .strip_suffix(".dist-info")?;
        Some(FoundNccl {
            release: version.parse().ok()?,
            path: format!("/{dir}/{name}"),
        })
    })
}
