//! `lint` as JSON, schema 1.

use std::io::Write;

use serde::Serialize;

use super::{Lint, default_of, gpudirect, shown_settings};
use crate::checks::Verdict;
use crate::lint::{Analysis, Judged};
use crate::nccl::config::Setting;
use crate::nccl::interface::{Bootstrap, SocketInterface};
use crate::nccl::outcome::Crash;
use crate::nccl::predict::PredictedDevice;
use crate::report::check::{CheckJson, SummaryJson, check_json, summary_json};
use crate::report::json;

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
pub(crate) fn write(lint: &Lint, out: &mut dyn Write) -> std::io::Result<()> {
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
        crash: prediction.crash.map(Crash::text),
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
