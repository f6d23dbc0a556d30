//! Speed and width of a PCI link as sysfs writes them, and the configuration space of a bridge.

use super::ParseError;

/// Parses `current_link_speed` into MT/s: `32.0 GT/s PCIe`, `16 GT/s`. `None`: the kernel says that it does not know.
pub(crate) fn parse_link_speed(text: &str) -> Result<Option<u32>, ParseError> {
    let wrong = || ParseError::new("a PCI link speed", text);
    if text.starts_with("Unknown") {
        return Ok(None);
    }
    let (number, unit) = text.split_once(' ').ok_or_else(wrong)?;
    if !unit.starts_with("GT/s") {
        return Err(wrong());
    }
    let (whole, tenths) = number.split_once('.').unwrap_or((number, "0"));
    if tenths.len() != 1 {
        return Err(wrong());
    }
    let whole: u32 = whole.parse().map_err(|_| wrong())?;
    let tenths: u32 = tenths.parse().map_err(|_| wrong())?;
    whole
        .checked_mul(1000)
        .and_then(|mts| mts.checked_add(tenths * 100))
        .map(Some)
        .ok_or_else(wrong)
}

/// Parses `current_link_width` into lanes. `None` for the numbers that stand for an unknown width (0, 63, 255).
pub(crate) fn parse_link_width(text: &str) -> Result<Option<u32>, ParseError> {
    const WIDEST: u32 = 32;
    let lanes: u32 = text
        .parse()
        .map_err(|_| ParseError::new("a PCI link width", text))?;
    Ok((1..=WIDEST).contains(&lanes).then_some(lanes))
}

/// What the configuration space of a bridge says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PciConfig {
    /// Port type of the PCI Express capability: 4 root port, 5 upstream, 6 downstream.
    pub(crate) port_type: Option<u8>,
    /// Access Control Services.
    pub(crate) acs: Acs,
}

/// The ACS control register of a bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acs {
    /// It has none.
    Missing,
    /// Its value.
    Control(u16),
    /// It lies beyond what the kernel lets this user read.
    BeyondReach,
}

const HEADER: usize = 0x40;
const EXTENDED: usize = 0x100;
const PCI_EXPRESS: u8 = 0x10;
const ACCESS_CONTROL: u32 = 0x000d;

/// Reads a bridge's configuration space. Without root the kernel gives the first 64 bytes only.
pub(crate) fn parse_pci_config(bytes: &[u8]) -> Result<PciConfig, ParseError> {
    let header = bytes.get(..HEADER).unwrap_or_default();
    // A device that has gone answers all ones.
    if header.is_empty() || header.starts_with(&[0xff, 0xff]) {
        return Err(ParseError::new(
            "a PCI configuration space",
            &String::from_utf8_lossy(bytes),
        ));
    }
    let (port_type, complete) = express_port_type(bytes);
    let acs = if complete && port_type.is_none() {
        // A conventional bridge has no extended space.
        Acs::Missing
    } else {
        access_control(bytes)
    };
    Ok(PciConfig { port_type, acs })
}

/// Walks the list of capabilities for the PCI Express one; false where the list leads beyond what was read.
fn express_port_type(bytes: &[u8]) -> (Option<u8>, bool) {
    const STATUS: usize = 0x06;
    const HAS_LIST: u8 = 0x10;
    const LIST: usize = 0x34;
    const MOST: usize = 48;
    if bytes.get(STATUS).is_none_or(|s| s & HAS_LIST == 0) {
        return (None, true);
    }
    let mut at = usize::from(bytes.get(LIST).copied().unwrap_or_default() & 0xfc);
    for _ in 0..MOST {
        if at < HEADER {
            return (None, true);
        }
        let Some(&[id, next, flags, _]) = bytes.get(at..at + 4) else {
            return (None, false);
        };
        if id == PCI_EXPRESS {
            return (Some(flags >> 4), true);
        }
        at = usize::from(next & 0xfc);
    }
    (None, true)
}

