//! The self-check: the settings go through the NCCL model, which must do exactly what is intended.

use crate::model::{GidRow, Node, PortKey};
use crate::nccl::config::Settings;
use crate::nccl::predict::{Prediction, predict};
use crate::nccl::release::Release;

/// What NCCL is meant to do.
#[derive(Debug, Clone)]
pub(super) struct Intent {
    /// The data ports with the GID row of RoCE ones.
    pub(super) ports: Vec<(PortKey, Option<GidRow>)>,
    /// The interface of the out-of-band traffic.
    pub(super) interface: String,
}

/// Tells what a release would do otherwise than intended.
pub(super) fn verify(
    node: &Node,
    settings: &Settings,
    release: Release,
    intent: &Intent,
) -> Result<(), String> {
    if let Some(net) = settings.get("NCCL_NET").filter(|n| !n.is_empty())
        && net.eq_ignore_ascii_case("socket")
    {
        return Err(format!("NCCL_NET={net} makes it use sockets"));
    }
    compare(&predict(node, settings, release), intent)
}

fn compare(prediction: &Prediction, intent: &Intent) -> Result<(), String> {
    if let Some(crash) = prediction.crash {
        return Err(crash.text().to_owned());
    }
    match prediction.out_of_band() {
        // An alias (`eth0:1`) is an address of its interface with a label of its own.
        Some(interface) if interface.name.split(':').next() == Some(&intent.interface) => {}
        Some(interface) => {
            return Err(format!(
                "its interface would be {} instead of {}",
                interface.name, intent.interface
            ));
        }
        None => return Err("it would find no network interface".to_owned()),
    }
    if !prediction.topo_result.is_success() {
        return Err(format!(
            "its topology step fails: {}",
            prediction.topo_result
        ));
    }
    let mut wanted: Vec<&PortKey> = intent.ports.iter().map(|(key, _)| key).collect();
    let mut used: Vec<&PortKey> = prediction.devices.iter().map(|d| &d.key).collect();
    wanted.sort();
    used.sort();
    if wanted != used {
        let names = |keys: &[&PortKey]| {
            keys.iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        };
        return Err(format!(
            "it would use {} instead of {}",
            names(&used),
            names(&wanted)
        ));
    }
    for device in &prediction.devices {
        let row = intent
            .ports
            .iter()
            .find(|(key, _)| *key == device.key)
            .and_then(|(_, row)| row.as_ref());
        let Some(row) = row else { continue };
        let index = device.gid.index.and_then(|i| u32::try_from(i).ok());
        if !device.gid.result.is_success() {
            return Err(format!(
                "it could not choose a GID on {}: {}",
                device.key, device.gid.result
            ));
        }
        if index != Some(row.index) {
            let found = index.map_or_else(|| "none".to_owned(), |i| i.to_string());
            return Err(format!(
                "it would use GID index {found} on {} instead of {}",
                device.key, row.index
            ));
        }
        if !device.gid.guaranteed {
            return Err(format!(
                "its choice of a GID on {} rests on a value it never sets",
                device.key
            ));
        }
    }
    Ok(())
}
