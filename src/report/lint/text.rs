//! `lint` for people.

use std::fmt::Write as _;

use super::{Lint, default_of, gpudirect, shown_settings};
use crate::lint::{Analysis, Judged};
use crate::nccl::interface::{Bootstrap, SocketInterface};
use crate::nccl::predict::{PredictedDevice, Prediction};
use crate::report::check::{write_end, write_findings};
use crate::report::table::{Align, Table};
use crate::report::{Style, escape};

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
    if prediction.crash.is_none() {
        devices_text(out, a, judged);
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

/// The ports it would use, in its order.
fn devices_text(out: &mut String, a: &Analysis, judged: &Judged) {
    let prediction = &judged.prediction;
    if prediction.devices.is_empty() {
        return;
    }

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
