//! GPUs and their driver, as a table and as JSON.

use std::fmt::Write as _;
use std::io::Write;

use serde::Serialize;

use super::json;
use super::style::{Style, escape};
use super::table::{Align, Table};
use crate::model::health::{Answer, Health, SmiGpu};
use crate::model::{Bdf, Gpu, GpuVendor, Node};

/// A GPU with what each source says of it.
struct Row<'a> {
    address: Option<Bdf>,
    pci: Option<&'a Gpu>,
    smi: Option<&'a SmiGpu>,
    state: String,
}

/// Every GPU of PCI in order, then those that only the driver lists.
fn rows<'a>(node: &'a Node, health: &'a Health) -> Vec<Row<'a>> {
    let smi = health.vendor.smi.given().map(|(smi, _)| smi);
    let listed = smi.map_or(&[][..], |s| &s.gpus);
    let of = |gpu: &Gpu| {
        listed.iter().find(|row| {
            row.address == Some(gpu.pci.address)
                || (row.address.is_none() && row.index == gpu.index)
        })
    };
    let no_handle =
        |address: Bdf| smi.is_some_and(|s| s.no_handle.iter().any(|n| n.address == Some(address)));
    let mut rows: Vec<Row> = node
        .gpus()
        .iter()
        .map(|gpu| {
            let row = of(gpu);
            let driver = health.kernel.gpu_drivers.get(&gpu.pci.address);
            let nvidia = gpu.vendor == GpuVendor::Nvidia;
            let state = match (row, driver) {
                (Some(row), _) => row.trouble.clone().unwrap_or_else(|| "ok".to_owned()),
                (None, _) if no_handle(gpu.pci.address) => "no handle".to_owned(),
                (None, Some(None)) => "no driver".to_owned(),
                (None, Some(Some(driver))) if driver != "nvidia" => driver.clone(),
                (None, _) if nvidia && !listed.is_empty() => "not listed".to_owned(),
                (None, _) if nvidia && gpu.information.is_err() => "not shown".to_owned(),
                (None, _) => "on PCI".to_owned(),
            };
            Row {
                address: Some(gpu.pci.address),
                pci: Some(gpu),
                smi: row,
                state,
            }
        })
        .collect();
    let alone = listed
        .iter()
        .filter(|row| !node.gpus().iter().any(|g| of(g).is_some_and(|o| o == *row)));
    rows.extend(alone.map(|row| Row {
        address: row.address,
        pci: None,
        smi: Some(row),
        state: row.trouble.clone().unwrap_or_else(|| "ok".to_owned()),
    }));
    rows
}

impl Row<'_> {
    fn name(&self) -> Option<&str> {
        let information = self.pci.and_then(|g| g.information.as_ref().ok());
        self.smi
            .and_then(|s| s.name.as_deref())
            .or_else(|| information?.model.as_deref())
    }

    fn uuid(&self) -> Option<&str> {
        self.smi
            .and_then(|s| s.uuid.as_deref())
            .or_else(|| self.pci?.uuid())
    }

    fn index(&self) -> u32 {
        self.smi
            .map(|s| s.index)
            .or_else(|| Some(self.pci?.index))
            .unwrap_or_default()
    }

    fn numa(&self) -> Option<i32> {
        self.pci?.pci.numa_node.as_ref().ok().copied()
    }

    fn maker(&self) -> Option<&'static str> {
        Some(match self.pci?.vendor {
            GpuVendor::Nvidia => "NVIDIA",
            GpuVendor::Amd => "AMD",
            GpuVendor::Other => "other",
        })
    }
}

/// Where the answer comes from, and why not from `nvidia-smi` when it does not.
fn source(health: &Health) -> (&'static str, Option<String>) {
    const FILES: &str = "PCI and /proc/driver/nvidia";
    match &health.vendor.smi {
        Answer::Given { value, .. } if !value.gpus.is_empty() => ("nvidia-smi", None),
        Answer::Given { value, .. } => {
            let failure = value.failure.as_ref().map(|(_, line)| line);
            let line = failure.or_else(|| value.no_handle.first().map(|n| &n.line));
            let why = line.map_or_else(
                || "it lists no GPU".to_owned(),
                |l| format!("it says {l:?}"),
            );
            (FILES, Some(why))
        }
        Answer::Broken { what, .. } => (FILES, Some(format!("it {what}"))),
        Answer::Absent(why) => (FILES, Some((*why).to_owned())),
    }
}

