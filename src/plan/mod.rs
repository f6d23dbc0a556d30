//! Node, roles and NCCL's rules into the variables to set, each with its reason; proved against the NCCL model before
//! anything is printed.

mod build;
mod error;
mod libraries;
mod verify;

pub(crate) use build::{Policy, Profile, Request, build, sockets};
pub(crate) use error::PlanError;
pub(crate) use libraries::{Library, extend};

use crate::model::PortKey;
use crate::nccl::release::Release;

/// What is to be done with a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// Give it this value.
    Set(String),
    /// Take it out of the environment.
    Unset,
    /// Set it to nothing, because a configuration file sets it and an empty variable keeps the file's value out.
    Blank,
}

/// A variable of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variable {
    /// Its name.
    pub(crate) name: String,
    /// What is to be done.
    pub(crate) action: Action,
    /// Why.
    pub(crate) why: String,
}

impl Variable {
    fn set(name: &str, value: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            action: Action::Set(value.into()),
            why: why.into(),
        }
    }

    /// The value it has afterwards; `None` where it is unset.
    pub(crate) fn value(&self) -> Option<&str> {
        match &self.action {
            Action::Set(value) => Some(value),
            Action::Blank => Some(""),
            Action::Unset => None,
        }
    }
}

/// The variables, and what there is to say about them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    /// In the order in which they are printed.
    pub(crate) variables: Vec<Variable>,
    /// The data ports, in order.
    pub(crate) data: Vec<PortKey>,
    /// The way the GID is chosen; `None` on `InfiniBand`.
    pub(crate) policy: Option<Policy>,
    /// The releases the block was proved for, oldest first.
    pub(crate) releases: Vec<Release>,
    /// Worth a warning on standard error.
    pub(crate) warnings: Vec<String>,
    /// Worth a note on standard error.
    pub(crate) notes: Vec<String>,
}

impl Plan {
    /// The value a variable has with the plan.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.variables.iter().find(|v| v.name == name)?.value()
    }
}
