//! Files of /sys/class/infiniband. Formats: drivers/infiniband/core/sysfs.c of the kernel.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use serde::Deserialize;

use super::ParseError;
use crate::model::{Gid, GidType, LinkLayer, NodeType, PhysState, PortState, Rate};

/// Parses a GID as the kernel writes it: `fe80:0000:0000:0000:0e42:a1ff:fe9a:6766`.
pub(crate) fn parse_gid(text: &str) -> Result<Gid, ParseError> {
    text.parse::<Ipv6Addr>()
        .map(|ip| Gid(ip.octets()))
        .map_err(|_| ParseError::new("a GID", text))
}

/// Parses `gid_attrs/types/N`: `IB/RoCE v1` or `RoCE v2`.
pub(crate) fn parse_gid_type(text: &str) -> GidType {
    match text {
        "IB/RoCE v1" | "RoCE v1" => GidType::V1,
        "RoCE v2" => GidType::V2,
        other => GidType::Other(other.to_owned()),
    }
}

/// Splits `4: ACTIVE` into its number and name.
fn numbered<'a>(what: &'static str, text: &'a str) -> Result<(u32, &'a str), ParseError> {
    let (number, name) = text
        .split_once(':')
        .ok_or_else(|| ParseError::new(what, text))?;
    let number = number
        .trim()
        .parse()
        .map_err(|_| ParseError::new(what, text))?;
    Ok((number, name.trim()))
}

/// Parses `ports/N/state`: `4: ACTIVE`. The number decides.
pub(crate) fn parse_port_state(text: &str) -> Result<PortState, ParseError> {
    Ok(match numbered("a port state", text)?.0 {
        0 => PortState::Nop,
        1 => PortState::Down,
        2 => PortState::Init,
        3 => PortState::Armed,
        4 => PortState::Active,
        5 => PortState::ActiveDefer,
        _ => PortState::Other(text.to_owned()),
    })
}

/// Parses `ports/N/phys_state`: `5: LinkUp`.
pub(crate) fn parse_phys_state(text: &str) -> Result<PhysState, ParseError> {
    Ok(match numbered("a physical port state", text)?.0 {
        1 => PhysState::Sleep,
        2 => PhysState::Polling,
        3 => PhysState::Disabled,
        4 => PhysState::Training,
        5 => PhysState::LinkUp,
        6 => PhysState::ErrorRecovery,
        7 => PhysState::PhyTest,
        _ => PhysState::Other(text.to_owned()),
    })
}

/// Parses `node_type`: `1: CA`.
pub(crate) fn parse_node_type(text: &str) -> Result<NodeType, ParseError> {
    Ok(match numbered("a node type", text)?.0 {
        1 => NodeType::Ca,
        2 => NodeType::Switch,
        3 => NodeType::Router,
        4 => NodeType::Rnic,
        5 | 6 => NodeType::UsNic,
        7 => NodeType::Unspecified,
        _ => NodeType::Other(text.to_owned()),
    })
}

/// Parses `ports/N/link_layer`.
pub(crate) fn parse_link_layer(text: &str) -> LinkLayer {
    match text {
        "InfiniBand" => LinkLayer::InfiniBand,
        "Ethernet" => LinkLayer::Ethernet,
        other => LinkLayer::Other(other.to_owned()),
    }
}

/// Parses `ports/N/rate`: `400 Gb/sec (4X NDR)`, `2.5 Gb/sec (1X SDR)`, and `10 Gb/sec (4X)` of old kernels.
pub(crate) fn parse_rate(text: &str) -> Result<Rate, ParseError> {
    let wrong = || ParseError::new("a port rate", text);
    let (number, rest) = text.split_once(' ').ok_or_else(wrong)?;
    let rest = rest.strip_prefix("Gb/sec").ok_or_else(wrong)?;
    let mbps = parse_thousandths(number).ok_or_else(wrong)?;
    let inside = rest
        .trim()
        .strip_prefix('(')
        .and_then(|r| r.strip_suffix(')'));
    let mut words = inside.unwrap_or_default().split_whitespace();
    let lanes = words
        .next()
        .and_then(|w| w.strip_suffix(['X', 'x']))
        .and_then(|w| w.parse().ok());
    Ok(Rate {
        mbps,
        lanes,
        generation: words.next().map(str::to_owned),
    })
}

/// Parses a decimal with at most three places into thousandths: `2.5` is 2500.
fn parse_thousandths(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 3 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let fraction: u64 = format!("{fraction:0<3}").parse().ok()?;
    whole.checked_mul(1000)?.checked_add(fraction)
}

/// One object of the array; only what is used.
#[derive(Deserialize)]
struct RdmaDevice {
    ifindex: u32,
    ifname: String,
}

/// Parses the output of `rdma -j dev` into the devices' names with the numbers in which the kernel registered them:
/// `[{"ifindex":0,"ifname":"mlx5_0","node_type":"ca",...}]`.
pub(crate) fn parse_rdma_dev_json(text: &str) -> Result<BTreeMap<String, u32>, ParseError> {
    let devices: Vec<RdmaDevice> = serde_json::from_str(text)
        .map_err(|e| ParseError::new("`rdma -j dev` output", &e.to_string()))?;
    Ok(devices.into_iter().map(|d| (d.ifname, d.ifindex)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_with_fractions_and_without_a_name() {
        assert_eq!(parse_rate("400 Gb/sec (4X NDR)").unwrap().mbps, 400_000);
        let sdr = parse_rate("2.5 Gb/sec (1X SDR)").unwrap();
        assert_eq!((sdr.mbps, sdr.lanes), (2500, Some(1)));
        let old = parse_rate("10 Gb/sec (4X)").unwrap();
        assert_eq!(
            (old.mbps, old.lanes, old.generation),
            (10_000, Some(4), None)
        );
        assert!(parse_rate("fast").is_err());
        assert!(parse_rate("99999999999999999999 Gb/sec (4X NDR)").is_err());
    }

    #[test]
    fn states_go_by_number() {
        assert_eq!(parse_port_state("4: ACTIVE").unwrap(), PortState::Active);
        assert_eq!(parse_port_state("4: aktiv").unwrap(), PortState::Active);
        assert!(matches!(
            parse_port_state("9: NEW").unwrap(),
            PortState::Other(_)
        ));
        assert!(parse_port_state("ACTIVE").is_err());
    }

    #[test]
    fn the_kernels_numbers_of_devices() {
        let text =
            r#"[{"ifindex":1,"ifname":"mlx5_0","node_type":"ca"},{"ifindex":0,"ifname":"rxe0"}]"#;
        let found = parse_rdma_dev_json(text).unwrap();
        assert_eq!((found["mlx5_0"], found["rxe0"]), (1, 0));
        assert!(parse_rdma_dev_json("{}").is_err());
        assert!(parse_rdma_dev_json("[{\"ifname\":\"mlx5_0\"}]").is_err());
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = (parse_gid(&text), parse_rate(&text), parse_port_state(&text));
            let _ = (parse_phys_state(&text), parse_node_type(&text), parse_rdma_dev_json(&text));
        }
    }
}
