//! The catalogue's own tests.
