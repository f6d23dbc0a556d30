//! /proc/driver/nvidia/gpus/ADDRESS/information.

use crate::model::GpuInformation;

/// Parses `Model: \t\t NVIDIA H100 80GB HBM3` and its siblings; unknown lines are skipped.
pub(crate) fn parse_gpu_information(text: &str) -> GpuInformation {
    let mut information = GpuInformation::default();
    for (key, value) in text.lines().filter_map(|l| l.split_once(':')) {
        let value = value.trim();
        match key.trim() {
            "Model" if !value.is_empty() => information.model = Some(value.to_owned()),
            "GPU UUID" if !value.is_empty() => information.uuid = Some(value.to_owned()),
            _ => {}
        }
    }
    information
}
