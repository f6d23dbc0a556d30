//! Rules of the roles, each on a small node.
