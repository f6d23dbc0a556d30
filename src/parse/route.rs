//! /proc/net/route and /proc/net/ipv6_route.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::ParseError;
use crate::model::Route;

/// `RTF_UP`.
const UP: u32 = 0x1;
/// `RTF_REJECT`: an unreachable or prohibited destination, which leads nowhere.
const REJECT: u32 = 0x200;

/// Parses /proc/net/route; addresses are in the machine's byte order, here little-endian.
///
/// `eth0  00000000  FE00000A  0003  0  0  100  00000000  0  0  0`
pub(crate) fn parse_route(text: &str) -> Result<Vec<Route>, ParseError> {
    let mut routes = Vec::new();
    // The kernel writes the heading also where there is no route.
    let mut lines = text.lines();
    if !lines.next().is_some_and(|l| l.starts_with("Iface")) {
        return Err(ParseError::new("/proc/net/route", text));
    }
    for line in lines.filter(|l| !l.trim().is_empty()) {
        let wrong = || ParseError::new("a line of /proc/net/route", line);
        let fields: Vec<&str> = line.split_whitespace().collect();
        let &[
            interface,
            destination,
            gateway,
            flags,
            _,
            _,
            metric,
            mask,
            ..,
        ] = fields.as_slice()
        else {
            return Err(wrong());
        };
        let hex = |t: &str| u32::from_str_radix(t, 16).map_err(|_| wrong());
        let flags = hex(flags)?;
        if flags & UP == 0 || flags & REJECT != 0 {
            continue;
        }
        let address = |n: u32| IpAddr::V4(Ipv4Addr::from(n.to_le_bytes()));
        let gateway = hex(gateway)?;
        routes.push(Route {
            interface: interface.to_owned(),
            destination: address(hex(destination)?),
            prefix: u32::from_be_bytes(hex(mask)?.to_le_bytes())
                .leading_ones()
                .try_into()
                .unwrap_or(32),
            gateway: (gateway != 0).then(|| address(gateway)),
            metric: metric.parse().map_err(|_| wrong())?,
        });
    }
    Ok(routes)
}

/// Parses /proc/net/ipv6_route.
///
/// `DESTINATION PREFIX SOURCE PREFIX GATEWAY METRIC REFERENCES USE FLAGS INTERFACE`, all but the last in hexadecimal.
pub(crate) fn parse_ipv6_route(text: &str) -> Result<Vec<Route>, ParseError> {
    let mut routes = Vec::new();
    for line in text.lines().filter(|l| !l.trim().is_empty()) {
        let wrong = || ParseError::new("a line of /proc/net/ipv6_route", line);
        let fields: Vec<&str> = line.split_whitespace().collect();
        let &[
            destination,
            prefix,
            _,
            _,
            gateway,
            metric,
            _,
            _,
            flags,
            interface,
        ] = fields.as_slice()
        else {
            return Err(wrong());
        };
        let hex = |t: &str| u32::from_str_radix(t, 16).map_err(|_| wrong());
        let address = |t: &str| {
            (t.len() == 32)
                .then(|| u128::from_str_radix(t, 16).ok())
                .flatten()
                .map(Ipv6Addr::from)
                .ok_or_else(wrong)
        };
        let flags = hex(flags)?;
        if flags & UP == 0 || flags & REJECT != 0 || interface == "lo" {
            continue;
        }
        let gateway = address(gateway)?;
        routes.push(Route {
            interface: interface.to_owned(),
            destination: address(destination)?.into(),
            prefix: hex(prefix)?.try_into().map_err(|_| wrong())?,
            gateway: (!gateway.is_unspecified()).then_some(gateway.into()),
            metric: hex(metric)?,
        });
    }
    Ok(routes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_route_and_a_network() {
        let text = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
                    eth0\t00000000\tFE00000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n\
                    eth0\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
        let routes = parse_route(text).unwrap();
        assert!(routes[0].is_default());
        assert_eq!(routes[0].gateway, Some("10.0.0.254".parse().unwrap()));
        assert_eq!(
            (routes[1].destination, routes[1].prefix),
            ("10.0.0.0".parse().unwrap(), 24)
        );
    }

    #[test]
    fn ipv6_defaults_without_the_reject_ones() {
        let zero = "0".repeat(32);
        let gateway = "fe800000000000000000000000000001";
        let text = format!(
            "{zero} 00 {zero} 00 {gateway} 00000400 00000001 00000000 00000003 eth0\n\
             {zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200 lo\n"
        );
        let routes = parse_ipv6_route(&text).unwrap();
        assert_eq!(routes.len(), 1);
        assert!(routes[0].is_default());
        assert_eq!(routes[0].metric, 1024);
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = (parse_route(&format!("Iface\n{text}")), parse_ipv6_route(&text));
        }
    }
}
