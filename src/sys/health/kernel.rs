//! Modules, settings and memory of the kernel.

use crate::model::Node;
use crate::model::health::Kernel;
use crate::sys::Root;

/// Reads what the kernel says about itself.
pub(super) fn read(_root: &Root, _node: &Node) -> Kernel {
    Kernel::default()
}
