//! `env.config-syntax`: a configuration file says something else than its author meant.

use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged, is_adoptable, is_known_variable};
use crate::nccl::config::{ConfigFile, parse_file};
use crate::nccl::release::Feature;

const CONF_FILE: &str = "NCCL_CONF_FILE";

declare_check! {
    CONFIG_SYNTAX = "env" / "config-syntax",
    title: "a configuration file says something else than its author meant",
    severity: Warning,
    since: "0.1.0",
    subject: Variable,
    reads: ["NCCL_*", "etc/nccl.conf"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    super::judge(facts, find)
}

fn find(a: &Analysis, j: &Judged) -> Vec<Finding> {
    let mut found: Vec<Finding> = a
        .sources
        .remarks
        .iter()
        .map(|r| {
            Finding::new(
                Severity::Warning,
                &r.name,
                format!("line {} of {}: {}", r.line, a.sources.whose, r.what),
            )
            .evidence(a.sources.whose.clone(), format!("line {}", r.line))
            .fix("write NAME=VALUE and nothing else")
        })
        .collect();
    for file in a.sources.files_of(j.release) {
        found.extend(in_file(j, &file));
    }
    found.extend(named_file(a, j));
    found
}

/// What NCCL's own reader makes of lines that look like a shell's.
fn in_file(j: &Judged, file: &ConfigFile) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for line in parse_file(&file.text, j.release) {
        let meant = line.key.trim().trim_start_matches("export ").trim();
        if meant.starts_with('#') || !is_known_variable(meant) {
            continue;
        }
        let value = line.value.as_str();
        let (severity, what) = if line.key.starts_with("export ") {
            (
                Severity::Warning,
                format!(
                    "defines a variable called `{}`; there is no `export` here",
                    line.key
                ),
            )
        } else if line.key != meant {
            (
                Severity::Warning,
                format!("the blank beside `=` is part of the name {:?}", line.key),
            )
        } else if value.ends_with('\r') {
            (
                Severity::Warning,
                "the carriage return at its end is part of the value before NCCL 2.30.3".to_owned(),
            )
        } else if value.starts_with(['"', '\'']) {
            (
                Severity::Warning,
                format!("quotes are part of the value {value}"),
            )
        } else if value.contains(" #") {
            (
                Severity::Warning,
                format!("what follows # is part of the value {value:?}"),
            )
        } else if value.trim() != value {
            (
                Severity::Warning,
                format!("blanks are part of the value {value:?}"),
            )
        } else if value.contains('$') {
            (
                Severity::Warning,
                format!("nothing is put in for the $ of {value:?}"),
            )
        } else if !seen.insert(meant.to_owned()) {
            (
                Severity::Note,
                "stands twice, and the first definition counts".to_owned(),
            )
        } else {
            continue;
        };
        let fix = value.trim().trim_matches(['"', '\'']);
        let fix = fix.split(" #").next().unwrap_or(fix).trim();
        let finding = Finding::new(
            severity,
            meant,
            format!("line {} of {}: {what}", line.number, file.path),
        )
        .file(&file.path, format!("{}={value}", line.key));
        found.push(if severity == Severity::Note {
            finding.fix("take one of the lines out")
        } else {
            finding.fix(format!("write the line as {meant}={fix}"))
        });
    }
    found
}

/// The file that a variable names.
fn named_file(a: &Analysis, j: &Judged) -> Option<Finding> {
    let path = a
        .sources
        .environment
        .get(CONF_FILE)
        .filter(|p| !p.is_empty())?;
    debug_assert!(is_adoptable(CONF_FILE));
    let message = if !j.release.has(Feature::ConfFileVariable) {
        format!(
            "NCCL {} does not read it; it reads .nccl.conf in the home directory",
            j.release
        )
    } else if a.sources.files.contains_key(path) || a.sources.conf.is_some() {
        return None;
    } else if path.starts_with('~') {
        "`~` is not expanded in it, and no file is read".to_owned()
    } else {
        format!("{path} cannot be read, and .nccl.conf in the home directory is not read either")
    };
    let finding = Finding::new(Severity::Warning, CONF_FILE, message);
    Some(Analysis::removed(
        Analysis::shown(finding, j, CONF_FILE),
        j,
        CONF_FILE,
    ))
}
