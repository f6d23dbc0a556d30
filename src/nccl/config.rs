//! Where settings come from: the environment, then the configuration files, the first definition winning.
//!
//! NCCL puts what its files define into the environment of its own process, without overwriting (`src/misc/param.cc`). So an
//! empty variable in the environment blocks the file, and of two lines the first counts. This file reads nothing: a caller asks
//! `candidates` for the paths, reads what exists and hands the texts to `Settings::resolve`.

use std::collections::BTreeMap;
use std::fmt;

use super::number;
use super::release::{Feature, Release};

/// The file every release reads last.
const SYSTEM_FILE: &str = "/etc/nccl.conf";

/// Bytes that are kept of a path, a key and a value.
const BUFFER_BYTES: usize = 1023;

/// Bytes of a line that are read at once, where lines are read in pieces.
const LINE_BYTES: usize = 4095;

/// Returns the configuration files a release reads, first winner first. None of them need exist.
///
/// `passwd_home` is the home directory of the process's user in the password file. `NCCL_CONF_FILE` is taken as it is: a `~`
/// in it is not expanded, and a relative path is relative to the job's working directory.
pub(crate) fn candidates(
    environment: &BTreeMap<String, String>,
    passwd_home: Option<&str>,
    release: Release,
) -> Vec<String> {
    let named = environment
        .get("NCCL_CONF_FILE")
        .filter(|path| !path.is_empty() && release.has(Feature::ConfFileVariable));
    let home = if release.has(Feature::HomeVariable) {
        environment.get("HOME").map(String::as_str)
    } else {
        passwd_home
    };
    let own = named
        .cloned()
        .or_else(|| home.map(|home| format!("{home}/.nccl.conf")));
    own.map(|path| cut(&path, BUFFER_BYTES))
        .into_iter()
        .chain([SYSTEM_FILE.to_owned()])
        .collect()
}

/// A configuration file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigFile {
    /// Its path, as `candidates` gave it.
    pub(crate) path: String,
    /// What it holds.
    pub(crate) text: String,
}

/// Where a definition stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The process's environment.
    Environment,
    /// A line of a configuration file, from 1.
    File {
        /// The file.
        path: String,
        /// The line.
        line: usize,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment => f.write_str("environment"),
            Self::File { path, line } => write!(f, "{path}:{line}"),
        }
    }
}

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Definition {
    /// The value, exactly as NCCL gets it.
    pub(crate) value: String,
    /// Where it stands.
    pub(crate) origin: Origin,
}

/// A variable's effective value, and the definitions it keeps from having effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The one that counts.
    pub(crate) effective: Definition,
    /// The others, in the order in which NCCL meets them.
    pub(crate) shadowed: Vec<Definition>,
}

/// The effective value of every variable that is defined somewhere.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Settings {
    variables: BTreeMap<String, Setting>,
}

impl Settings {
    /// Puts an environment and the configuration files together, the files in the order of `candidates`.
    pub(crate) fn resolve(
        environment: &BTreeMap<String, String>,
        files: &[ConfigFile],
        release: Release,
    ) -> Self {
        let mut settings = Self::default();
        for (name, value) in environment {
            settings.define(name, value, Origin::Environment);
        }
        for file in files {
            for line in parse_file(&file.text, release) {
                let origin = Origin::File {
                    path: file.path.clone(),
                    line: line.number,
                };
                settings.define(&line.key, &line.value, origin);
            }
        }
        settings
    }

    /// Settings of an environment alone.
    pub(crate) fn from_environment<'a>(
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let mut settings = Self::default();
        for (name, value) in variables {
            settings.define(name, value, Origin::Environment);
        }
        settings
    }

    fn define(&mut self, name: &str, value: &str, origin: Origin) {
        let definition = Definition {
            value: value.into(),
            origin,
        };
        match self.variables.get_mut(name) {
            Some(setting) => setting.shadowed.push(definition),
            None => {
                self.variables.insert(
                    name.into(),
                    Setting {
                        effective: definition,
                        shadowed: Vec::new(),
                    },
                );
            }
        }
    }

    /// Sets a variable in the environment: it wins, and everything else is shadowed.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.unset(name);
        let shadowed = self
            .variables
            .remove(name)
            .map_or_else(Vec::new, |s| [vec![s.effective], s.shadowed].concat());
        let effective = Definition {
            value: value.into(),
            origin: Origin::Environment,
        };
        self.variables.insert(
            name.into(),
            Setting {
                effective,
                shadowed,
            },
        );
    }

    /// Takes a variable out of the environment: what a file says, if any does, comes into effect.
    pub(crate) fn unset(&mut self, name: &str) {
        let Some(setting) = self.variables.remove(name) else {
            return;
        };
        let mut rest = std::iter::once(setting.effective)
            .chain(setting.shadowed)
            .filter(|d| d.origin != Origin::Environment);
        if let Some(effective) = rest.next() {
            let shadowed = rest.collect();
            self.variables.insert(
                name.into(),
                Setting {
                    effective,
                    shadowed,
                },
            );
        }
    }

    /// The effective value of a variable; it may be empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.setting(name).map(|s| s.effective.value.as_str())
    }

    /// A variable with everything that defines it.
    pub(crate) fn setting(&self, name: &str) -> Option<&Setting> {
        self.variables.get(name)
    }

    /// The value of an integer variable.
    pub(crate) fn integer(&self, name: &str, default: i64) -> i64 {
        number::param(self.get(name), default)
    }

    /// Every variable, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Setting)> {
        self.variables.iter().map(|(name, s)| (name.as_str(), s))
    }
}

/// A definition in a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// Its line, from 1.
    pub(crate) number: usize,
    /// Everything before the first `=`, blanks included.
    pub(crate) key: String,
    /// Everything after it.
    pub(crate) value: String,
}

/// Reads a configuration file: `KEY=VALUE` lines, nothing trimmed, no quotes, no `export`. Other lines mean nothing.
pub(crate) fn parse_file(text: &str, release: Release) -> Vec<Line> {
    let mut lines = Vec::new();
    for (index, whole) in text.split('\n').enumerate() {
        for piece in pieces(whole, release) {
            if release.has(Feature::CommentLines) && piece.starts_with('#') {
                continue;
            }
            let piece = if release.has(Feature::CarriageReturns) {
                piece.strip_suffix('\r').unwrap_or(piece)
            } else {
                piece
            };
            // The text is a C string to NCCL.
            let piece = piece.split('\0').next().unwrap_or_default();
            // `setenv` refuses a name without a letter.
            let Some((key, value)) = piece.split_once('=').filter(|(key, _)| !key.is_empty())
            else {
                continue;
            };
            lines.push(Line {
                number: index + 1,
                key: cut(key, BUFFER_BYTES),
                value: cut(value, BUFFER_BYTES),
            });
        }
    }
    lines
}

/// The pieces in which a release reads a line: one, or one per buffer.
fn pieces(line: &str, release: Release) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = line;
    while release.has(Feature::LinePieces) && rest.len() > LINE_BYTES {
        let (piece, tail) = rest.split_at(boundary(rest, LINE_BYTES));
        pieces.push(piece);
        rest = tail;
    }
    pieces.push(rest);
    pieces
}

/// Cuts a text to a number of bytes, not splitting a character.
fn cut(text: &str, bytes: usize) -> String {
    text[..boundary(text, bytes)].to_owned()
}

/// The last character boundary at or before a number of bytes.
fn boundary(text: &str, bytes: usize) -> usize {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
