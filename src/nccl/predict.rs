//! What NCCL would do with a node and its settings.

use super::config::Settings;
use super::device::{self, Device, Devices, Link};
use super::gid::{self, GidChoice};
use super::interface::{self, Bootstrap, SocketInterface};
use super::merge::{self, Merged};
use super::number::cut;
use super::outcome::{Code, Crash};
use super::release::Release;
use crate::model::{Node, PortKey};

/// What a release does, as far as the node tells. With a crash everything up to it is filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prediction {
    /// How the process dies or hangs, when it does.
    pub(crate) crash: Option<Crash>,
    /// Result of starting the InfiniBand and RoCE transport.
    pub(crate) init: Code,
    /// Whether that transport is used; otherwise NCCL goes on with sockets, without a warning.
    pub(crate) ib_usable: bool,
    /// The ports it uses, in its order.
    pub(crate) devices: Vec<PredictedDevice>,
    /// Ports that pass every filter and find no room.
    pub(crate) beyond_limit: Vec<PortKey>,
    /// Whether the order of the devices, and what is beyond the limit, is certain.
    pub(crate) order_is_certain: bool,
    /// Devices used as one.
    pub(crate) merged: Vec<Merged>,
    /// Result of the topology step that joins them; anything but success and NCCL cannot start.
    pub(crate) topo_result: Code,
    /// The interface of the bootstrap network; without one NCCL cannot start.
    pub(crate) bootstrap: Bootstrap,
    /// Interfaces of the socket transport. The first is the one RDMA connections are set up over.
    pub(crate) interfaces: Vec<SocketInterface>,
}

/// A port NCCL uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PredictedDevice {
    /// The device and the port.
    pub(crate) key: PortKey,
    /// Its link layer.
    pub(crate) link: Link,
    /// Speed in Mbit/s as NCCL computes it.
    pub(crate) speed_mbps: u64,
    /// The GID it uses.
    pub(crate) gid: GidChoice,
    /// Number of earlier devices on the same card.
    pub(crate) real_port: u32,
}

impl Prediction {
    /// True where NCCL starts, and RDMA is what it uses.
    pub(crate) fn uses_rdma(&self) -> bool {
        self.crash.is_none()
            && self.ib_usable
            && self.topo_result.is_success()
            && self.bootstrap.interface().is_some()
    }

    /// The interface RDMA connections are set up over.
    pub(crate) fn out_of_band(&self) -> Option<&SocketInterface> {
        self.interfaces.first()
    }
}

/// Returns what a release does with a node and its settings.
pub(crate) fn predict(node: &Node, settings: &Settings, release: Release) -> Prediction {
    let mut prediction = Prediction {
        crash: None,
        init: Code::Success,
        ib_usable: false,
        devices: Vec::new(),
        beyond_limit: Vec::new(),
        order_is_certain: true,
        merged: Vec::new(),
        topo_result: Code::Success,
        bootstrap: interface::bootstrap(node, settings, release),
        interfaces: interface::search(node, settings, release),
    };
    let disabled = cut(settings.integer("NCCL_IB_DISABLE", 0)) != 0;
    if disabled || prediction.interfaces.is_empty() {
        prediction.init = Code::InternalError;
        return prediction;
    }
    if let Err(crash) = with_devices(&mut prediction, node, settings, release) {
        prediction.crash = Some(crash);
    }
    prediction
}

fn with_devices(
    prediction: &mut Prediction,
    node: &Node,
    settings: &Settings,
    release: Release,
) -> Result<(), Crash> {
    let Devices {
        list,
        beyond_limit,
        order_is_certain,
    } = device::enumerate(node, settings, release)?;
    prediction.ib_usable = !list.is_empty();
    prediction.beyond_limit = beyond_limit;
    prediction.order_is_certain = order_is_certain;
    let merging = merge::merge(&list, node, settings, release)?;
    prediction.merged = merging.merged;
    prediction.topo_result = merging.result;
    for device in &list {
        let gid = gid::choose(device.port, settings, release)?;
        prediction.devices.push(predicted(device, gid));
    }
    Ok(())
}

fn predicted(device: &Device<'_>, gid: GidChoice) -> PredictedDevice {
    PredictedDevice {
        key: PortKey {
            hca: device.hca.name.clone(),
            port: device.port.number,
        },
        link: device.link,
        speed_mbps: device.speed_mbps(),
        gid,
        real_port: device.real_port,
    }
}

#[cfg(test)]
#[path = "predict_tests.rs"]
mod tests;
