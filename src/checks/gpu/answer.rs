//! What `nvidia-smi` answered, for the checks that need its rows.

use crate::checks::{Facts, Verdict};
use crate::model::health::{Answer, NvidiaSmi};
use crate::model::{Gpu, GpuVendor, Unread, Why};

/// The answer's rows and where they come from, or the verdict of a check that cannot do without them.
pub(in crate::checks) fn rows<'a>(facts: &Facts<'a>) -> Result<(&'a NvidiaSmi, &'a str), Verdict> {
    const ETIMEDOUT: i32 = 110;
    let unknown =
        |path: &str, why| Verdict::Unknown(vec![Unread::new(path.trim_start_matches('/'), why)]);
    match &facts.health.vendor.smi {
        Answer::Given { value, path } if !value.gpus.is_empty() => Ok((value, path)),
        _ if matches!(&facts.node.gpus, Ok(g) if !g.iter().any(is_nvidia)) => {
            Err(Verdict::NotApplicable("no NVIDIA GPU on PCI"))
        }
        Answer::Given { value, path } => {
            let line = value.failure.as_ref().map(|(_, line)| line);
            let line = line.or_else(|| value.no_handle.first().map(|n| &n.line));
            let text = line.map_or("", String::as_str);
            Err(unknown(path, Unread::malformed("", text).why))
        }
        Answer::Broken {
            path, hung: true, ..
        } => Err(unknown(path, Why::Errno(ETIMEDOUT))),
        Answer::Broken { path, what, .. } => Err(unknown(path, Unread::malformed("", what).why)),
        Answer::Absent(_) => Err(Verdict::NotApplicable("nvidia-smi was not run")),
    }
}

/// True for NVIDIA's GPUs.
pub(in crate::checks) fn is_nvidia(gpu: &Gpu) -> bool {
    gpu.vendor == GpuVendor::Nvidia
}

/// NVIDIA's GPUs that this system drives itself: those given to virtual machines are left out.
pub(in crate::checks) fn driven_gpus<'a>(facts: &Facts<'a>) -> Vec<&'a Gpu> {
    let drivers = &facts.health.kernel.gpu_drivers;
    facts
        .node
        .gpus()
        .iter()
        .filter(|g| is_nvidia(g))
        .filter(|g| !matches!(drivers.get(&g.pci.address), Some(Some(d)) if d.starts_with("vfio")))
        .collect()
}

/// Names as a list of at most eight.
pub(in crate::checks) fn listed(names: &[String]) -> String {
    const MOST: usize = 8;
    let shown = names.get(..MOST.min(names.len())).unwrap_or_default();
    let rest = names.len() - shown.len();
    if rest == 0 {
        shown.join(", ")
    } else {
        format!("{} and {rest} more", shown.join(", "))
    }
}
