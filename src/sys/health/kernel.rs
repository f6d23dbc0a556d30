//! Modules, settings and memory of the kernel.

use crate::model::Node;
use crate::model::health::Kernel;
use crate::sys::Root;

/// Reads what the kernel says about itself.
pub(super) fn read(root: &Root, node: &Node) -> Kernel {
    let mut kernel = Kernel::default();
    super::modules::fill(root, node, &mut kernel);
    kernel
}
