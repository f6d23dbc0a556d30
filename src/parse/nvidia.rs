//! /proc/driver/nvidia/version, and what `nvidia-smi --query-gpu` prints on both of its streams.

use super::{ParseError, parse_bdf};
use crate::model::Bdf;
use crate::model::health::{NoHandle, NvidiaDriver, NvidiaSmi, SmiFailure, SmiGpu};

/// Parses `NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb ...` and the open modules' form of it,
/// `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build ...`.
pub(crate) fn parse_nvidia_driver(text: &str) -> Result<NvidiaDriver, ParseError> {
    let wrong = || ParseError::new("an NVIDIA driver version", text);
    let line = text
        .lines()
        .find(|l| l.trim_start().starts_with("NVRM version:"))
        .ok_or_else(wrong)?;
    let is_version =
        |word: &&str| word.contains('.') && word.split('.').all(|n| !n.is_empty() && is_number(n));
    let version = line.split_whitespace().find(is_version).ok_or_else(wrong)?;
    Ok(NvidiaDriver {
        version: version.to_owned(),
        open: line.contains("Open Kernel Module"),
        line: line.trim().to_owned(),
    })
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

/// Parses the rows and tells the failures apart. The exit status tells nothing: `nvidia-smi` prints its failures on
/// either stream and may end with 0.
pub(crate) fn parse_smi_query(stdout: &str, stderr: &str) -> NvidiaSmi {
    let mut answer = NvidiaSmi::default();
    for line in stdout.lines().chain(stderr.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with("index,") {
            continue;
        }
        if let Some(gpu) = row(line) {
            answer.gpus.push(gpu);
        } else {
            take_message(line, &mut answer);
        }
    }
    answer
}

fn take_message(line: &str, answer: &mut NvidiaSmi) {
    let lower = line.to_ascii_lowercase();
    let says = |words: &str| lower.contains(words);
    let address = bdf_in(line);
    let lost = says("gpu is lost") || says("unknown error") || says("fallen off the bus");
    if says("unable to determine the device handle") || (address.is_some() && lost) {
        answer.no_handle.push(NoHandle {
            address,
            line: line.to_owned(),
        });
        return;
    }
    if let Some(version) = lower.strip_prefix("nvml library version:") {
        if let Some((SmiFailure::Mismatch(library), _)) = &mut answer.failure {
            *library = Some(version.trim().to_owned());
        }
        return;
    }
    let failure = if says("driver/library version mismatch") {
        Some(SmiFailure::Mismatch(None))
    } else if says("no devices were found") {
        Some(SmiFailure::NoDevices)
    } else if says("couldn't communicate with the nvidia driver") {
        Some(SmiFailure::NoDriver)
    } else if says("couldn't find libnvidia-ml") {
        Some(SmiFailure::NoLibrary)
    } else if says("failed to initialize nvml") || says("is not a valid field to query") {
        Some(SmiFailure::Other)
    } else {
        None
    };
    match failure {
        Some(failure) if answer.failure.is_none() => {
            answer.failure = Some((failure, line.to_owned()));
        }
        _ => answer.messages.push(line.to_owned()),
    }
}

/// A row: an index, then fields with commas between. Fields that are missing at the end count as not supported.
fn row(line: &str) -> Option<SmiGpu> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let index = fields.first().filter(|f| is_number(f))?.parse().ok()?;
    if fields.len() < 2 {
        return None;
    }
    let text = |position: usize| fields.get(position).copied().and_then(value);
    let number = |position: usize| text(position).and_then(|t| t.parse::<u64>().ok());
    let switch = |position: usize| text(position).and_then(switch);
    Some(SmiGpu {
        index,
        address: text(1).and_then(|t| parse_bdf(t).ok()),
        uuid: text(2).map(str::to_owned),
        name: text(3).map(str::to_owned),
        driver: text(4).map(str::to_owned),
        memory_mib: number(5),
        persistence: switch(6),
        mig: switch(7),
        ecc_uncorrected: number(8),
        remap_pending: switch(9),
        remap_failed: switch(10),
        trouble: fields
            .iter()
            .copied()
            .find(|f| is_trouble(f))
            .map(|f| f.trim_matches(|c| c == '[' || c == ']').to_owned()),
    })
}

/// A field's text, unless it says that there is none.
fn value(field: &str) -> Option<&str> {
    let bare = field.trim_matches(|c| c == '[' || c == ']');
    let none = [
        "",
        "N/A",
        "Not Supported",
        "Unknown",
        "Insufficient Permissions",
    ];
    (!none.contains(&bare) && !is_trouble(field)).then_some(field)
}

/// What stands in a field of a GPU that does not answer.
fn is_trouble(field: &str) -> bool {
    ["ERR!", "GPU is lost", "Unknown Error", "GPU requires reset"]
        .iter()
        .any(|t| field.contains(t))
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "Enabled" | "Yes" | "1" => Some(true),
        "Disabled" | "No" | "0" => Some(false),
        _ => None,
    }
}

