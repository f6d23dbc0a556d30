//! What `lint` prints: the settings in effect, what NCCL would do with them, what `env` would choose, and what was found.

use std::fmt::Write as _;
use std::io::Write;

use serde::Serialize;

use super::check::{CheckJson, SummaryJson, check_json, summary_json, write_end, write_findings};
use super::table::{Align, Table};
use super::{Style, escape, json};
use crate::checks::{Report, Verdict};
use crate::lint::{Analysis, Judged, is_known_variable};
use crate::model::Distance;
use crate::nccl::config::Setting;
use crate::nccl::gdr::{GdrLevel, dma_buf, nic_is_able, peer_memory};
use crate::nccl::interface::{Bootstrap, SocketInterface};
use crate::nccl::predict::{PredictedDevice, Prediction};
use crate::nccl::variables::catalogue::find;

/// What is printed.
pub(crate) struct Lint<'a> {
    /// The settings, looked at.
    pub(crate) analysis: &'a Analysis<'a>,
    /// What was found.
    pub(crate) report: &'a Report,
    /// What the user calls the node.
    pub(crate) root: &'a str,
    /// Colour.
    pub(crate) style: Style,
}

/// For people.
pub(crate) fn text(lint: &Lint) -> String {
    let a = lint.analysis;
    let host = a.node.hostname.as_deref().unwrap_or("this node");
    let mut out = format!(
        "{}\n\n",
        lint.style.bold(format!(
            "{}: settings of {}",
            escape(host),
            escape(&a.sources.whose)
        ))
    );
    settings_text(&mut out, a);
    for judged in &a.judged {
        prediction_text(&mut out, a, judged, lint.style);
    }
    choice_text(&mut out, a, lint.style);
    write_findings(&mut out, lint.report, lint.style);
    write_end(
        &mut out,
        lint.report,
        lint.style,
        "nothing to change: NCCL would do what `rdmactl env` chooses",
    );
    out
}

/// The newest release's view of every setting of the libraries.
fn shown_settings<'a>(a: &'a Analysis) -> Vec<(&'a str, &'a Setting)> {
    let Some(judged) = a.judged.last() else {
        return Vec::new();
    };
    judged
        .settings
        .iter()
        .filter(|(name, _)| is_known_variable(name))
        .collect()
}

fn default_of(name: &str, a: &Analysis) -> Option<i64> {
    find(name)?.default(a.judged.last()?.release)
}

fn settings_text(out: &mut String, a: &Analysis) {
    let settings = shown_settings(a);
    if settings.is_empty() {
        out.push_str("No setting of NCCL or its kin is present.\n\n");
        return;
    }
    let mut table = Table::new(&[
        ("VARIABLE", Align::Left),
        ("VALUE", Align::Left),
        ("FROM", Align::Left),
        ("SHADOWS", Align::Left),
        ("DEFAULT", Align::Right),
    ]);
    for (name, setting) in settings {
        let shadowed: Vec<String> = setting
            .shadowed
            .iter()
            .map(|d| format!("{} ({})", d.value, d.origin))
            .collect();
        table.row([
            name.to_owned(),
            visible(&setting.effective.value),
            setting.effective.origin.to_string(),
            if shadowed.is_empty() {
                "-".to_owned()
            } else {
                shadowed.join(", ")
            },
            default_of(name, a).map_or_else(|| "-".to_owned(), |d| d.to_string()),
        ]);
    }
    out.push_str(&table.text());
    out.push('\n');
}

/// A value so that blanks, line ends and emptiness can be seen.
fn visible(value: &str) -> String {
    if value.is_empty() || value.trim() != value || value.contains(char::is_control) {
        format!("{value:?}")
    } else {
        value.to_owned()
    }
}

