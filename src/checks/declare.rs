//! What a check is: one static, one function, one page.

use crate::lint::Analysis;
use crate::model::health::Health;
use crate::model::{Node, Unread};
use crate::nccl::config::Settings;
use crate::nccl::release::Release;
use crate::roles::Decision;

use super::expect::Expectations;
use super::thresholds::Thresholds;

/// How bad it is, by consequence. Ordered: worse is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// Worth knowing; nothing need be done.
    Note,
    /// It works, but slower, by luck, or only on this node.
    Warning,
    /// The job fails, or silently leaves RDMA.
    Error,
}

impl Severity {
    /// The word for it in output.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What a check looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The node as a whole.
    Node,
    /// RDMA devices.
    Device,
    /// Ports of RDMA devices.
    Port,
    /// Network devices.
    Netdev,
    /// GPUs.
    Gpu,
    /// Variables.
    Variable,
}

impl Subject {
    /// The word for it in output.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Device => "device",
            Self::Port => "port",
            Self::Netdev => "netdev",
            Self::Gpu => "gpu",
            Self::Variable => "variable",
        }
    }
}

/// A check. Its id never changes; see `ALIASES` and `REMOVED` for what happens instead.
pub(crate) struct Check {
    /// `family.slug`.
    pub(crate) id: &'static str,
    /// What is wrong when it finds something, in half a line.
    pub(crate) title: &'static str,
    /// The worst severity of its findings.
    pub(crate) severity: Severity,
    /// Release of rdmactl that has had it first.
    pub(crate) since: &'static str,
    /// What it looks at.
    pub(crate) subject: Subject,
    /// Paths it looks at; `*` stands for one component.
    pub(crate) reads: &'static [&'static str],
    /// Its page, as `explain` prints it.
    pub(crate) page: &'static str,
    /// The check itself: pure.
    pub(crate) run: fn(&Facts) -> Verdict,
}

/// Everything a check may look at.
pub(crate) struct Facts<'a> {
    /// The node.
    pub(crate) node: &'a Node,
    /// Every port's role.
    pub(crate) decision: &'a Decision,
    /// What was read beside the node.
    pub(crate) health: &'a Health,
    /// NCCL releases in use; none where that is not known.
    pub(crate) releases: &'a [Release],
    /// NCCL's settings as they are in this process.
    pub(crate) settings: &'a Settings,
    /// The settings in the NCCL model; `None` where there are none to look at.
    pub(crate) lint: Option<&'a Analysis<'a>>,
    /// What the node ought to have.
    pub(crate) expect: &'a Expectations,
    /// Limits of what is fine.
    pub(crate) thresholds: &'a Thresholds,
}

/// What a check came to. The four are never merged: not having been able to look is not fine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It had all it needed and found nothing, in so many things.
    Passed(usize),
    /// It found something; and what it could not read besides.
    Found(Vec<Finding>, Vec<Unread>),
    /// There is nothing on this node that it could look at, and why.
    NotApplicable(&'static str),
    /// It needed something that could not be read.
    Unknown(Vec<Unread>),
}

/// Something that a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// How bad it is; never worse than the check's own severity.
    pub(crate) severity: Severity,
    /// What it is about: `mlx5_3/1`, `eth1`, `NCCL_IB_HCA`.
    pub(crate) subject: String,
    /// What is, in one line: lowercase start, no final stop, the value in it.
    pub(crate) message: String,
    /// Where it was read and what stood there.
    pub(crate) evidence: Vec<Evidence>,
    /// What to do.
    pub(crate) remedy: Option<Remedy>,
}

/// A place and what stood there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Evidence {
    /// A path with its leading slash, a variable, a program.
    pub(crate) source: String,
    /// What it held.
    pub(crate) value: String,
}