/// The first PCI address of a line, in any of its spellings: `GPU0000:25:00.0:`, `GPU3: 0000:5F:00.0`.
fn bdf_in(line: &str) -> Option<Bdf> {
    line.split(|c: char| !(c.is_ascii_hexdigit() || c == ':' || c == '.'))
        .find_map(|word| parse_bdf(word.trim_matches([':', '.'])).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_the_driver_are_told_apart() {
        let proprietary = parse_nvidia_driver(
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb 17 22:55:48 UTC 2024\nGCC version:  gcc version 11.4.0\n",
        )
        .unwrap();
        assert_eq!(proprietary.version, "535.161.08");
        assert!(!proprietary.open);
        assert_eq!(proprietary.branch(), 535);
        let open = parse_nvidia_driver(
            "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05  Release Build  (dvs-builder)\n",
        )
        .unwrap();
        assert_eq!((open.version.as_str(), open.open), ("580.95.05", true));
        assert!(parse_nvidia_driver("").is_err());
        assert!(parse_nvidia_driver("NVRM version: none").is_err());
    }

    #[test]
    fn rows_of_old_and_new_gpus() {
        let answer = parse_smi_query(
            "0, 00000000:1B:00.0, GPU-1, NVIDIA H100 80GB HBM3, 535.161.08, 81559, Enabled, Disabled, 0, No, No\n\
             1, 00000000:34:00.0, GPU-2, Tesla V100-SXM2-32GB, 460.32.03, 32510, Disabled, [N/A], 2\n\
             2, [GPU is lost], [GPU is lost], [GPU is lost], 535.161.08, ERR!, [Not Supported], [N/A], [N/A]\n",
            "",
        );
        assert!(answer.failure.is_none() && answer.messages.is_empty());
        let [first, second, third] = answer.gpus.as_slice() else {
            panic!("{answer:?}");
        };
        assert_eq!(first.address.unwrap().to_string(), "0000:1b:00.0");
        assert_eq!(
            (first.persistence, first.mig, first.ecc_uncorrected),
            (Some(true), Some(false), Some(0))
        );
        assert_eq!(first.remap_pending, Some(false));
        assert_eq!((second.mig, second.ecc_uncorrected), (None, Some(2)));
        assert_eq!(second.remap_failed, None);
        assert_eq!(third.address, None);
        assert_eq!(third.trouble.as_deref(), Some("GPU is lost"));
    }

    #[test]
    fn a_lost_gpu_in_all_spellings_and_on_either_stream() {
        for (line, address) in [
            (
                "Unable to determine the device handle for GPU0000:CB:00.0: Unknown Error",
                Some("0000:cb:00.0"),
            ),
            (
                "Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown Error",
                Some("0000:34:00.0"),
            ),
            (
                "Unable to determine the device handle for GPU 0000:01:00.0: Not Found",
                Some("0000:01:00.0"),
            ),
            (
                "Unable to determine the device handle for gpu 0000:34:00.0: Unknown Error",
                Some("0000:34:00.0"),
            ),
            (
                "Unable to determine the device handle for GPU 00000000:34:00.0: GPU is lost.  Reboot the system to recover this GPU",
                Some("0000:34:00.0"),
            ),
            (
                "Unable to determine the device handle for GPU 3: Unknown Error",
                None,
            ),
        ] {
            for answer in [parse_smi_query(line, ""), parse_smi_query("", line)] {
                assert_eq!(answer.no_handle.len(), 1, "{line}");
                assert_eq!(
                    answer.no_handle[0]
                        .address
                        .map(|a| a.to_string())
                        .as_deref(),
                    address,
                    "{line}"
                );
                assert!(answer.failure.is_none() && answer.gpus.is_empty());
            }
        }
    }

    #[test]
    fn failures_of_the_whole_are_told_apart() {
        let failure = |text: &str| parse_smi_query(text, "").failure.map(|(f, _)| f);
        assert_eq!(
            failure(
                "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.124\n"
            ),
            Some(SmiFailure::Mismatch(Some("570.124".to_owned())))
        );
        assert_eq!(
            failure("No devices were found\n"),
            Some(SmiFailure::NoDevices)
        );
        assert_eq!(
            failure(
                "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure ..."
            ),
            Some(SmiFailure::NoDriver)
        );
        assert_eq!(
            failure("Failed to initialize NVML: Unknown Error"),
            Some(SmiFailure::Other)
        );
        let warned = parse_smi_query(
            "0, 00000008:00:00.0, GPU-1, Tesla V100\nWARNING: infoROM is corrupted at gpu 0008:00:00.0\n",
            "",
        );
        assert_eq!((warned.gpus.len(), warned.messages.len()), (1, 1));
        assert!(warned.no_handle.is_empty());
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics(out in "\\PC*", err in "\\PC*") {
            let _ = parse_smi_query(&out, &err);
            let _ = parse_smi_query(&format!("1, {out}"), "");
            let _ = parse_nvidia_driver(&format!("NVRM version: {out}"));
        }
    }
}
