//! A node of the fixtures, changed for one test, and what a check makes of it.

use crate::checks::{Check, Expectations, Facts, Finding, Severity, Thresholds, Verdict};
use crate::model::health::Health;
use crate::model::{Hca, Node, Port, PortKey};
use crate::nccl::config::Settings;
use crate::nccl::release::Release;
use crate::roles::{Rules, decide};
use crate::sys::{Root, Scope, Tree, read_node};

/// Everything a check sees.
pub(in crate::checks) struct Scene {
    pub(in crate::checks) node: Node,
    pub(in crate::checks) health: Health,
    pub(in crate::checks) rules: Rules,
    pub(in crate::checks) releases: Vec<Release>,
    pub(in crate::checks) settings: Settings,
    pub(in crate::checks) expect: Expectations,
}

impl Scene {
    /// A node of `fixtures/nodes`.
    pub(in crate::checks) fn of(name: &str) -> Self {
        let path = format!("{}/fixtures/nodes/{name}", env!("CARGO_MANIFEST_DIR"));
        let root = Root::open(std::path::Path::new(&path)).unwrap();
        Self::read(&root)
    }

    /// A node written out as a capture, without its first line.
    pub(in crate::checks) fn text(lines: &str) -> Self {
        let text = format!("rdmactl capture 1\n{lines}");
        Self::read(&Root::tree(Tree::parse(&text).unwrap(), "test"))
    }

    fn read(root: &Root) -> Self {
        Self {
            node: read_node(root, Scope::FULL),
            health: Health::default(),
            rules: Rules::default(),
            releases: Vec::new(),
            settings: Settings::default(),
            expect: Expectations::default(),
        }
    }

    pub(in crate::checks) fn node(mut self, change: impl FnOnce(&mut Node)) -> Self {
        change(&mut self.node);
        self
    }

    pub(in crate::checks) fn health(mut self, change: impl FnOnce(&mut Health)) -> Self {
        change(&mut self.health);
        self
    }

    pub(in crate::checks) fn hca(mut self, name: &str, change: impl FnOnce(&mut Hca)) -> Self {
        let hcas = self.node.hcas.as_mut().unwrap();
        change(hcas.iter_mut().find(|h| h.name == name).unwrap());
        self
    }

    /// Changes the first port of a device.
    pub(in crate::checks) fn port(self, name: &str, change: impl FnOnce(&mut Port)) -> Self {
        self.hca(name, |h| change(&mut h.ports.as_mut().unwrap()[0]))
    }

    pub(in crate::checks) fn release(mut self, text: &str) -> Self {
        self.releases.push(text.parse().unwrap());
        self
    }

    pub(in crate::checks) fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.set(name, value);
        self
    }

    pub(in crate::checks) fn expect(mut self, text: &str) -> Self {
        self.expect.add(text).unwrap();
        self
    }

    pub(in crate::checks) fn verdict(&self, check: &Check) -> Verdict {
        let decision = decide(&self.node, &self.rules);
        (check.run)(&Facts {
            node: &self.node,
            decision: &decision,
            health: &self.health,
            releases: &self.releases,
            settings: &self.settings,
            lint: None,
            expect: &self.expect,
            thresholds: &Thresholds::default(),
        })
    }

    /// The findings; none of them may be worse than the check says.
    pub(in crate::checks) fn found(&self, check: &Check) -> Vec<Finding> {
        match self.verdict(check) {
            Verdict::Found(findings, _) => {
                assert!(findings.iter().all(|f| f.severity <= check.severity));
                findings
            }
            other => panic!("{}: {other:?}", check.id),
        }
    }

    /// The findings in short: `error mlx5_3/1`.
    pub(in crate::checks) fn short(&self, check: &Check) -> Vec<String> {
        self.found(check)
            .iter()
            .map(|f| format!("{} {}", f.severity.word(), f.subject))
            .collect()
    }

    pub(in crate::checks) fn passes(&self, check: &Check) -> bool {
        matches!(self.verdict(check), Verdict::Passed(n) if n > 0)
    }

    pub(in crate::checks) fn is_not_applicable(&self, check: &Check) -> bool {
        matches!(self.verdict(check), Verdict::NotApplicable(_))
    }

    pub(in crate::checks) fn is_unknown(&self, check: &Check) -> bool {
        matches!(self.verdict(check), Verdict::Unknown(_))
    }
}

/// The first port of a device.
pub(in crate::checks) fn first_port(name: &str) -> PortKey {
    PortKey {
        hca: name.to_owned(),
        port: 1,
    }
}

/// The only finding's severity and message.
pub(in crate::checks) fn only(findings: &[Finding]) -> (Severity, &str) {
    assert_eq!(findings.len(), 1, "{findings:?}");
    (findings[0].severity, &findings[0].message)
}
