//! Takes what identifies a site out of a capture, each value always replaced by the same other one: pure.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use regex::{Captures, Regex};

use crate::sys::Tree;

/// Replaces host names, MAC addresses, GUIDs and public addresses consistently, so that what was equal stays equal.
pub(crate) struct Redactor {
    host: Option<String>,
    seen: BTreeMap<String, String>,
    /// One pattern with a group for each kind, so that what was replaced is not looked at again.
    pattern: Option<Regex>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Mac,
    Gid,
    Guid,
    Ipv4,
    Ipv6,
    Uuid,
}

/// What each kind looks like; a longer one before those that would match a part of it.
const KINDS: [(Kind, &str); 6] = [
    (
        Kind::Uuid,
        r"GPU-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    ),
    (Kind::Gid, r"\b[0-9a-f]{4}(?::[0-9a-f]{4}){7}\b"),
    (Kind::Mac, r"\b[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}\b"),
    (Kind::Guid, r"\b[0-9a-f]{4}(?::[0-9a-f]{4}){3}\b"),
    (Kind::Ipv6, r#""local":\s*"[0-9a-fA-F]*:[0-9a-fA-F:.]+"#),
    (Kind::Ipv4, r"\b\d{1,3}(?:\.\d{1,3}){3}\b"),
];

impl Redactor {
    /// Knows the node's name, which is replaced wherever it stands as a word.
    pub(crate) fn new(host: Option<&str>) -> Self {
        let pattern = KINDS.map(|(_, source)| format!("({source})")).join("|");
        Self {
            host: host.filter(|h| !h.is_empty()).map(str::to_owned),
            seen: BTreeMap::new(),
            pattern: Regex::new(&pattern).ok(),
        }
    }

    /// Redacts every text of a capture.
    pub(crate) fn redact(&mut self, tree: &mut Tree) {
        tree.map_text(|path, text| self.text(path, text));
        for value in tree.env.iter_mut().flatten().map(|(_, v)| v) {
            *value = self.text("", value);
        }
    }

    fn text(&mut self, path: &str, text: &str) -> String {
        let mut text = text.to_owned();
        // Routes are hexadecimal; the addresses in them are replaced with those of the interfaces or not at all.
        let numeric = path.starts_with("proc/net/");
        if let Some(pattern) = self.pattern.take() {
            text = pattern
                .replace_all(&text, |found: &Captures| {
                    let kind = (0..KINDS.len())
                        .find(|i| found.get(i + 1).is_some())
                        .map(|i| KINDS[i].0)
                        .filter(|k| !numeric || *k == Kind::Ipv4);
                    kind.map_or_else(|| found[0].to_owned(), |k| self.replacement(k, &found[0]))
                })
                .into_owned();
            self.pattern = Some(pattern);
        }
        if let Some(host) = &self.host {
            text = text.replace(host.as_str(), "node");
        }
        text
    }

    fn replacement(&mut self, kind: Kind, text: &str) -> String {
        let keep = || text.to_owned();
        match kind {
            Kind::Gid => self.gid(text).unwrap_or_else(keep),
            Kind::Ipv6 => {
                let (head, address) = text.split_at(text.rfind('"').map_or(0, |i| i + 1));
                let Ok(ip) = address.parse::<Ipv6Addr>() else {
                    return keep();
                };
                let new = self.ipv6(ip);
                format!("{head}{new}")
            }
            Kind::Ipv4 => text
                .parse::<std::net::Ipv4Addr>()
                .map_or_else(|_| keep(), |ip| self.ipv4(ip).to_string()),
            Kind::Mac if text.bytes().all(|b| b"0:".contains(&b)) => keep(),
            Kind::Mac => {
                let id = self.number(text);
                format!(
                    "02:00:00:{:02x}:{:02x}:{:02x}",
                    id >> 16 & 0xff,
                    id >> 8 & 0xff,
                    id & 0xff
                )
            }
            Kind::Guid => {
                let id = self.number(text);
                format!("0200:00ff:fe{:02x}:{:04x}", id >> 16 & 0xff, id & 0xffff)
            }
            Kind::Uuid => {
                let id = self.number(text);
                format!("GPU-00000000-0000-0000-0000-{id:012x}")
            }
        }
    }

    /// A number for each distinct text, in order of first sight.
    fn number(&mut self, text: &str) -> usize {
        let next = self.seen.len() + 1;
        let entry = self
            .seen
            .entry(text.to_owned())
            .or_insert_with(|| next.to_string());
        entry.parse().unwrap_or(next)
    }

    fn gid(&mut self, text: &str) -> Option<String> {
        let ip: Ipv6Addr = text.parse().ok()?;
        let new = self.ipv6(ip);
        let groups: Vec<String> = new.segments().iter().map(|s| format!("{s:04x}")).collect();
        Some(groups.join(":"))
    }

    /// Private, link-local and documentation addresses keep their network; what comes from a MAC address is replaced.
    fn ipv6(&mut self, ip: Ipv6Addr) -> Ipv6Addr {
        if ip.is_unspecified() || ip.is_loopback() {
            return ip;
        }
        if let Some(v4) = ip.to_ipv4_mapped() {
            return self.ipv4(v4).to_ipv6_mapped();
        }
        let bits = u128::from(ip);
        let low = u128::try_from(self.number(&format!("{:x}", bits & u128::from(u64::MAX))))
            .unwrap_or_default();
        let private = ip.is_unicast_link_local() || ip.is_unique_local();
        let high = if private {
            bits >> 64
        } else {
            // 2001:db8:N::/64, the documentation prefix.
            let id =
                u128::try_from(self.number(&format!("net {:x}", bits >> 64))).unwrap_or_default();
            0x2001_0db8_0000_0000 | (id & 0xffff) << 16
        };
        Ipv6Addr::from(high << 64 | low)
    }

    fn ipv4(&mut self, ip: std::net::Ipv4Addr) -> std::net::Ipv4Addr {
        let kept = ip.is_private()
            || ip.is_loopback()
            || ip.is_link_local()
            || ip.is_unspecified()
            || ip.is_broadcast()
            || ip.octets()[0] == 255;
        if kept {
            return ip;
        }
        // 198.18.0.0/15 is set aside for tests: room for every host bit that matters.
        let id = u32::try_from(self.number(&ip.to_string())).unwrap_or_default();
        std::net::Ipv4Addr::from(0xc612_0000 | (id & 0x1_ffff))
    }
}

#[cfg(test)]
mod tests {
    use super::Redactor;
    use crate::sys::Tree;

    #[test]
    fn equal_stays_equal_and_private_stays_what_it_is() {
        let mut tree = Tree::parse(
            "rdmactl capture 1\n\
             a = node7 has 98:03:9b:aa:bb:cc and 10.0.0.1 and 203.0.113.9\n\
             b = 98:03:9b:aa:bb:cc\n\
             c = 0000:0000:0000:0000:0000:ffff:cb00:7109\n",
        )
        .unwrap();
        Redactor::new(Some("node7")).redact(&mut tree);
        let text = tree.write();
        assert!(
            !text.contains("98:03") && !text.contains("node7") && !text.contains("203.0.113"),
            "{text}"
        );
        assert!(text.contains("10.0.0.1"));
        assert_eq!(text.matches("02:00:00:00:00:01").count(), 2);
        assert!(!text.contains("cb00:7109"));
    }

    #[test]
    fn a_gid_is_not_taken_for_two_guids() {
        let gid = "0000:0000:0000:0000:0000:ffff:0a0b:0011";
        let mut tree = Tree::parse(&format!(
            "rdmactl capture 1\na = {gid}\nb = 946d:ae03:0001:0100\n"
        ))
        .unwrap();
        Redactor::new(None).redact(&mut tree);
        let text = tree.write();
        assert!(text.contains(gid), "{text}");
        assert!(!text.contains("946d"), "{text}");
    }
}