fn prediction_text(out: &mut String, a: &Analysis, judged: &Judged, style: Style) {
    let prediction = &judged.prediction;
    let release = if a.release_known {
        format!("NCCL {} would", judged.release)
    } else {
        format!(
            "NCCL {} (which release is in use is not known; this is the newest) would",
            judged.release
        )
    };
    let _ = writeln!(
        out,
        "{} {}",
        style.bold(release),
        network(prediction, judged)
    );
    if !prediction.devices.is_empty() && prediction.crash.is_none() {
        let mut table = Table::new(&[
            ("#", Align::Right),
            ("PORT", Align::Left),
            ("LINK", Align::Left),
            ("GID", Align::Right),
            ("ADDRESS", Align::Left),
            ("GPUDIRECT", Align::Left),
            ("ENV CHOOSES", Align::Left),
        ]);
        for (number, device) in prediction.devices.iter().enumerate() {
            table.row([
                number.to_string(),
                device.key.to_string(),
                device.link.word().to_owned(),
                gid_index(device),
                device
                    .gid
                    .value
                    .filter(|_| device.gid.index.is_some())
                    .map_or_else(
                        || "-".to_owned(),
                        |g| {
                            if g.is_empty() {
                                "empty".to_owned()
                            } else {
                                g.address().to_string()
                            }
                        },
                    ),
                gpudirect(a, judged, device).to_owned(),
                chosen(a, device),
            ]);
        }
        for line in table.text().lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
    for merged in &prediction.merged {
        let _ = writeln!(out, "  joins {} into one device", escape(&merged.name));
    }
    let left: Vec<String> = a
        .data()
        .iter()
        .filter(|k| !prediction.devices.iter().any(|d| d.key == ***k))
        .map(ToString::to_string)
        .collect();
    if !left.is_empty() {
        let _ = writeln!(out, "  it does not use {}", escape(&left.join(", ")));
    }
    if !prediction.order_is_certain {
        let _ = writeln!(
            out,
            "  (its order of the ports is not certain: sysfs does not tell it)"
        );
    }
    let _ = writeln!(
        out,
        "  out of band: {}",
        shown_interface(prediction.out_of_band())
    );
    let bootstrap = match &prediction.bootstrap {
        Bootstrap::Interface(interface) => shown_interface(Some(interface)),
        Bootstrap::Failed(code) => format!("none, and NCCL cannot start ({code})"),
        Bootstrap::Unknown => "not known: NCCL_COMM_ID names a host".to_owned(),
    };
    let _ = writeln!(out, "  bootstrap:   {bootstrap}\n");
}

/// The network it ends with, as the rest of a sentence.
fn network(prediction: &Prediction, judged: &Judged) -> String {
    if let Some(crash) = prediction.crash {
        return format!("not start: {crash}");
    }
    if prediction.bootstrap == Bootstrap::Failed(crate::nccl::outcome::Code::SystemError)
        || prediction.interfaces.is_empty()
    {
        return "not start: it finds no interface".to_owned();
    }
    if !prediction.topo_result.is_success() {
        return format!(
            "not start: joining ports fails ({})",
            prediction.topo_result
        );
    }
    let socket = judged
        .filled("NCCL_NET")
        .is_some_and(|n| n.eq_ignore_ascii_case("socket"));
    if socket || !prediction.ib_usable {
        return "use sockets, not RDMA".to_owned();
    }
    match prediction.devices.len() {
        1 => "use RDMA over 1 port".to_owned(),
        n => format!("use RDMA over {n} ports"),
    }
}

fn gid_index(device: &PredictedDevice) -> String {
    match device.gid.index {
        None => "-".to_owned(),
        Some(_) if !device.gid.result.is_success() => "fails".to_owned(),
        Some(index) if device.gid.guaranteed => index.to_string(),
        Some(index) => format!("{index}?"),
    }
}

/// Whether NCCL would let this port reach GPU memory: as far as files tell.
fn gpudirect(a: &Analysis, judged: &Judged, device: &PredictedDevice) -> &'static str {
    let near = a.role(&device.key).and_then(|p| p.nearest());
    let level = GdrLevel::of(&judged.settings, judged.release);
    let allows = |distance: Distance| level.allows(distance);
    if near.is_none() {
        return "-";
    }
    if !near.is_some_and(allows) {
        return "no: too far";
    }
    let peer = peer_memory(judged.release, |p| {
        a.sources.peer_memory.get(p).copied().flatten()
    });
    match nic_is_able(peer, dma_buf(&judged.settings, None, None)) {
        Some(true) => "yes",
        Some(false) => "no",
        None => "if DMA-BUF works",
    }
}

