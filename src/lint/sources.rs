//! Where settings stand: an environment, configuration files, and what else was looked at for their sake.

use std::collections::{BTreeMap, BTreeSet};

use super::{Remark, is_known_variable, is_setting};
use crate::model::Reading;
use crate::nccl::config::{ConfigFile, Settings, candidates};
use crate::nccl::release::Release;

/// Everything that was read about settings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sources {
    /// Whose environment it is: `this process`, `PID 42`, `job.env`.
    pub(crate) whose: String,
    /// The environment, the libraries' variables and what says where files are.
    pub(crate) environment: BTreeMap<String, String>,
    /// What is odd about the file the environment comes from, when it comes from one.
    pub(crate) remarks: Vec<Remark>,
    /// Home directory of the process's user in the password file.
    pub(crate) home: Option<String>,
    /// Configuration files that exist, by path.
    pub(crate) files: BTreeMap<String, String>,
    /// A file that stands for `NCCL_CONF_FILE` and the one in the home directory.
    pub(crate) conf: Option<ConfigFile>,
    /// PID 1's variables of the libraries; `None` where it was not looked at, or is the process itself.
    pub(crate) pid1: Option<Reading<BTreeMap<String, String>>>,
    /// Paths that settings name, and whether something is there.
    pub(crate) exists: BTreeMap<String, bool>,
    /// The network plugin the loader would find by its usual name.
    pub(crate) net_plugin: Option<String>,
    /// Files whose existence makes NCCL believe in peer memory; `None` where that could not be looked at.
    pub(crate) peer_memory: BTreeMap<&'static str, Option<bool>>,
}

impl Sources {
    /// The settings as a release would read them.
    pub(crate) fn settings(&self, release: Release) -> Settings {
        Settings::resolve(&self.environment, &self.files_of(release), release)
    }

    /// The configuration files a release reads, first winner first.
    pub(crate) fn files_of(&self, release: Release) -> Vec<ConfigFile> {
        let mut paths = candidates(&self.environment, self.home.as_deref(), release);
        let mut files: Vec<ConfigFile> = Vec::new();
        if let Some(conf) = &self.conf {
            files.push(conf.clone());
            // The system's file is read in any case, and comes last.
            paths.drain(..paths.len().saturating_sub(1));
        }
        files.extend(paths.into_iter().filter_map(|path| {
            let text = self.files.get(&path)?.clone();
            Some(ConfigFile { path, text })
        }));
        files
    }

    /// Every path a known release would look at for configuration.
    pub(crate) fn candidate_paths(&self) -> BTreeSet<String> {
        [Release::OLDEST, Release::NEWEST]
            .into_iter()
            .flat_map(|r| candidates(&self.environment, self.home.as_deref(), r))
            .collect()
    }

    /// True where anything sets NCCL up.
    pub(crate) fn has_settings(&self) -> bool {
        self.environment.keys().any(|n| is_setting(n))
            || self
                .settings(Release::NEWEST)
                .iter()
                .any(|(name, _)| is_setting(name))
    }

    /// Variables of PID 1 that this environment lacks or has otherwise.
    pub(crate) fn only_pid1(&self) -> Vec<(&str, &str)> {
        let Some(Ok(variables)) = &self.pid1 else {
            return Vec::new();
        };
        variables
            .iter()
            .filter(|(name, value)| {
                super::is_adoptable(name) && self.environment.get(*name) != Some(*value)
            })
            .map(|(n, v)| (n.as_str(), v.as_str()))
            .collect()
    }
}

/// Reads the environment of a process as /proc shows it, keeping what concerns settings only.
pub(crate) fn parse_environ(bytes: &[u8]) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    for entry in bytes.split(|b| *b == 0) {
        let text = String::from_utf8_lossy(entry);
        let Some((name, value)) = text.split_once('=') else {
            continue;
        };
        if is_known_variable(name) || matches!(name, "HOME" | "LD_LIBRARY_PATH") {
            // Of two definitions, getenv finds the first.
            variables
                .entry(name.to_owned())
                .or_insert_with(|| value.to_owned());
        }
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::{Sources, parse_environ};
    use crate::nccl::release::Release;
    use proptest::prelude::*;

    #[test]
    fn only_the_libraries_variables_are_kept() {
        let read = parse_environ(b"NCCL_DEBUG=INFO\0TOKEN=secret\0HOME=/root\0NCCL_DEBUG=WARN\0");
        assert_eq!(read.len(), 2);
        assert_eq!(read["NCCL_DEBUG"], "INFO");
    }

    #[test]
    fn a_file_on_the_command_line_stands_before_the_systems() {
        let mut sources = Sources::default();
        sources.files.insert(
            "/etc/nccl.conf".into(),
            "NCCL_NET=IB\nNCCL_DEBUG=INFO\n".into(),
        );
        sources.conf = Some(crate::nccl::config::ConfigFile {
            path: "job.conf".into(),
            text: "NCCL_NET=Socket\n".into(),
        });
        let settings = sources.settings(Release::NEWEST);
        assert_eq!(settings.get("NCCL_NET"), Some("Socket"));
        assert_eq!(settings.get("NCCL_DEBUG"), Some("INFO"));
        assert!(sources.has_settings());
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes in any::<Vec<u8>>()) {
            parse_environ(&bytes);
        }
    }
}
