//! The checks of the family `pci`.

mod acs;
mod iommu;
mod link_degraded;

use super::net::keep_undecided;
use super::{Check, Collector, Facts};
use crate::model::{Gpu, PciFunction};

/// The family's checks, in the order in which they are reported.
pub(crate) const ALL: &[&Check] = &[&link_degraded::LINK_DEGRADED, &acs::ACS, &iommu::IOMMU];

/// The GPUs; what keeps them from being listed is kept.
fn gpus<'a>(seen: &mut Collector, facts: &Facts<'a>) -> &'a [Gpu] {
    match &facts.node.gpus {
        Ok(gpus) => gpus,
        Err(unread) => {
            if !unread.is_absent() {
                seen.unread(unread);
            }
            &[]
        }
    }
}

/// The PCI functions of the data ports' devices, once for each card.
fn data_nics<'a>(seen: &mut Collector, facts: &Facts<'a>) -> Vec<&'a PciFunction> {
    keep_undecided(seen, facts);
    for unread in facts
        .node
        .hcas()
        .iter()
        .filter_map(|h| h.pci.as_ref().err())
    {
        seen.unread(unread);
    }
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
