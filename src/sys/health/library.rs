//! User-space libraries, by name: none is opened.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::health::{Libraries, NetPlugin};
use crate::model::{Reading, Unread, Why};
use crate::sys::{Env, Root, find_nccl};

const CACHE: &str = "etc/ld.so.cache";
const VERBS: &str = "libibverbs.so.1";

/// Where the loader looks without being told, on the distributions' layouts.
const DEFAULTS: [&str; 8] = [
    "lib64",
    "usr/lib64",
    "lib/x86_64-linux-gnu",
    "usr/lib/x86_64-linux-gnu",
    "lib/aarch64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "lib",
    "usr/lib",
];

/// Finds the libraries a job would load.
pub(super) fn read(root: &Root, env: &Env) -> Libraries {
    let loader = Loader::new(root, env);
    let verbs = loader.verbs();
    Libraries {
        providers: loader.providers(&verbs),
        verbs,
        nccl: find_nccl(root, env)
            .into_iter()
            .map(|found| (found.path, found.release))
            .collect(),
        net_plugins: loader.net_plugins(env.var("NCCL_NET_PLUGIN")),
    }
}

/// The loader's places: `LD_LIBRARY_PATH`, the paths of its cache, the default directories.
struct Loader<'a> {
    root: &'a Root,
    named: Vec<String>,
    cached: Reading<BTreeSet<String>>,
}

impl<'a> Loader<'a> {
    fn new(root: &'a Root, env: &Env) -> Self {
        let named = env
            .var("LD_LIBRARY_PATH")
            .unwrap_or_default()
            .split(':')
            .filter(|d| d.starts_with('/'))
            .map(|d| d.trim_matches('/').to_owned())
            .collect();
        // The cache holds each library's path as a NUL-terminated string.
        let cached = root.bytes(CACHE).map(|cache| {
            cache
                .split(|b| *b == 0)
                .filter_map(|s| std::str::from_utf8(s).ok())
                .filter_map(|s| s.strip_prefix('/'))
                .map(str::to_owned)
                .collect()
        });
        Self {
            root,
            named,
            cached,
        }
    }

    /// The paths at which a library of this name may stand, in the loader's order.
    fn places(&self, name: &str) -> Vec<String> {
        let cached = self.cached.iter().flatten();
        let cached = cached.filter(|p| p.rsplit('/').next() == Some(name));
        let mut places: Vec<String> = self.named.iter().map(|d| format!("{d}/{name}")).collect();
        places.extend(cached.cloned());
        places.extend(DEFAULTS.iter().map(|d| format!("{d}/{name}")));
        places
    }

    fn find(&self, name: &str) -> Option<String> {
        self.places(name)
            .into_iter()
            .find(|p| self.root.exists(p) == Ok(true))
    }

    fn verbs(&self) -> Reading<Option<String>> {
        if let Some(path) = self.find(VERBS) {
            return Ok(Some(format!("/{path}")));
        }
        let told = DEFAULTS.iter().any(|d| self.root.exists(d) == Ok(true));
        match &self.cached {
            Ok(_) => Ok(None),
            // A system without a cache (musl) has its libraries in the default directories.
            Err(unread) if unread.is_absent() && told => Ok(None),
            Err(unread) if unread.is_absent() => Err(Unread::new(CACHE, Why::NotCaptured)),
            Err(unread) => Err(unread.clone()),
        }
    }

    /// `libibverbs/libmlx5-rdmav34.so` beside libibverbs, or the same name where the loader looks.
    fn providers(&self, verbs: &Reading<Option<String>>) -> Reading<BTreeMap<String, String>> {
        let path = match verbs {
            Ok(Some(path)) => path.trim_start_matches('/'),
            Ok(None) => return Err(Unread::new(format!("usr/lib/{VERBS}"), Why::Absent)),
            Err(unread) => return Err(unread.clone()),
        };
        let own = path.rsplit_once('/').map_or("", |(dir, _)| dir);
        let mut dirs = vec![format!("{own}/libibverbs"), own.to_owned()];
        dirs.extend(DEFAULTS.iter().map(|d| format!("{d}/libibverbs")));
        dirs.extend(self.named.iter().cloned());
        let mut providers = BTreeMap::new();
        let mut denied = None;
        for dir in dirs {
            match self.root.list(&dir) {
                Ok(names) => {
                    for name in names {
                        if let Some(provider) = provider_of(&name) {
                            let path = format!("/{dir}/{name}");
                            providers.entry(provider.to_owned()).or_insert(path);
                        }
                    }
                }
                Err(unread) if unread.is_absent() => {}
                Err(unread) => denied = Some(unread),
            }
        }
        match denied {
            Some(unread) if providers.is_empty() => Err(unread),
            _ => Ok(providers),
        }
    }

