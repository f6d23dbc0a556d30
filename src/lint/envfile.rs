//! Files of variables: shell scripts of `export NAME=VALUE` lines, and the files `docker run --env-file` takes.
//!
//! Both look alike, and are read differently: a shell takes quotes off and comments out, Docker takes every letter as it is.
//! A file with `export` can only be meant for a shell; any other is read as Docker reads it.

use std::collections::BTreeMap;

/// Who reads such a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A shell that sources it.
    Shell,
    /// `docker run --env-file`.
    Docker,
}

/// Something in a file of variables that its author may not have meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remark {
    /// Line, from 1.
    pub(crate) line: usize,
    /// The variable, where it is one of the libraries'.
    pub(crate) name: String,
    /// What the reader makes of it.
    pub(crate) what: &'static str,
}

/// A file of variables as its reader understands it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EnvFile {
    /// Who reads it.
    pub(crate) reader: Reader,
    /// The variables.
    pub(crate) variables: BTreeMap<String, String>,
    /// What is odd.
    pub(crate) remarks: Vec<Remark>,
}

/// Reads a file of variables.
pub(crate) fn parse_env_file(text: &str) -> EnvFile {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let exports = |line: &str| {
        let line = line.trim_start();
        line.starts_with("export ") || line.starts_with("unset ")
    };
    let mut file = EnvFile {
        reader: if text.lines().any(exports) {
            Reader::Shell
        } else {
            Reader::Docker
        },
        variables: BTreeMap::new(),
        remarks: Vec::new(),
    };
    for (index, line) in text.split('\n').enumerate() {
        match file.reader {
            Reader::Shell => file.shell_line(index + 1, line),
            Reader::Docker => file.docker_line(index + 1, line),
        }
    }
    file
}

impl EnvFile {
    fn remark(&mut self, line: usize, name: &str, what: &'static str) {
        if super::is_known_variable(name) {
            self.remarks.push(Remark {
                line,
                name: name.to_owned(),
                what,
            });
        }
    }

    fn shell_line(&mut self, number: usize, line: &str) {
        // `shlex` knows no `;`: outside quotes it is a blank to us, and a carriage return is a letter to a shell.
        let Some(words) = shlex::split(&semicolons_apart(line)) else {
            if let Some(name) = name_in(line) {
                self.remark(
                    number,
                    name,
                    "quotes that do not end on this line are not followed",
                );
            }
            return;
        };
        let mut unset = false;
        for word in words {
            match word.as_str() {
                "export" => continue,
                "unset" => {
                    unset = true;
                    continue;
                }
                ";" => {
                    unset = false;
                    continue;
                }
                _ => {}
            }
            if unset {
                self.variables.remove(&word);
                continue;
            }
            let Some((name, value)) = word.split_once('=') else {
                continue;
            };
            if value.contains(['$', '`']) {
                self.remark(
                    number,
                    name,
                    "the shell puts something in that is not known here",
                );
            }
            if value.ends_with('\r') {
                self.remark(
                    number,
                    name,
                    "the line ends with a carriage return, which a shell keeps in the value",
                );
            }
            self.variables.insert(name.to_owned(), value.to_owned());
        }
    }

    fn docker_line(&mut self, number: usize, line: &str) {
        let line = line.strip_suffix('\r').unwrap_or(line).trim_start();
        if line.starts_with('#') {
            return;
        }
        let Some((name, value)) = line.split_once('=') else {
            return;
        };
        if name.contains(char::is_whitespace) {
            self.remark(
                number,
                name.trim(),
                "a blank before `=`: docker refuses the file",
            );
        }
        if value.starts_with(['"', '\'']) {
            self.remark(
                number,
                name,
                "docker run --env-file keeps the quotes in the value (a shell or compose takes them off)",
            );
        } else if value.contains(" #") {
            self.remark(number, name, "docker keeps what follows # in the value");
        } else if value.trim_end() != value {
            self.remark(
                number,
                name,
                "docker keeps the blanks at the end of the value",
            );
        }
        self.variables
            .insert(name.trim().to_owned(), value.to_owned());
    }
}

/// The name a line defines, for a remark.
fn name_in(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("export ").unwrap_or(line);
    line.split_once('=').map(|(name, _)| name.trim())
}

/// Puts blanks around semicolons that are outside quotes.
fn semicolons_apart(line: &str) -> String {
    let mut quote = None;
    let mut escaped = false;
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (None, '"' | '\'') => quote = Some(c),
            (Some(q), c) if q == c => quote = None,
            (None, ';') => {
                out.push_str(" ; ");
                continue;
            }
            _ => {}
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Reader, parse_env_file};
    use proptest::prelude::*;

    fn value(text: &str, name: &str) -> Option<String> {
        parse_env_file(text).variables.get(name).cloned()
    }

    #[test]
    fn a_shell_takes_quotes_off_and_comments_out() {
        let text = "# settings\nexport NCCL_IB_HCA='=mlx5_0,mlx5_1' # both\nNCCL_DEBUG=INFO; export NCCL_NET=\"IB\"\nunset NCCL_DEBUG\n";
        let file = parse_env_file(text);
        assert_eq!(file.reader, Reader::Shell);
        assert_eq!(
            value(text, "NCCL_IB_HCA").as_deref(),
            Some("=mlx5_0,mlx5_1")
        );
        assert_eq!(value(text, "NCCL_NET").as_deref(), Some("IB"));
        assert_eq!(value(text, "NCCL_DEBUG"), None);
        assert!(file.remarks.is_empty());
    }

    #[test]
    fn docker_keeps_every_letter() {
        let text = "NCCL_IB_HCA=\"mlx5_0\"\r\n#NCCL_NET=IB\nNCCL_DEBUG=INFO # much\n";
        let file = parse_env_file(text);
        assert_eq!(file.reader, Reader::Docker);
        assert_eq!(value(text, "NCCL_IB_HCA").as_deref(), Some("\"mlx5_0\""));
        assert_eq!(value(text, "NCCL_DEBUG").as_deref(), Some("INFO # much"));
        assert_eq!(value(text, "NCCL_NET"), None);
        assert_eq!(file.remarks.len(), 2);
    }

    proptest! {
        #[test]
        fn nothing_panics(text in any::<String>()) {
            parse_env_file(&text);
        }
    }
}