/// What `env` says about a port that NCCL would use.
fn chosen(a: &Analysis, device: &PredictedDevice) -> String {
    match a.decision.data().find(|p| p.key == device.key) {
        None => "not this port".to_owned(),
        Some(port) => match &port.gid {
            None => "the port".to_owned(),
            Some(row) if device.gid.index == i32::try_from(row.index).ok() => "the same".to_owned(),
            Some(row) => format!("GID {}", row.index),
        },
    }
}

fn shown_interface(interface: Option<&SocketInterface>) -> String {
    interface.map_or_else(
        || "none".to_owned(),
        |i| format!("{} ({})", escape(&i.name), i.ip),
    )
}

fn choice_text(out: &mut String, a: &Analysis, style: Style) {
    match &a.choice.plan {
        Ok(plan) => {
            let _ = writeln!(out, "{}", style.bold("`rdmactl env` would set"));
            for variable in &plan.variables {
                let line = match variable.value() {
                    Some(value) => format!("{}={value}", variable.name),
                    None => format!("{} unset", variable.name),
                };
                let _ = writeln!(out, "  {}", escape(&line));
            }
        }
        Err(error) => {
            let _ = writeln!(
                out,
                "{} {}",
                style.bold("`rdmactl env` refuses:"),
                escape(&error.to_string())
            );
            for hint in error.hints() {
                let _ = writeln!(out, "  {}", escape(&hint));
            }
        }
    }
    out.push('\n');
}

#[derive(Debug, Serialize)]
struct Body<'a> {
    root: &'a str,
    source: &'a str,
    release_known: bool,
    settings: Vec<SettingJson<'a>>,
    predictions: Vec<PredictionJson>,
    choice: ChoiceJson,
    summary: SummaryJson,
    /// Checks that found something or could not look.
    checks: Vec<CheckJson<'a>>,
}

#[derive(Debug, Serialize)]
struct SettingJson<'a> {
    name: &'a str,
    value: &'a str,
    origin: String,
    shadows: Vec<ShadowJson<'a>>,
    default: Option<i64>,
}

#[derive(Debug, Serialize)]
struct ShadowJson<'a> {
    value: &'a str,
    origin: String,
}

/// What a release would do.
#[derive(Debug, Serialize)]
pub(crate) struct PredictionJson {
    nccl: String,
    crash: Option<&'static str>,
    init: u8,
    ib_usable: bool,
    uses_rdma: bool,
    devices: Vec<DeviceJson>,
    beyond_limit: Vec<String>,
    order_is_certain: bool,
    merged: Vec<MergedJson>,
    topo_result: u8,
    bootstrap: BootstrapJson,
    interfaces: Vec<InterfaceJson>,
}

