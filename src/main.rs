//! The program: hands the world to the library and returns its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    rdmactl::run(rdmactl::World::real())
}
