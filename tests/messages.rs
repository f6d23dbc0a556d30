//! The wording of what is said on standard error, over everything that the tests have committed and some that they have not.
#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests read committed output"
)]

mod common;

use common::{names_in, none, on_node, package, read};

const KINDS: [&str; 4] = ["error: ", "warning: ", "note: ", "  hint: "];

/// Looks at one line; returns what is wrong with it.
fn wrong(line: &str) -> Option<String> {
    let text = KINDS.iter().find_map(|kind| line.strip_prefix(kind))?;
    let first = text.chars().next().unwrap_or('.');
    // Names keep their own spelling: of variables, options, files, and of what everybody writes in capitals.
    let word: String = text
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || "_-/".contains(*c))
        .collect();
    let is_name = word.chars().filter(char::is_ascii_uppercase).count() > 1
        || word.contains(['_', '/'])
        || word == "Mooncake";
    let what = if first.is_uppercase() && !is_name {
        "starts with a capital letter"
    } else if text.ends_with('.') && !text.ends_with("...") {
        "ends with a full stop"
    } else if text.contains('!') {
        "has an exclamation mark"
    } else if text.trim() != text || text.contains("  ") {
        "has blanks too many"
    } else if [
        "unable to",
        "Unable to",
        "please try",
        "successfully",
        "Oops",
    ]
    .iter()
    .any(|w| text.contains(w))
    {
        "says it in words that say nothing"
    } else {
        return None;
    };
    Some(format!("{line:?} {what}"))
}

#[test]
fn committed_output_keeps_the_convention() {
    let dir = package().join("tests/expected/nodes");
    let mut found = Vec::new();
    for node in names_in(&dir) {
        for file in names_in(&dir.join(&node)) {
            let text = read(&dir.join(&node).join(&file));
            let (_, err) = text.split_once("--- stderr\n").unwrap();
            found.extend(
                err.lines()
                    .filter_map(|l| Some(format!("{node}/{file}: {}", wrong(l)?))),
            );
            let other: Vec<&str> = err
                .lines()
                .filter(|l| !KINDS.iter().any(|k| l.starts_with(k)))
                .collect();
            assert!(other.is_empty(), "{node}/{file}: {other:?}");
        }
    }
    none(&found);
}

/// What is said only on request, or in other words than on any node of the fixtures.
#[test]
fn what_is_said_on_request_keeps_it_too() {
    let mut found = Vec::new();
    for (node, args) in [
        ("a100-8gpu-roce", &["env", "-v"][..]),
        ("a100-8gpu-roce", &["env", "--hca", "mlx5_99"]),
        ("a100-8gpu-roce", &["env", "--exclude", "mlx5_99"]),
        ("a100-8gpu-roce", &["env", "--main", "eth99"]),
        ("a100-8gpu-roce", &["env", "--gpus", "99"]),
        ("a100-8gpu-roce", &["env", "--no-such-option"]),
        ("a100-8gpu-roce", &["exec", "--", "/no/such/program"]),
        ("a100-8gpu-roce", &["gids", "mlx5_99"]),
        ("grace-4gpu", &["env", "-v"]),
        ("dual-port-hca", &["env", "-v"]),
        ("cloud-efa-only", &["env", "-v", "--fallback", "tcp"]),
        (
            "indexes-differ",
            &["env", "-v", "--for", "ucx,nvshmem,mscclpp,mooncake"],
        ),
        ("indexes-differ", &["env", "--nccl-version", "2.18.1"]),
        ("indexes-differ-unsolvable", &["env", "-v"]),
        ("pod-sriov-vf", &["env", "-v"]),
        ("no-such-node", &["env"]),
    ] {
        let run = on_node(node, args);
        assert!(!run.err.is_empty(), "{node} {args:?} says nothing");
        found.extend(
            run.err
                .lines()
                .filter_map(|l| Some(format!("{node} {args:?}: {}", wrong(l)?))),
        );
    }
    none(&found);
}

#[test]
fn the_convention_is_what_it_says() {
    assert_eq!(wrong("error: no RDMA device on this node"), None);
    assert_eq!(wrong("warning: NCCL_IB_HCA was set"), None);
    for bad in [
        "error: No device",
        "error: no device.",
        "note: no device!",
        "error:  no device",
        "  hint: Try again",
    ] {
        assert!(wrong(bad).is_some(), "{bad}");
    }
}
