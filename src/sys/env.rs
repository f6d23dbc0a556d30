//! The environment of this process, captured once.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// Variables of the process in order of their names. Text that is not UTF-8 shows the replacement character.
#[derive(Debug, Clone, Default)]
pub(crate) struct Env {
    vars: BTreeMap<String, String>,
}

impl Env {
    /// Takes the variables as the caller has them.
    pub(crate) fn new(vars: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self {
            vars: vars
                .into_iter()
                .map(|(k, v)| {
                    (
                        k.to_string_lossy().into_owned(),
                        v.to_string_lossy().into_owned(),
                    )
                })
                .collect(),
        }
    }

    /// A variable's value, empty ones included.
    pub(crate) fn var(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str)
    }

    /// All variables.
    pub(crate) fn vars(&self) -> &BTreeMap<String, String> {
        &self.vars
    }
}