    /// The plugin NCCL loads unasked, and those a setting names.
    fn net_plugins(&self, setting: Option<&str>) -> Vec<NetPlugin> {
        let mut names = vec!["libnccl-net.so".to_owned()];
        let words = setting.unwrap_or_default().split(',');
        for name in words.filter(|n| !n.is_empty() && *n != "none" && !n.contains('/')) {
            names.push(name.to_owned());
            names.push(format!("libnccl-net-{name}.so"));
        }
        names
            .iter()
            .filter_map(|name| self.find(name))
            .map(|path| {
                let target = self.root.real(&path).unwrap_or_else(|_| path.clone());
                NetPlugin {
                    path: format!("/{path}"),
                    target: format!("/{target}"),
                }
            })
            .collect()
    }
}

/// `mlx5` of `libmlx5-rdmav34.so`.
fn provider_of(name: &str) -> Option<&str> {
    let stem = name.strip_prefix("lib")?.strip_suffix(".so")?;
    stem.split_once("-rdmav").map(|(provider, _)| provider)
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::model::Why;
    use crate::model::health::Libraries;
    use crate::sys::{Env, Root, Tree};

    fn libraries(lines: &str, variables: &[(&str, &str)]) -> Libraries {
        let tree = Tree::parse(&format!("rdmactl capture 1\n{lines}")).unwrap();
        let env = Env::new(variables.iter().map(|(n, v)| (n.into(), v.into())));
        read(&Root::tree(tree, "test"), &env)
    }

    #[test]
    fn verbs_and_its_providers_are_found_where_the_loader_looks() {
        let dir = "usr/lib/x86_64-linux-gnu";
        let found = libraries(
            &format!(
                "exists {dir}/libibverbs.so.1\nexists {dir}/libibverbs/libmlx5-rdmav34.so\n\
                 exists {dir}/libibverbs/libbnxt_re-rdmav34.so\nexists {dir}/libibverbs/README\n"
            ),
            &[],
        );
        assert_eq!(found.verbs, Ok(Some(format!("/{dir}/libibverbs.so.1"))));
        let names: Vec<String> = found.providers.unwrap().into_keys().collect();
        assert_eq!(names, ["bnxt_re", "mlx5"]);
    }

    #[test]
    fn a_cache_without_it_says_so_and_a_copy_without_libraries_nothing() {
        assert_eq!(libraries("hex etc/ld.so.cache 00\n", &[]).verbs, Ok(None));
        assert_eq!(libraries("dir usr/lib\n", &[]).verbs, Ok(None));
        let unread = libraries("proc/version = x\n", &[]).verbs.unwrap_err();
        assert_eq!(unread.why, Why::NotCaptured);
        let denied = libraries("errno etc/ld.so.cache EACCES\n", &[]).verbs;
        assert_eq!(denied.unwrap_err().why, Why::Denied);
    }

    #[test]
    fn plugins_are_those_that_would_be_loaded() {
        let lines = "link opt/hpcx/lib/libnccl-net.so libnccl-net.so.0.0.0\n\
                     exists opt/hpcx/lib/libnccl-net.so.0.0.0\nexists opt/x/libnccl-net-ofi.so\n";
        assert!(libraries(lines, &[]).net_plugins.is_empty());
        let hpcx = libraries(lines, &[("LD_LIBRARY_PATH", "relative:/opt/hpcx/lib/")]);
        let [plugin] = hpcx.net_plugins.as_slice() else {
            panic!("{hpcx:?}");
        };
        assert_eq!(plugin.target, "/opt/hpcx/lib/libnccl-net.so.0.0.0");
        let named = [("LD_LIBRARY_PATH", "/opt/x"), ("NCCL_NET_PLUGIN", "ofi")];
        assert_eq!(
            libraries(lines, &named).net_plugins[0].path,
            "/opt/x/libnccl-net-ofi.so"
        );
    }
}
