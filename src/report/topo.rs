//! The distance of each GPU to each RDMA port.

use std::fmt::Write as _;
use std::io::Write;

use serde::Serialize;

use super::json;
use super::style::Style;
use super::table::{Align, Table};
use crate::model::{Distance, Gpu, Node};
use crate::roles::{Assigned, Decision, Role};

/// The matrix, then which ports serve which GPU.
pub(crate) fn text(node: &Node, decision: &Decision, style: Style) -> String {
    let shown: Vec<&Assigned> = decision
        .ports
        .iter()
        .filter(|p| !p.distances.is_empty())
        .collect();
    let mut out = String::new();
    if node.gpus().is_empty() {
        return "no GPU on PCI\n".to_owned();
    }
    if shown.is_empty() {
        let _ = writeln!(
            out,
            "{} on PCI, no RDMA port with a place there",
            match node.gpus().len() {
                1 => "1 GPU".to_owned(),
                n => format!("{n} GPUs"),
            }
        );
        return out;
    }
    // Ports as rows: a node has more of them than GPUs, and names are long.
    let gpu_names: Vec<String> = node
        .gpus()
        .iter()
        .map(|g| format!("GPU{}", g.index))
        .collect();
    let mut columns = vec![("PORT", Align::Left), ("ROLE", Align::Left)];
    columns.extend(gpu_names.iter().map(|n| (n.as_str(), Align::Left)));
    columns.push(("NUMA", Align::Right));
    let mut table = Table::new(&columns);
    for port in &shown {
        let numa = node
            .port(&port.key)
            .and_then(|(hca, _)| hca.pci()?.numa_node.as_ref().ok().copied());
        let mut cells = vec![port.key.to_string(), port.role.word().to_owned()];
        cells.extend(port.distances.iter().map(ToString::to_string));
        cells.push(numa.map_or_else(|| "-".to_owned(), |n| n.to_string()));
        table.row(cells);
    }
    let text = table.text();
    match text.split_once('\n') {
        Some((head, rest)) => {
            let _ = write!(out, "{}\n{rest}", style.bold(head));
        }
        None => out.push_str(&text),
    }
    out.push('\n');
    let mut pairs = Table::new(&[
        ("GPU", Align::Left),
        ("PCI", Align::Left),
        ("NUMA", Align::Right),
        ("NEAREST DATA PORTS", Align::Left),
    ]);
    for (position, gpu) in node.gpus().iter().enumerate() {
        let (distance, ports) = serving(decision, position);
        pairs.row([
            gpu.index.to_string(),
            gpu.pci.address.to_string(),
            numa(gpu).map_or_else(|| "-".to_owned(), |n| n.to_string()),
            distance.map_or_else(
                || "none".to_owned(),
                |d| format!("{d}: {}", ports.join(", ")),
            ),
        ]);
    }
    out.push_str(&pairs.text());
    out.push_str("\nPIX one switch, PXB several switches, PHB the host bridge, NODE another host bridge of the NUMA node, SYS another NUMA node\n");
    out
}

fn numa(gpu: &Gpu) -> Option<i32> {
    gpu.pci.numa_node.as_ref().ok().copied()
}

/// The data ports nearest to a GPU.
fn serving(decision: &Decision, gpu: usize) -> (Option<Distance>, Vec<String>) {
    let distance = |p: &Assigned| p.distances.get(gpu).copied();
    let data = || decision.ports.iter().filter(|p| p.role == Role::Data);
    let nearest = data().filter_map(distance).min();
    let ports = data()
        .filter(|p| nearest.is_some() && distance(p) == nearest)
        .map(|p| p.key.to_string())
        .collect();
    (nearest, ports)
}

#[derive(Debug, Serialize)]
struct Body {
    gpus: Vec<GpuJson>,
    ports: Vec<PortJson>,
}

#[derive(Debug, Serialize)]
struct GpuJson {
    index: u32,
    pci: String,
    numa_node: Option<i32>,
    model: Option<String>,
    nearest_distance: Option<&'static str>,
    nearest_data_ports: Vec<String>,
}

#[derive(Debug, Serialize)]
struct PortJson {
    port: String,
    role: &'static str,
    /// One word for each GPU, in order.
    distances: Vec<&'static str>,
}

/// The distances as JSON.
pub(crate) fn json(node: &Node, decision: &Decision, out: &mut dyn Write) -> std::io::Result<()> {
    let gpus = node
        .gpus()
        .iter()
        .enumerate()
        .map(|(position, gpu)| {
            let (distance, ports) = serving(decision, position);
            GpuJson {
                index: gpu.index,
                pci: gpu.pci.address.to_string(),
                numa_node: numa(gpu),
                model: gpu.information.as_ref().ok().and_then(|i| i.model.clone()),
                nearest_distance: distance.map(Distance::word),
                nearest_data_ports: ports,
            }
        })
        .collect();
    let ports = decision
        .ports
        .iter()
        .map(|p| PortJson {
            port: p.key.to_string(),
            role: p.role.word(),
            distances: p.distances.iter().map(|d| d.word()).collect(),
        })
        .collect();
    json::write(node, Body { gpus, ports }, out)
}