#[derive(Debug, Serialize)]
struct DeviceJson {
    name: String,
    port: u32,
    link: &'static str,
    speed_mbps: u64,
    gid_index: Option<i32>,
    gid: Option<String>,
    gid_result: u8,
    gid_guaranteed: bool,
    real_port: u32,
    gpudirect: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct MergedJson {
    name: String,
    speed_mbps: u64,
    devices: Vec<usize>,
}

#[derive(Debug, Serialize)]
struct BootstrapJson {
    /// Null where `NCCL_COMM_ID` names a host.
    result: Option<u8>,
    interface: Option<InterfaceJson>,
}

#[derive(Debug, Serialize)]
struct InterfaceJson {
    name: String,
    address: String,
}

#[derive(Debug, Serialize)]
struct ChoiceJson {
    data: Vec<ChosenJson>,
    interface: Option<String>,
    /// Value null: unset.
    variables: Vec<(String, Option<String>)>,
    refusal: Option<String>,
    hints: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ChosenJson {
    port: String,
    gid_index: Option<u32>,
    gid: Option<String>,
}

/// As JSON.
pub(crate) fn json(lint: &Lint, out: &mut dyn Write) -> std::io::Result<()> {
    let a = lint.analysis;
    let body = Body {
        root: lint.root,
        source: &a.sources.whose,
        release_known: a.release_known,
        settings: shown_settings(a)
            .into_iter()
            .map(|(n, s)| setting_json(n, s, a))
            .collect(),
        predictions: a.judged.iter().map(|j| prediction_json(a, j)).collect(),
        choice: choice_json(a),
        summary: summary_json(lint.report),
        checks: lint
            .report
            .outcomes
            .iter()
            .filter(|o| matches!(o.verdict, Verdict::Found(..) | Verdict::Unknown(_)))
            .map(check_json)
            .collect(),
    };
    json::write(a.node, body, out)
}

fn setting_json<'a>(name: &'a str, setting: &'a Setting, a: &Analysis) -> SettingJson<'a> {
    SettingJson {
        name,
        value: &setting.effective.value,
        origin: setting.effective.origin.to_string(),
        shadows: setting
            .shadowed
            .iter()
            .map(|d| ShadowJson {
                value: &d.value,
                origin: d.origin.to_string(),
            })
            .collect(),
        default: default_of(name, a),
    }
}

/// What a release would do, as JSON.
pub(crate) fn prediction_json(a: &Analysis, judged: &Judged) -> PredictionJson {
    let prediction = &judged.prediction;
    let device = |d: &PredictedDevice| DeviceJson {
        name: d.key.hca.clone(),
        port: d.key.port,
        link: d.link.word(),
        speed_mbps: d.speed_mbps,
        gid_index: d.gid.index,
        gid: d.gid.value.map(|g| g.to_string()),
        gid_result: d.gid.result.number(),
        gid_guaranteed: d.gid.guaranteed,
        real_port: d.real_port,
        gpudirect: Some(gpudirect(a, judged, d)).filter(|g| *g != "-"),
    };
    PredictionJson {
        nccl: judged.release.to_string(),
        crash: prediction.crash.map(|c| c.text()),
        init: prediction.init.number(),
        ib_usable: prediction.ib_usable,
        uses_rdma: prediction.uses_rdma(),
        devices: prediction.devices.iter().map(device).collect(),
        beyond_limit: prediction
            .beyond_limit
            .iter()
            .map(ToString::to_string)
            .collect(),
        order_is_certain: prediction.order_is_certain,
        merged: prediction
            .merged
            .iter()
            .map(|m| MergedJson {
                name: m.name.clone(),
                speed_mbps: m.speed_mbps,
                devices: m.members.clone(),
            })
            .collect(),
        topo_result: prediction.topo_result.number(),
        bootstrap: match &prediction.bootstrap {
            Bootstrap::Interface(interface) => BootstrapJson {
                result: Some(0),
                interface: Some(interface_json(interface)),
            },
            Bootstrap::Failed(code) => BootstrapJson {
                result: Some(code.number()),
                interface: None,
            },
            Bootstrap::Unknown => BootstrapJson {
                result: None,
                interface: None,
            },
        },
        interfaces: prediction.interfaces.iter().map(interface_json).collect(),
    }
}

fn interface_json(interface: &SocketInterface) -> InterfaceJson {
    InterfaceJson {
        name: interface.name.clone(),
        address: interface.ip.to_string(),
    }
}

fn choice_json(a: &Analysis) -> ChoiceJson {
    let plan = a.choice.plan.as_ref();
    ChoiceJson {
        data: a
            .decision
            .data()
            .map(|p| ChosenJson {
                port: p.key.to_string(),
                gid_index: p.gid.as_ref().map(|r| r.index),
                gid: p.gid.as_ref().map(|r| r.gid.to_string()),
            })
            .collect(),
        interface: a.choice.interface.as_ref().map(|(name, _)| name.clone()),
        variables: plan.map_or_else(
            |_| Vec::new(),
            |plan| {
                plan.variables
                    .iter()
                    .map(|v| (v.name.clone(), v.value().map(str::to_owned)))
                    .collect()
            },
        ),
        refusal: plan.err().map(ToString::to_string),
        hints: plan
            .err()
            .map(crate::plan::PlanError::hints)
            .unwrap_or_default(),
    }
}
