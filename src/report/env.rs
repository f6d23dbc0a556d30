//! A plan as text in each format. Standard output carries assignments and nothing else.

use std::fmt::Write as _;
use std::io::Write;

use serde::Serialize;

use super::json;
use crate::model::Node;
use crate::plan::{Action, Plan, Variable};

/// `--format` of `env`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum EnvFormat {
    /// `export NAME=VALUE;` lines for `eval "$(rdmactl env)"` in any POSIX shell
    #[default]
    Sh,
    /// `set -gx NAME VALUE;` lines for `rdmactl env --format fish | source`
    Fish,
    /// NAME=VALUE lines for `docker --env-file`
    Dotenv,
    /// Lines of an nccl.conf file
    NcclConf,
    /// A container's `env:` list
    K8s,
    /// JSON
    Json,
    /// `export NAME=VALUE` lines, as a Slurm TaskProlog prints them
    Slurm,
    /// `-x NAME=VALUE` options of Open MPI's mpirun
    Mpirun,
}

impl EnvFormat {
    /// What is printed when there is no answer: a command that fails where a shell evaluates the output.
    pub(crate) fn refusal(self) -> &'static str {
        match self {
            Self::Sh | Self::Fish => "false;\n",
            _ => "",
        }
    }
}

/// A variable that a format has no way to take out of the environment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CannotUnset(pub(crate) String);

/// Writes the plan; returns the variables that the format cannot unset.
pub(crate) fn write(
    plan: &Plan,
    format: EnvFormat,
    node: &Node,
    out: &mut dyn Write,
) -> std::io::Result<Vec<CannotUnset>> {
    if format == EnvFormat::Json {
        json(plan, node, out)?;
        return Ok(Vec::new());
    }
    let mut text = String::new();
    let mut cannot = Vec::new();
    for variable in &plan.variables {
        if !line(variable, format, &mut text) {
            cannot.push(CannotUnset(variable.name.clone()));
        }
    }
    if format == EnvFormat::Mpirun {
        text = format!("{}\n", text.trim_end());
    }
    out.write_all(text.as_bytes())?;
    Ok(cannot)
}

/// Adds a variable's line. False: the format cannot take it out of the environment.
fn line(variable: &Variable, format: EnvFormat, text: &mut String) -> bool {
    let name = &variable.name;
    let value = match &variable.action {
        Action::Set(value) => value.as_str(),
        Action::Blank => "",
        Action::Unset => {
            match format {
                EnvFormat::Sh => _ = writeln!(text, "unset {name};"),
                EnvFormat::Fish => _ = writeln!(text, "set -e {name};"),
                EnvFormat::Slurm => _ = writeln!(text, "unset {name}"),
                _ => return false,
            }
            return true;
        }
    };
    _ = match format {
        EnvFormat::Sh => writeln!(text, "export {name}={};", quoted(value)),
        EnvFormat::Fish => writeln!(text, "set -gx {name} {};", fish_quoted(value)),
        EnvFormat::Dotenv | EnvFormat::NcclConf => writeln!(text, "{name}={value}"),
        EnvFormat::Slurm => writeln!(text, "export {name}={value}"),
        EnvFormat::K8s => {
            // JSON strings are YAML strings, whatever they hold.
            let value = serde_json::Value::from(value);
            writeln!(text, "- name: {name}\n  value: {value}")
        }
        EnvFormat::Mpirun => write!(text, "-x {} ", quoted(&format!("{name}={value}"))),
        EnvFormat::Json => Ok(()),
    };
    true
}

/// Quotes a value for every POSIX shell, and for zsh, which takes an unquoted `=word` for a command's name.
pub(crate) fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._:/,@+-".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    // `shlex` refuses NUL only, which no variable can hold.
    let quoted = shlex::try_quote(value).map(std::borrow::Cow::into_owned);
    match quoted {
        Ok(text) if text.starts_with(['\'', '"']) => text,
        Ok(text) => format!("'{text}'"),
        Err(_) => "''".to_owned(),
    }
}

/// Quotes for fish, where a single-quoted string knows `\\` and `\'` only.
fn fish_quoted(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[derive(Debug, Serialize)]
struct Body<'a> {
    /// Name to value; null where the variable must not be set.
    env: serde_json::Map<String, serde_json::Value>,
    reasons: Vec<ReasonJson<'a>>,
    data_ports: Vec<String>,
    gid_policy: Option<&'static str>,
    nccl: Vec<String>,
    warnings: &'a [String],
    notes: &'a [String],
}

#[derive(Debug, Serialize)]
struct ReasonJson<'a> {
    name: &'a str,
    action: &'static str,
    why: &'a str,
}

fn json(plan: &Plan, node: &Node, out: &mut dyn Write) -> std::io::Result<()> {
    let body = Body {
        env: plan
            .variables
            .iter()
            .map(|v| (v.name.clone(), v.value().into()))
            .collect(),
        reasons: plan
            .variables
            .iter()
            .map(|v| ReasonJson {
                name: &v.name,
                action: match v.action {
                    Action::Set(_) => "set",
                    Action::Unset => "unset",
                    Action::Blank => "blank",
                },
                why: &v.why,
            })
            .collect(),
        data_ports: plan.data.iter().map(ToString::to_string).collect(),
        gid_policy: plan.policy.map(crate::plan::Policy::word),
        nccl: plan.releases.iter().map(ToString::to_string).collect(),
        warnings: &plan.warnings,
        notes: &plan.notes,
    };
    json::write(node, body, out)
}

#[cfg(test)]
mod tests {
    use super::{fish_quoted, quoted};

    #[test]
    fn values_are_quoted_when_a_shell_would_read_them() {
        assert_eq!(quoted("0"), "0");
        assert_eq!(quoted("eth0.100"), "eth0.100");
        assert_eq!(quoted(""), "''");
        for value in [
            "=mlx5_1,mlx5_2",
            "a b",
            "$(reboot)",
            "`x`",
            "a;b",
            "it's",
            "~",
            "^x",
            "a\nb",
            "*",
        ] {
            let text = quoted(value);
            assert_eq!(shlex::split(&text).unwrap(), [value], "{text}");
            assert!(text.starts_with(['\'', '"']), "{text}");
        }
        assert_eq!(fish_quoted("it's \\"), "'it\\'s \\\\'");
    }
}
