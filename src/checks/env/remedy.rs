//! What findings about settings share: release by release, with what stands there now and the line that is right.

use crate::checks::Finding;
use crate::lint::{Analysis, Judged};
use crate::nccl::config::Origin;
use crate::nccl::release::Release;
use crate::plan::Action;

impl Analysis<'_> {
    /// What every release finds. A finding that not all of them have says which have it.
    pub(crate) fn over_releases(&self, find: fn(&Self, &Judged) -> Vec<Finding>) -> Vec<Finding> {
        let mut found: Vec<(Finding, Vec<Release>)> = Vec::new();
        for judged in &self.judged {
            for finding in find(self, judged) {
                match found.iter_mut().find(|(f, _)| *f == finding) {
                    Some((_, releases)) => releases.push(judged.release),
                    None => found.push((finding, vec![judged.release])),
                }
            }
        }
        found
            .into_iter()
            .map(|(mut finding, releases)| {
                if releases.len() < self.judged.len() {
                    let names: Vec<String> = releases.iter().map(ToString::to_string).collect();
                    finding.message = format!("{} (NCCL {})", finding.message, names.join(", "));
                }
                finding
            })
            .collect()
    }

    /// Adds to a finding about a variable what stands there now, and the line that is right.
    pub(crate) fn correct(&self, finding: Finding, judged: &Judged, name: &str) -> Finding {
        self.corrected(Self::shown(finding, judged, name), judged, name)
    }

    /// Adds what a variable is now, and where.
    pub(crate) fn shown(finding: Finding, judged: &Judged, name: &str) -> Finding {
        match judged.settings.setting(name).map(|s| &s.effective) {
            None => finding.evidence(name, "not set"),
            Some(definition) => match &definition.origin {
                Origin::Environment => finding.evidence(name, &definition.value),
                Origin::File { path, line } => {
                    finding.file(path, format!("{name}={} (line {line})", definition.value))
                }
            },
        }
    }

    /// Adds the right line for a variable.
    pub(crate) fn corrected(&self, finding: Finding, judged: &Judged, name: &str) -> Finding {
        let plan = match &self.choice.plan {
            Ok(plan) => plan,
            Err(error) => {
                return finding.fix(format!("`rdmactl env` has no answer on this node: {error}"));
            }
        };
        match plan
            .variables
            .iter()
            .find(|v| v.name == name)
            .map(|v| &v.action)
        {
            Some(Action::Set(value)) => finding
                .fix("set what `rdmactl env` finds on this node")
                .setting(name, value.clone()),
            Some(Action::Blank) => finding
                .fix("an empty value keeps the configuration file's out")
                .setting(name, ""),
            Some(Action::Unset) | None => Self::removed(finding, judged, name),
        }
    }

    /// Adds how a variable is taken away, where it stands.
    pub(crate) fn removed(finding: Finding, judged: &Judged, name: &str) -> Finding {
        match judged.origin(name) {
            Some(Origin::File { path, line }) => {
                finding.fix(format!("take {name} out of {path} (line {line})"))
            }
            Some(Origin::Environment) => finding
                .fix(format!("take {name} out of the job's environment"))
                .command(format!("unset {name}")),
            None => finding
                .fix("use what `rdmactl env` prints")
                .command("eval \"$(rdmactl env)\""),
        }
    }
}
