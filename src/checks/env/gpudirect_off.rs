//! `env.gpudirect-off`: GPUDirect RDMA is switched off by a setting.

use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::lint::{Analysis, Judged};
use crate::model::Distance;
use crate::nccl::gdr::{GdrLevel, nic_is_able, peer_memory};
use crate::nccl::number::cut;

const LEVEL: &str = "NCCL_NET_GDR_LEVEL";
const DMABUF: &str = "NCCL_DMABUF_ENABLE";

declare_check! {
    GPUDIRECT_OFF = "env" / "gpudirect-off",
    title: "GPUDirect RDMA is switched off by a setting",
    severity: Warning,
    since: "0.1.0",
    subject: Variable,
    reads: ["NCCL_NET_GDR_LEVEL", "NCCL_DMABUF_ENABLE", "etc/nccl.conf"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    super::judge(facts, find)
}

fn find(a: &Analysis, j: &Judged) -> Vec<Finding> {
    [level(a, j), dma_buf(a, j)].into_iter().flatten().collect()
}

fn level(a: &Analysis, j: &Judged) -> Option<Finding> {
    let value = j.filled(LEVEL)?;
    let warning = |message: String| {
        let finding = Finding::new(Severity::Warning, LEVEL, message);
        Some(Analysis::removed(
            Analysis::shown(finding, j, LEVEL),
            j,
            LEVEL,
        ))
    };
    let Some(level) = GdrLevel::parse(value) else {
        let hint = match value.to_ascii_uppercase().as_str() {
            "NODE" => "; nvidia-smi's NODE is PHB here".to_owned(),
            upper if GdrLevel::parse(upper).is_some() => format!("; it is written {upper}"),
            _ => String::new(),
        };
        return warning(format!("{value:?} is no level, and NCCL ignores it{hint}"));
    };
    if level == GdrLevel::Loc {
        return warning(format!(
            "{value} means never: every byte goes through host memory"
        ));
    }
    let mut bare = j.settings.clone();
    bare.set(LEVEL, "");
    let default = GdrLevel::of(&bare, j.release);
    let lost: Vec<String> = a
        .decision
        .data()
        .filter(|p| j.uses(&p.key))
        .filter_map(|p| Some((p, p.nearest()?)))
        .filter(|(_, distance): &(_, Distance)| {
            !level.allows(*distance) && default.allows(*distance)
        })
        .map(|(p, distance)| format!("{} ({distance})", p.key))
        .collect();
    if lost.is_empty() {
        return None;
    }
    warning(format!(
        "{value} does not reach as far as {}, which the default does",
        super::joined(&lost)
    ))
}

fn dma_buf(a: &Analysis, j: &Judged) -> Option<Finding> {
    j.filled(DMABUF)?;
    let off = cut(j.settings.integer(DMABUF, 1)) == 0;
    let peer = peer_memory(j.release, |path| {
        a.sources.peer_memory.get(path).copied().flatten()
    });
    if !off || nic_is_able(peer, Some(false)) != Some(false) {
        return None;
    }
    let message = "DMA-BUF is off and there is no peer memory module: GPUDirect is impossible";
    let finding = Finding::new(Severity::Warning, DMABUF, message);
    Some(Analysis::removed(
        Analysis::shown(finding, j, DMABUF),
        j,
        DMABUF,
    ))
}