/// What to do about a finding: a sentence, and a command or a setting that does it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remedy {
    /// What to do, in one line.
    pub(crate) text: String,
    /// The command that does it, when there is one.
    pub(crate) command: Option<String>,
    /// Variables to set.
    pub(crate) set: Vec<(String, String)>,
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "numbers, names and ports are all handed over as they are"
)]
impl Finding {
    /// Starts a finding.
    pub(crate) fn new(
        severity: Severity,
        subject: impl ToString,
        message: impl Into<String>,
    ) -> Self {
        Self {
            severity,
            subject: subject.to_string(),
            message: message.into(),
            evidence: Vec::new(),
            remedy: None,
        }
    }

    /// Adds a file below the root and what it held.
    #[must_use]
    pub(crate) fn file(self, path: &str, value: impl ToString) -> Self {
        self.evidence(format!("/{}", path.trim_start_matches('/')), value)
    }

    /// Adds any other source and what it held.
    #[must_use]
    pub(crate) fn evidence(mut self, source: impl Into<String>, value: impl ToString) -> Self {
        self.evidence.push(Evidence {
            source: source.into(),
            value: value.to_string(),
        });
        self
    }

    /// Says what to do.
    #[must_use]
    pub(crate) fn fix(mut self, text: impl Into<String>) -> Self {
        self.remedy = Some(Remedy {
            text: text.into(),
            command: None,
            set: Vec::new(),
        });
        self
    }

    /// Adds the command that does it to what [`Finding::fix`] says.
    #[must_use]
    pub(crate) fn command(mut self, command: impl Into<String>) -> Self {
        if let Some(remedy) = &mut self.remedy {
            remedy.command = Some(command.into());
        }
        self
    }

    /// Adds a variable to set to what [`Finding::fix`] says.
    #[must_use]
    pub(crate) fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Some(remedy) = &mut self.remedy {
            remedy.set.push((name.into(), value.into()));
        }
        self
    }
}

/// Collects what a check sees, and makes the verdict of it.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    looked_at: usize,
    findings: Vec<Finding>,
    unread: Vec<Unread>,
}

impl Collector {
    /// Counts something that was looked at.
    pub(crate) fn look(&mut self) {
        self.looked_at += 1;
    }

    /// Keeps a finding.
    pub(crate) fn find(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Keeps something that could not be read.
    pub(crate) fn unread(&mut self, unread: &Unread) {
        self.unread.push(unread.clone());
    }

    /// A reading's value; what could not be read is kept.
    pub(crate) fn value<'a, T>(&mut self, reading: &'a crate::model::Reading<T>) -> Option<&'a T> {
        match reading {
            Ok(value) => Some(value),
            Err(unread) => {
                self.unread(unread);
                None
            }
        }
    }

    /// The verdict; `nothing` says why there was nothing to look at.
    pub(crate) fn verdict(self, nothing: &'static str) -> Verdict {
        if !self.findings.is_empty() {
            Verdict::Found(self.findings, self.unread)
        } else if !self.unread.is_empty() {
            Verdict::Unknown(self.unread)
        } else if self.looked_at == 0 {
            Verdict::NotApplicable(nothing)
        } else {
            Verdict::Passed(self.looked_at)
        }
    }
}

/// Declares a check: from its two names come the id and the page beside its code, so that they cannot disagree.
macro_rules! declare_check {
    (
        $name:ident = $family:literal / $slug:literal,
        title: $title:literal,
        severity: $severity:ident,
        since: $since:literal,
        subject: $subject:ident,
        reads: $reads:expr,
        run: $run:path $(,)?
    ) => {
        pub(crate) static $name: crate::checks::Check = crate::checks::Check {
            id: concat!($family, ".", $slug),
            title: $title,
            severity: crate::checks::Severity::$severity,
            since: $since,
            subject: crate::checks::Subject::$subject,
            reads: &$reads,
            page: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/src/checks/",
                $family,
                "/",
                $slug,
                ".md"
            )),
            run: $run,
        };
    };
}
pub(crate) use declare_check;
