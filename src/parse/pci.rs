//! PCI addresses and paths of sysfs.

use super::ParseError;
use crate::model::{Bdf, PciPath};

/// Parses a PCI address: `0000:3b:00.0`, `10000:00:04.0` (VMD), `00000000:1B:00.0` (nvidia-smi).
pub(crate) fn parse_bdf(text: &str) -> Result<Bdf, ParseError> {
    let wrong = || ParseError::new("a PCI address", text);
    let mut parts = text.split(':');
    let (Some(domain), Some(bus), Some(slot), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(wrong());
    };
    let (device, function) = slot.split_once('.').ok_or_else(wrong)?;
    if domain.len() < 4
        || domain.len() > 8
        || bus.len() != 2
        || device.len() != 2
        || function.len() != 1
    {
        return Err(wrong());
    }
    let hex = |t: &str| {
        t.bytes()
            .all(|b| b.is_ascii_hexdigit())
            .then(|| u32::from_str_radix(t, 16).ok())
            .flatten()
            .ok_or_else(wrong)
    };
    let small = |t: &str| hex(t).and_then(|n| u8::try_from(n).map_err(|_| wrong()));
    Ok(Bdf {
        domain: hex(domain)?,
        bus: small(bus)?,
        device: small(device)?,
        function: small(function)?,
    })
}

/// Parses `0x15b3`.
pub(crate) fn parse_hex(text: &str) -> Result<u32, ParseError> {
    text.strip_prefix("0x")
        .and_then(|t| u32::from_str_radix(t, 16).ok())
        .ok_or_else(|| ParseError::new("a hexadecimal number", text))
}

/// Finds the PCI function a sysfs directory lies in: its directory, its address, and the way to it from the host bridge.
///
/// `sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0/infiniband/mlx5_0` lies in `0000:18:00.0`. Directories below the last
/// PCI address (a sub-function's auxiliary device, virtio) are left out. `None`: no PCI function above it.
pub(crate) fn pci_path(dir: &str) -> Option<(String, Bdf, PciPath)> {
    let components: Vec<&str> = dir.split('/').collect();
    let last = components.iter().rposition(|c| parse_bdf(c).is_ok())?;
    let first = components[..=last]
        .iter()
        .rposition(|c| parse_bdf(c).is_err())
        .map_or(0, |i| {
            if components[i].starts_with("pci") {
                i
            } else {
                i + 1
            }
        });
    let address = parse_bdf(components[last]).ok()?;
    let path = components[first..=last]
        .iter()
        .map(|c| (*c).to_owned())
        .collect();
    Some((components[..=last].join("/"), address, PciPath(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_all_spellings() {
        assert_eq!(
            parse_bdf("0000:3b:00.0").unwrap().to_string(),
            "0000:3b:00.0"
        );
        assert_eq!(
            parse_bdf("00000000:1B:00.0").unwrap().to_string(),
            "0000:1b:00.0"
        );
        assert_eq!(
            parse_bdf("10000:00:04.0").unwrap().to_string(),
            "10000:00:04.0"
        );
        for wrong in [
            "",
            "3b:00.0",
            "0000:3b:00",
            "0000:3b:0.0",
            "pci0000:3b",
            "0000:+b:00.0",
        ] {
            assert!(parse_bdf(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_function_of_a_directory_is_the_deepest_address() {
        let (dir, bdf, path) = pci_path(
            "sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0/mlx5_core.sf.4/infiniband/mlx5_2",
        )
        .unwrap();
        assert_eq!(dir, "sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0");
        assert_eq!(bdf.bus, 0x18);
        assert_eq!(path.0, ["pci0000:17", "0000:17:01.0", "0000:18:00.0"]);
        assert!(pci_path("sys/devices/virtual/infiniband/rxe0").is_none());
        let (_, _, hyperv) =
            pci_path("sys/devices/LNXSYSTM:00/VMBUS:00/47505500-0001/pci0101:00/0101:00:00.0")
                .unwrap();
        assert_eq!(hyperv.0, ["pci0101:00", "0101:00:00.0"]);
    }
}
