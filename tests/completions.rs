//! The committed completions and the manual page are what the program prints, and the shells can load them.
#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests run programs and read their output"
)]

mod common;

use common::{Run, bare, compare, none, package, program};

#[test]
fn completions_and_manual_are_as_committed() {
    let files = [
        ("completions/rdmactl.bash", &["completions", "bash"][..]),
        ("completions/_rdmactl", &["completions", "zsh"]),
        ("completions/rdmactl.fish", &["completions", "fish"]),
        ("completions/rdmactl.1", &["man"]),
    ];
    let differences: Vec<String> = files
        .iter()
        .filter_map(|(file, args)| {
            let run = Run::of(&program().args(*args).output().unwrap()).sane(file);
            compare(&package().join(file), &run.out)
        })
        .collect();
    none(&differences);
}

#[test]
fn shells_load_them() {
    for (shell, script) in [
        (
            "bash",
            "source completions/rdmactl.bash && complete -p rdmactl",
        ),
        (
            "zsh",
            "fpath=(completions $fpath); autoload -U compinit && compinit -u -D && whence -w _rdmactl",
        ),
        (
            "fish",
            "source completions/rdmactl.fish; complete -C 'rdmactl che' | string match -q 'check*'",
        ),
    ] {
        match bare(shell).args(["-c", script]).output() {
            Ok(output) => assert!(
                output.status.success(),
                "{shell}: {}",
                String::from_utf8_lossy(&output.stderr)
            ),
            Err(_) => eprintln!("skipped: {shell} is not installed"),
        }
    }
}