/// The table, the driver, and a line that says where all this comes from.
pub(crate) fn text(node: &Node, health: &Health, style: Style) -> String {
    let rows = rows(node, health);
    let mut out = String::new();
    if rows.is_empty() {
        out.push_str("no GPU\n");
    } else {
        let mut table = Table::new(&[
            ("GPU", Align::Right),
            ("PCI", Align::Left),
            ("MODEL", Align::Left),
            ("MEMORY", Align::Right),
            ("NUMA", Align::Right),
            ("MIG", Align::Left),
            ("PERSISTENCE", Align::Left),
            ("ECC", Align::Right),
            ("STATE", Align::Left),
            ("UUID", Align::Left),
        ]);
        for row in &rows {
            let dash = || "-".to_owned();
            let switch = |on: Option<bool>| match on {
                Some(true) => "on".to_owned(),
                Some(false) => "off".to_owned(),
                None => dash(),
            };
            let maker = || row.maker().map(str::to_owned);
            table.row([
                row.index().to_string(),
                row.address.map_or_else(dash, |a| a.to_string()),
                row.name()
                    .map(str::to_owned)
                    .or_else(maker)
                    .unwrap_or_else(dash),
                row.smi
                    .and_then(|s| s.memory_mib)
                    .map_or_else(dash, |m| format!("{m} MiB")),
                row.numa().map_or_else(dash, |n| n.to_string()),
                switch(row.smi.and_then(|s| s.mig)),
                switch(row.smi.and_then(|s| s.persistence)),
                row.smi
                    .and_then(|s| s.ecc_uncorrected)
                    .map_or_else(dash, |n| n.to_string()),
                row.state.clone(),
                row.uuid().map_or_else(dash, str::to_owned),
            ]);
        }
        let text = table.text();
        match text.split_once('\n') {
            Some((head, rest)) => {
                let _ = write!(out, "{}\n{rest}", style.bold(head));
            }
            None => out.push_str(&text),
        }
        out.push('\n');
    }
    match &health.kernel.nvidia_version {
        Ok(driver) => {
            let kind = if driver.open { "open" } else { "proprietary" };
            let _ = writeln!(out, "driver {}, {kind} modules", escape(&driver.version));
        }
        Err(unread) if unread.is_absent() => {
            let _ = writeln!(out, "no NVIDIA driver: {unread}");
        }
        Err(unread) => {
            let _ = writeln!(out, "driver not known: {unread}");
        }
    }
    let _ = match source(health) {
        (source, None) => writeln!(out, "from {source}"),
        (source, Some(why)) => writeln!(out, "from {source}; nvidia-smi: {}", escape(&why)),
    };
    if let Some((smi, _)) = health.vendor.smi.given() {
        let lost = smi.no_handle.iter().map(|n| &n.line);
        for line in lost.chain(&smi.messages) {
            let _ = writeln!(out, "nvidia-smi says: {}", escape(line));
        }
    }
    out
}

#[derive(Debug, Serialize)]
struct Body<'a> {
    source: &'static str,
    /// Why `nvidia-smi` is not the source; null where it is.
    nvidia_smi_failure: Option<String>,
    driver: Option<DriverJson<'a>>,
    gpus: Vec<GpuJson<'a>>,
    /// Lines of `nvidia-smi` that are no rows.
    messages: Vec<&'a str>,
}

#[derive(Debug, Serialize)]
struct DriverJson<'a> {
    version: &'a str,
    open_modules: bool,
}

#[derive(Debug, Serialize)]
struct GpuJson<'a> {
    index: u32,
    pci: Option<String>,
    vendor: Option<&'static str>,
    model: Option<&'a str>,
    uuid: Option<&'a str>,
    memory_mib: Option<u64>,
    numa_node: Option<i32>,
    /// Kernel driver the function is bound to.
    kernel_driver: Option<&'a str>,
    mig: Option<bool>,
    persistence: Option<bool>,
    ecc_uncorrected: Option<u64>,
    remap_pending: Option<bool>,
    remap_failed: Option<bool>,
    state: String,
}

