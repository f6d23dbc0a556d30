//! The program. Everything happens in the library.
fn main() {}
