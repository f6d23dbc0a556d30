//! What `log` found, for people and as JSON.

mod json;
mod text;

pub(crate) use json::{json, write_finding_json};
pub(crate) use text::{text, write_finding};

use crate::checks::Finding;
use crate::joblog::{LogFinding, Summary};

/// Everything that is printed.
pub(crate) struct Answer<'a> {
    /// What the job used.
    pub(crate) summary: &'a Summary,
    /// Causes.
    pub(crate) findings: &'a [LogFinding],
    /// What this node says to them.
    pub(crate) here: &'a [Finding],
    /// This node's name, where there is one at hand.
    pub(crate) host: Option<&'a str>,
}