/// The GPUs as JSON.
pub(crate) fn json(node: &Node, health: &Health, out: &mut dyn Write) -> std::io::Result<()> {
    let rows = rows(node, health);
    let smi = health.vendor.smi.given().map(|(smi, _)| smi);
    let (source, why) = source(health);
    let body = Body {
        source,
        nvidia_smi_failure: why,
        driver: health
            .kernel
            .nvidia_version
            .as_ref()
            .ok()
            .map(|d| DriverJson {
                version: &d.version,
                open_modules: d.open,
            }),
        gpus: rows
            .iter()
            .map(|row| GpuJson {
                index: row.index(),
                pci: row.address.map(|a| a.to_string()),
                vendor: row.maker(),
                model: row.name(),
                uuid: row.uuid(),
                memory_mib: row.smi.and_then(|s| s.memory_mib),
                numa_node: row.numa(),
                kernel_driver: row
                    .address
                    .and_then(|a| health.kernel.gpu_drivers.get(&a)?.as_deref()),
                mig: row.smi.and_then(|s| s.mig),
                persistence: row.smi.and_then(|s| s.persistence),
                ecc_uncorrected: row.smi.and_then(|s| s.ecc_uncorrected),
                remap_pending: row.smi.and_then(|s| s.remap_pending),
                remap_failed: row.smi.and_then(|s| s.remap_failed),
                state: row.state.clone(),
            })
            .collect(),
        messages: smi.map_or_else(Vec::new, |s| {
            let lost = s.no_handle.iter().map(|n| n.line.as_str());
            lost.chain(s.messages.iter().map(String::as_str)).collect()
        }),
    };
    json::write(node, body, out)
}

#[cfg(test)]
mod tests {
    use super::{json, text};
    use crate::report::Style;
    use crate::sys::{Env, Root, Scope, Tree, read_gpu_health, read_node, start_nvidia_smi};

    fn shown(lines: &str) -> (String, serde_json::Value) {
        let dir = "sys/devices/pci0000:1a/0000:1b:00.0";
        let node = format!(
            "rdmactl capture 1\nlink sys/bus/pci/devices/0000:1b:00.0 ../../../devices/pci0000:1a/0000:1b:00.0\n\
             {dir}/vendor = 0x10de\n{dir}/class = 0x030200\n{dir}/numa_node = 0\n\
             link {dir}/driver ../../../bus/pci/drivers/nvidia\n{lines}"
        );
        let root = Root::tree(Tree::parse(&node).unwrap(), "test");
        let programs = start_nvidia_smi(&root, &Env::default());
        let node = read_node(&root, Scope::SETTINGS);
        let health = read_gpu_health(&root, &node, programs);
        let mut out = Vec::new();
        json(&node, &health, &mut out).unwrap();
        (
            text(&node, &health, Style::PLAIN),
            serde_json::from_slice(&out).unwrap(),
        )
    }

    #[test]
    fn the_source_is_said() {
        let (text, json) = shown(
            "commands/nvidia-smi-query.stdout = 0, 00000000:1B:00.0, GPU-1, NVIDIA H100, 535.161.08, 81559, Enabled, Disabled, 0\n",
        );
        assert!(text.contains("from nvidia-smi\n"), "{text}");
        assert_eq!(json["gpus"][0]["memory_mib"], 81559);
        assert_eq!(json["gpus"][0]["state"], "ok");
        let (text, json) = shown("commands/nvidia-smi-query.exit = hung 5\n");
        assert!(
            text.contains(
                "from PCI and /proc/driver/nvidia; nvidia-smi: it did not end within 5 s\n"
            ),
            "{text}"
        );
        assert_eq!(json["nvidia_smi_failure"], "it did not end within 5 s");
        assert_eq!(json["gpus"][0]["kernel_driver"], "nvidia");
    }

    #[test]
    fn a_lost_gpu_and_its_message_are_shown() {
        let (text, json) = shown(
            "commands/nvidia-smi-query.stdout = Unable to determine the device handle for GPU0000:1B:00.0: Unknown Error\n",
        );
        assert!(text.contains("no handle"), "{text}");
        assert_eq!(json["gpus"][0]["state"], "no handle");
        assert_eq!(json["messages"].as_array().unwrap().len(), 1);
    }
}
