//! `ip -j addr`: interfaces with their addresses.

use std::net::IpAddr;

use serde::Deserialize;

use super::ParseError;
use crate::model::{Address, Interface};

/// One object of the array; only what is used.
#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    ifindex: u32,
    #[serde(default)]
    ifname: String,
    #[serde(default)]
    flags: Vec<String>,
    #[serde(default)]
    addr_info: Vec<Info>,
}

#[derive(Deserialize)]
struct Info {
    local: Option<IpAddr>,
    #[serde(default)]
    prefixlen: u8,
    label: Option<String>,
}

/// Parses the output of `ip -j addr`.
///
/// iproute2 takes `RUNNING` out of the flags and adds `NO-CARRIER` to an interface that is up and not running.
pub(crate) fn parse_ip_addr_json(text: &str) -> Result<Vec<Interface>, ParseError> {
    let entries: Vec<Entry> = serde_json::from_str(text)
        .map_err(|e| ParseError::new("`ip -j addr` output", &e.to_string()))?;
    Ok(entries
        .into_iter()
        .filter(|e| !e.ifname.is_empty())
        .map(|e| {
            let has = |flag: &str| e.flags.iter().any(|f| f == flag);
            let up = has("UP");
            Interface {
                ifindex: e.ifindex,
                up,
                running: up && !has("NO-CARRIER"),
                loopback: has("LOOPBACK"),
                addresses: e
                    .addr_info
                    .iter()
                    .filter_map(|i| {
                        Some(Address {
                            ip: i.local?,
                            prefix: i.prefixlen,
                            label: i.label.clone().unwrap_or_else(|| e.ifname.clone()),
                        })
                    })
                    .collect(),
                name: e.ifname,
            }
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::parse_ip_addr_json;

    #[test]
    fn running_is_up_without_the_no_carrier_mark() {
        let text = r#"[{"ifindex":2,"ifname":"eth0","flags":["UP","LOWER_UP"],"addr_info":[{"local":"10.0.0.1","prefixlen":24,"label":"eth0"}]},
                      {"ifindex":3,"ifname":"eth1","flags":["NO-CARRIER","UP"],"addr_info":[{"local":"fe80::1","prefixlen":64}]},{}]"#;
        let found = parse_ip_addr_json(text).unwrap();
        assert_eq!(found.len(), 2);
        assert!(found[0].running && !found[1].running && found[1].up);
        assert_eq!(found[1].addresses[0].label, "eth1");
        assert!(parse_ip_addr_json("no").is_err());
    }
}
