//! What the user and the environment say about ports and GPUs, checked against the node.

use super::Cx;
use crate::cli::{LinkLayerArg, SelectArgs};
use crate::error::{Error, Result};
use crate::model::{Gpu, Node};
use crate::nccl::release::Release;
use crate::nccl::selector::Selector;
use crate::roles::{Fabric, Rules};

/// Makes the rules for [`crate::roles::decide`]; an unknown device or interface is an error that lists the known ones.
pub(super) fn rules(args: &SelectArgs, node: &Node, cx: &mut Cx) -> Result<Rules> {
    let hca = args
        .hca
        .as_deref()
        .map(|list| selector(list, node))
        .transpose()?;
    for entry in &args.exclude {
        let name = entry.split(':').next().unwrap_or(entry);
        if node.hca(name).is_none() {
            return Err(unknown_device("--exclude", entry, node));
        }
    }
    for name in &args.main {
        if node.netdev(name).is_none() {
            let names: Vec<&str> = node.netdevs().iter().map(|n| n.name.as_str()).collect();
            return Err(Error::could_not_run(anyhow::anyhow!(
                "--main {name:?} is no interface of this node"
            ))
            .hint(format!("there are {}", listed(&names))));
        }
    }
    Ok(Rules {
        hca,
        exclude: args.exclude.clone(),
        main: args.main.clone(),
        fabric: args.link_layer.map(|l| match l {
            LinkLayerArg::Ib => Fabric::InfiniBand,
            LinkLayerArg::Roce => Fabric::Roce,
        }),
        allow_main: args.allow_main,
        gpus: gpus_in_use(args, node, cx)?,
    })
}

fn selector(list: &str, node: &Node) -> Result<Selector> {
    let selector = Selector::devices(Some(list), Release::NEWEST);
    if selector.entries.is_empty() {
        return Err(
            Error::could_not_run(anyhow::anyhow!("--hca {list:?} names no device"))
                .hint("for example --hca =mlx5_1,mlx5_2"),
        );
    }
    for entry in &selector.entries {
        let known = node
            .ports()
            .any(|(hca, port)| selector.entry_matches(entry, &hca.name, Some(port.number)));
        if !known {
            return Err(unknown_device("--hca", &entry.text, node));
        }
    }
    Ok(selector)
}

fn unknown_device(option: &str, entry: &str, node: &Node) -> Error {
    let names: Vec<&str> = node.hcas().iter().map(|h| h.name.as_str()).collect();
    Error::could_not_run(anyhow::anyhow!(
        "{option} {entry:?} matches no port of this node"
    ))
    .hint(format!("there are {}", listed(&names)))
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

/// The GPUs in use as positions in PCI order; `None` for all.
fn gpus_in_use(args: &SelectArgs, node: &Node, cx: &mut Cx) -> Result<Option<Vec<u32>>> {
    if let Some(text) = &args.gpus {
        return given(text, node.gpus()).map(Some);
    }
    // A task's own list would give each rank of a node another list of NICs; the step's is the same for all.
    for name in ["SLURM_STEP_GPUS", "SLURM_JOB_GPUS"] {
        if let Some(value) = cx
            .env
            .var(name)
            .filter(|v| !v.is_empty())
            .map(str::to_owned)
        {
            return Ok(visible(name, &value, &all(node.gpus()), cx));
        }
    }
    for name in ["CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"] {
        let Some(value) = cx.env.var(name).map(str::to_owned) else {
            continue;
        };
        if value == "all" {
            continue;
        }
        let found = visible(name, &value, &granted(node.gpus()), cx);
        let ranks = [
            "OMPI_COMM_WORLD_LOCAL_SIZE",
            "LOCAL_WORLD_SIZE",
            "MPI_LOCALNRANKS",
        ]
        .iter()
        .filter_map(|n| cx.env.var(n)?.parse::<usize>().ok())
        .max()
        .unwrap_or(1);
        if let Some(gpus) = &found
            && gpus.len() < ranks
        {
            cx.note(&format!(
                "{name} lists {} of {ranks} ranks' GPUs: it is one rank's own, and every rank of a node must have the same list of NICs; all GPUs count",
                gpus.len()
            ));
            return Ok(None);
        }
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// `--gpus`: a number, or a list of indexes and ranges.
fn given(text: &str, gpus: &[Gpu]) -> Result<Vec<u32>> {
    let count = u32::try_from(gpus.len()).unwrap_or(u32::MAX);
    let wrong = |what: String| {
        Error::could_not_run(anyhow::anyhow!("--gpus {text:?}: {what}"))
            .hint("a number means the first N (--gpus 4), a list names indexes (--gpus 0,1 or 0-3)")
    };
    let check = |index: u32| {
        if index < count {
            Ok(index)
        } else {
            Err(wrong(format!(
                "there is no GPU {index}, this node has {count}"
            )))
        }
    };
    if let Ok(number) = text.trim().parse::<u32>() {
        if number == 0 {
            return Err(wrong("at least one GPU is needed".to_owned()));
        }
        check(number - 1)?;
        return Ok((0..number).collect());
    }
    let mut found = Vec::new();
    for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else {
            return Err(wrong(format!("{part:?} is no index")));
        };
        check(last.max(first))?;
        found.extend(first..=last);
    }
    if found.is_empty() {
        return Err(wrong("no GPU is named".to_owned()));
    }
    Ok(found)
}

fn all(gpus: &[Gpu]) -> Vec<&Gpu> {
    gpus.iter().collect()
}

/// The GPUs a container was given: those the driver's proc files show. All of them where there are no such files.
fn granted(gpus: &[Gpu]) -> Vec<&Gpu> {
    let shown: Vec<&Gpu> = gpus.iter().filter(|g| g.information.is_ok()).collect();
    if shown.is_empty() { all(gpus) } else { shown }
}

/// Reads a list as CUDA does: indexes into the visible GPUs or UUIDs; what follows an unknown one does not count.
fn visible(name: &str, value: &str, gpus: &[&Gpu], cx: &mut Cx) -> Option<Vec<u32>> {
    let mut found = Vec::new();
    for part in value.split(',').map(str::trim) {
        let gpu = if let Ok(index) = part.parse::<usize>() {
            gpus.get(index)
        } else {
            // A MIG instance of the older form names its GPU.
            let uuid = part.strip_prefix("MIG-").unwrap_or(part);
            let uuid = uuid.split('/').next().unwrap_or(uuid);
            gpus.iter().find(|g| {
                g.uuid()
                    .is_some_and(|u| uuid.len() > 4 && u.starts_with(uuid))
            })
        };
        match gpu {
            Some(gpu) => found.push(gpu.index),
            None => break,
        }
    }
    if found.is_empty() {
        if !gpus.is_empty() {
            cx.note(&format!(
                "{name}={value:?} names no GPU of this node that could be found; all GPUs count"
            ));
        }
        return None;
    }
    found.sort_unstable();
    found.dedup();
    (found.len() < gpus.len()).then_some(found)
}
