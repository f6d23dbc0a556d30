//! The checks of the family `pci`.

mod acs;
mod iommu;
mod link_degraded;

use super::{Check, Facts};
use crate::model::PciFunction;

/// The family's checks, in the order in which they are reported.
pub(crate) const ALL: &[&Check] = &[&link_degraded::LINK_DEGRADED, &acs::ACS, &iommu::IOMMU];

/// The PCI functions of the data ports' devices, once for each card.
fn data_nics<'a>(facts: &Facts<'a>) -> Vec<&'a PciFunction> {
    let mut found: Vec<&PciFunction> = Vec::new();
    let functions = facts
        .decision
        .data()
        .filter_map(|port| facts.node.port(&port.key)?.0.pci());
    for function in functions {
        if !found.iter().any(|f| f.address.same_slot(function.address)) {
            found.push(function);
        }
    }
    found
}
