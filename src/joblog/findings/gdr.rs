//! GPUDirect RDMA: which devices are without, and how many channels.

use super::LogFinding;
use crate::checks::Severity;
use crate::joblog::state::Job;
use crate::joblog::tally::HostId;
use crate::nccl::release::Release;

pub(super) fn find(job: &Job, found: &mut Vec<LogFinding>) {
    let off: Vec<HostId> = hosts(job, |h| !h.gdr_off.is_empty());
    let far: Vec<HostId> = hosts(job, |h| !h.gdr_too_far.is_empty());
    let staged: Vec<HostId> = hosts(job, |h| h.channels > h.gdr_channels);
    let (channels, with) = job.hosts.iter().fold((0, 0), |(all, with), h| {
        (all + h.channels, with + h.gdr_channels)
    });
    let share = if channels > 0 {
        format!("; {with} of {channels} channels between nodes use it")
    } else {
        String::new()
    };
    if !off.is_empty() {
        let mut finding = LogFinding::new(
            "log.gdr-off",
            Severity::Warning,
            format!("GPUDirect RDMA is off on network devices{share}"),
        )
        .on(job, &off)
        .why(
            "NCCL saw neither a peer memory module nor DMA-BUF; releases before 2.23.4 do not look for nvidia_peermem \
             below /sys/module and so miss it on the distribution's RDMA stack; data then goes through the host's memory",
        )
        .check(if is_old(job) {
            "gdr.peermem-unseen"
        } else {
            "gdr.unavailable"
        })
        .fix(
            "load nvidia_peermem, or use the open kernel modules, a kernel from 5.12 on and rdma-core with DMA-BUF; where it is \
             loaded already, use NCCL 2.23.4 or newer (`rdmactl check --only gdr`)",
        )
        .command("modprobe nvidia_peermem");
        for host in off.iter().filter_map(|h| job.hosts.get(*h)) {
            for name in host.gdr_off.iter().map(|n| job.names.get(*n)) {
                if !name.is_empty() && !finding.devices.iter().any(|d| d == name) {
                    finding.devices.push(name.to_owned());
                }
            }
        }
        finding
            .devices
            .sort_by(|a, b| crate::model::order::natural(a, b));
        found.push(finding);
    } else if !staged.is_empty() {
        let reason = if far.is_empty() {
            "the log does not say why; NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH shows it"
        } else {
            "GPU and network device are farther apart than NCCL_NET_GDR_LEVEL allows"
        };
        let none = with == 0;
        found.push(
            LogFinding::new(
                "log.gdr-partly",
                Severity::Warning,
                if none {
                    format!("no channel between nodes uses GPUDirect RDMA (0 of {channels})")
                } else {
                    format!(
                        "not all channels between nodes use GPUDirect RDMA ({with} of {channels})"
                    )
                },
            )
            .on(job, &staged)
            .why(format!(
                "the other channels go through the host's memory: {reason}"
            ))
            .check(if none {
                "gdr.unavailable"
            } else {
                "hca.far-from-gpu"
            })
            .fix("see what the node lacks; the default distance is PXB, a common PCI switch")
            .command("rdmactl check --only gdr,hca; rdmactl topo"),
        );
    }
}

fn hosts(job: &Job, is: impl Fn(&crate::joblog::known::Host) -> bool) -> Vec<HostId> {
    job.hosts
        .iter()
        .enumerate()
        .filter(|(_, h)| is(h))
        .map(|(id, _)| id)
        .collect()
}

/// A release that does not look for `nvidia_peermem` below /sys/module.
fn is_old(job: &Job) -> bool {
    job.releases
        .iter()
        .filter_map(|r| job.names.get(*r).parse::<Release>().ok())
        .any(|r| r < Release::new(2, 23, 4))
}
