//! Facts into findings: pure. One check a file, one family a folder; `ALL` is where a reader looks.

mod catalogue;
mod declare;
mod expect;
mod run;
mod thresholds;

pub(crate) mod driver;
pub(crate) mod env;
pub(crate) mod gdr;
pub(crate) mod gid;
pub(crate) mod gpu;
pub(crate) mod hca;
pub(crate) mod lib;
pub(crate) mod limits;
pub(crate) mod net;
pub(crate) mod pci;
pub(crate) mod port;
pub(crate) mod sys;

#[cfg(test)]
pub(crate) use catalogue::ALIASES;
pub(crate) use catalogue::{REMOVED, all, find, nearest_id, selected};
pub(crate) use declare::{
    Check, Collector, Facts, Finding, Severity, Subject, Verdict, declare_check,
};
pub(crate) use expect::{Expectations, Requirement, Version};
pub(crate) use run::{Outcome, Report, Summary, run};
pub(crate) use thresholds::{THRESHOLDS, Thresholds};

#[cfg(test)]
mod tests;