/// Walks the list of extended capabilities for ACS.
fn access_control(bytes: &[u8]) -> Acs {
    const MOST: usize = (4096 - EXTENDED) / 8;
    let mut at = EXTENDED;
    for _ in 0..MOST {
        let Some(&[a, b, c, d]) = bytes.get(at..at + 4) else {
            return Acs::BeyondReach;
        };
        let header = u32::from_le_bytes([a, b, c, d]);
        if header == 0 || header == u32::MAX {
            return Acs::Missing;
        }
        if header & 0xffff == ACCESS_CONTROL {
            return match bytes.get(at + 6..at + 8) {
                Some(&[low, high]) => Acs::Control(u16::from_le_bytes([low, high])),
                _ => Acs::BeyondReach,
            };
        }
        at = usize::try_from(header >> 20 & 0xffc).unwrap_or_default();
        if at < EXTENDED {
            return Acs::Missing;
        }
    }
    Acs::Missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_of_all_spellings() {
        let speed = |t| parse_link_speed(t).unwrap();
        assert_eq!(speed("32.0 GT/s PCIe"), Some(32_000));
        assert_eq!(speed("16 GT/s"), Some(16_000));
        assert_eq!(speed("2.5 GT/s PCIe"), Some(2500));
        assert_eq!(speed("64.0 GT/s PCIe"), Some(64_000));
        assert_eq!(speed("Unknown"), None);
        assert_eq!(speed("Unknown speed"), None);
        for wrong in ["", "fast", "16", "x GT/s", "16.25 GT/s", "99999999 GT/s"] {
            assert!(parse_link_speed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn impossible_widths_are_unknown() {
        assert_eq!(parse_link_width("16").unwrap(), Some(16));
        for unknown in ["0", "63", "255"] {
            assert_eq!(parse_link_width(unknown).unwrap(), None);
        }
        assert!(parse_link_width("x16").is_err());
    }

    /// A downstream port's space with power management before the PCI Express capability and ACS behind AER.
    fn downstream(control: u16) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        bytes[0..2].copy_from_slice(&[0x00, 0x10]);
        bytes[0x06] = 0x10;
        bytes[0x34] = 0x40;
        bytes[0x40..0x42].copy_from_slice(&[0x01, 0x68]);
        bytes[0x68..0x6b].copy_from_slice(&[0x10, 0x00, 0x62]);
        bytes[0x100..0x104].copy_from_slice(&0x1482_0001u32.to_le_bytes());
        bytes[0x148..0x14c].copy_from_slice(&0x0001_000du32.to_le_bytes());
        bytes[0x14e..0x150].copy_from_slice(&control.to_le_bytes());
        bytes
    }

    #[test]
    fn acs_is_found_through_both_lists() {
        let config = parse_pci_config(&downstream(0x001d)).unwrap();
        assert_eq!(config.port_type, Some(6));
        assert_eq!(config.acs, Acs::Control(0x001d));
    }

    #[test]
    fn what_was_not_read_is_unknown() {
        let all = downstream(0x001d);
        for length in [64, 128, 256, 0x148, 0x14f] {
            let config = parse_pci_config(&all[..length]).unwrap();
            assert_eq!(config.acs, Acs::BeyondReach, "{length}");
        }
        assert!(parse_pci_config(&all[..63]).is_err());
        assert!(parse_pci_config(&[]).is_err());
        assert!(parse_pci_config(&[0xff; 4096]).is_err());
    }

    #[test]
    fn bridges_without_acs() {
        let mut conventional = vec![0; 256];
        assert_eq!(parse_pci_config(&conventional).unwrap().acs, Acs::Missing);
        conventional[0x06] = 0x10;
        assert_eq!(parse_pci_config(&conventional).unwrap().acs, Acs::Missing);
        let mut express = downstream(0);
        express[0x148..0x14c].fill(0);
        assert_eq!(parse_pci_config(&express).unwrap().acs, Acs::Missing);
        // A list that leads back to itself ends.
        express[0x100..0x104].copy_from_slice(&0x1002_0001u32.to_le_bytes());
        assert_eq!(parse_pci_config(&express).unwrap().acs, Acs::Missing);
        express[0x40..0x42].copy_from_slice(&[0x01, 0x40]);
        assert_eq!(parse_pci_config(&express).unwrap().acs, Acs::Missing);
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*", bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..600)) {
            let _ = (parse_link_speed(&text), parse_link_width(&text));
            let _ = parse_pci_config(&bytes);
        }
    }
}
