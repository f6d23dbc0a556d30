//! The README's and the transcripts' examples, run as they are printed.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the test starts itself anew where the environment is not clean"
)]

use std::process::Command;

/// Variables that change what a capture without an environment of its own answers.
const CHANGING: [&str; 8] = [
    "NCCL_",
    "RCCL_",
    "CUDA_",
    "NVIDIA_",
    "SLURM_",
    "OMPI_",
    "UCX_",
    "LOCAL_WORLD",
];

#[test]
fn transcripts() {
    let stale: Vec<String> = std::env::vars()
        .map(|(name, _)| name)
        .filter(|name| CHANGING.iter().any(|c| name.starts_with(c)))
        .collect();
    if !stale.is_empty() {
        let mut clean = Command::new(std::env::current_exe().unwrap());
        for name in &stale {
            clean.env_remove(name);
        }
        let status = clean.args(["--exact", "transcripts"]).status().unwrap();
        assert!(status.success(), "see above");
        return;
    }
    trycmd::TestCases::new()
        .env("NO_COLOR", "1")
        .env("LANG", "C")
        .case("README.md")
        .case("tests/cmd/*.md")
        .run();
}
