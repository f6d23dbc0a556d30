//! Proofs over generated nodes and over the records of NCCL itself, through the real readers.
//!
//! A node is described once ([`shape::Shape`]) and laid out as the files of a machine, so that what is proved holds from the
//! first file read to the last byte printed.

mod draw;
mod layout;
mod make;
mod program;
mod shape;

mod oracle;
mod planning;
mod reading;
mod roles;

/// Generated nodes for each property; debug builds need some milliseconds for one.
const CASES: u32 = 96;

/// The same for properties that run the whole program several times a node.
const FEW_CASES: u32 = 32;

/// What a property runs with. `PROPTEST_CASES` counts in relation to its usual 256.
fn config(cases: u32) -> proptest::test_runner::Config {
    let usual = proptest::test_runner::Config::default();
    proptest::test_runner::Config {
        cases: (cases * usual.cases / 256).max(1),
        max_shrink_iters: 4096,
        failure_persistence: None,
        ..usual
    }
}
