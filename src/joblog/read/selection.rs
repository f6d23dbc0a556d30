//! Messages about what NCCL chose: interfaces, ports, networks, settings, GPUDirect.

use super::super::event::{Event, Kind, Problem};
use super::super::text::{after, between, find, gid_of_halves, number, number_after, word};

/// `NCCL version 2.27.7+cuda12.9`, `RCCL version 2.18.3+hip6.0`, `RCCL version : 2.22.3-HEAD`.
pub(in super::super) fn release(text: &str) -> Option<Event<'_>> {
    let rest = after(text, "CCL version ")?;
    let version = word(rest.trim_start_matches([':', ' ']));
    version
        .starts_with(|c: char| c.is_ascii_digit())
        .then_some(Event::Release(version))
}

/// `ncclCommInitRank comm 0x55 rank 3 nranks 16 cudaDev 3 ... - Init START`.
pub(in super::super) fn rank(text: &str) -> Option<Event<'_>> {
    Some(Event::Rank {
        rank: number_after(text, " rank ")?,
        ranks: number_after(text, " nranks ")?,
    })
}

/// `Bootstrap : Using eth0:10.1.0.7<0>`, with `[0]` before the name in old releases.
pub(in super::super) fn bootstrap(text: &str) -> Option<Event<'_>> {
    interface(after(text, "Using ")?)
        .map(|(interface, address)| Event::Bootstrap { interface, address })
}

/// `[0]eth0:10.1.0.7<0>` as name and address. A device of the out-of-band network (`mlx5_0:1`) has none.
fn interface(text: &str) -> Option<(&str, &str)> {
    let text = without_number(text.split(' ').next()?);
    let (name, address) = text.split_once(':')?;
    let address = address.split_once('<').map_or("", |(a, _)| a);
    (!name.is_empty()).then_some((name, address))
}

/// Drops `[0]` or `[0]={[0]` at the front.
fn without_number(text: &str) -> &str {
    match text.strip_prefix('[').and_then(|t| t.split_once(']')) {
        Some((_, rest)) => without_number(rest.trim_start_matches(['=', '{'])),
        None => text,
    }
}

/// `NCCL_IB_HCA set to X`, `NCCL_IB_GID_INDEX set by environment to 3.`
pub(in super::super) fn setting(text: &str) -> Option<Event<'_>> {
    let name = word(text);
    let rest = text.get(name.len()..)?;
    let value = rest
        .strip_prefix(" set by environment to ")
        .or_else(|| rest.strip_prefix(" set to "))
        .or_else(|| rest.strip_prefix(" set by environment variable to "))?
        .trim();
    // Numbers end the sentence with a full stop.
    let value = match value.strip_suffix('.') {
        Some(digits) if number(digits).is_some() => digits,
        _ => value,
    };
    Some(Event::Setting { name, value })
}

/// `NET/IB : Using [0]mlx5_0:1/RoCE [1]={[0] mlx5_1:1/RoCE, [1] mlx5_2:1/RoCE} [RO]; OOB eth0:10.1.0.7<0>`.
pub(in super::super) fn ib_using(text: &str) -> Option<Event<'_>> {
    let rest = after(text, "Using ")?;
    let (list, oob) = rest.split_once(';').unwrap_or((rest, ""));
    let ports = list.split(' ').filter_map(port).collect();
    let interface = after(oob, "OOB ").and_then(interface);
    Some(Event::IbPorts {
        ports,
        interface: interface.map_or("", |(name, _)| name),
    })
}

/// `[0]mlx5_0:1:0:1/RoCE` as `mlx5_0:1/RoCE`; rail and plane are left out, and so are the plugin's additions.
fn port(word: &str) -> Option<String> {
    let word = without_number(word).trim_matches(['{', '}', ',', '=']);
    let (name, layer) = word.split_once('/')?;
    let mut parts = name.split(':');
    let (device, number) = (parts.next()?, parts.next().unwrap_or("1"));
    let layer = layer.split('/').next()?;
    (!device.is_empty()).then(|| format!("{device}:{number}/{layer}"))
}

/// `NET/Socket : Using [0]eth0:10.1.0.7<0> [1]eth1:10.2.0.7<0>`.
pub(in super::super) fn socket_using(text: &str) -> Option<Event<'_>> {
    let list = after(text, "Using ")?;
    let names = list.split(' ').filter_map(interface).map(|(name, _)| name);
    Some(Event::SocketInterfaces(names.collect()))
}

/// `Using network IBext_v8`.
pub(in super::super) fn network(text: &str) -> Option<Event<'_>> {
    Some(Event::Network(after(text, "Using network ")?.trim()))
}

/// `Assigned NET plugin IB to comm`.
pub(in super::super) fn assigned(text: &str) -> Option<Event<'_>> {
    Some(Event::Network(between(
        text,
        "Assigned NET plugin ",
        " to comm",
    )?))
}

/// `NET/Plugin: Loaded net plugin IBext_v8 (v8)`.
pub(in super::super) fn plugin_loaded(text: &str) -> Option<Event<'_>> {
    let rest = after(text, "oaded ")?;
    let name = after(rest, "plugin ").unwrap_or(rest);
    let name = name.split(" (").next().unwrap_or(name).trim();
    (!name.is_empty()).then_some(Event::PluginLoaded(name))
}

/// `NET/Plugin: Could not find: libnccl-net.so`, `NET/Plugin : No plugin found (libnccl-net.so)`.
pub(in super::super) fn plugin_missing(text: &str) -> Option<Event<'_>> {
    let missing = [
        "Could not find",
        "No plugin found",
        "cannot open shared object",
    ];
    missing
        .iter()
        .any(|m| text.contains(m))
        .then_some(Event::PluginMissing)
}

/// `Failed to initialize NET plugin IB`, `Failed to initialize any NET plugin`, `Error: network X not found.`
pub(in super::super) fn net_failed(text: &str) -> Option<Event<'_>> {
    let name = after(text, "NET plugin ").or_else(|| between(text, "network ", " not found"));
    // Of the plugins NCCL tries in turn the built-in ones may refuse; only the end of all is a fault.
    if name.is_some() && text.starts_with("Failed to initialize NET plugin") {
        return Some(Event::Harmless);
    }
    Some(Event::Problem(Problem::of(Kind::NetFailed)))
}

/// `NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'`, in old releases with `(no module)`.
pub(in super::super) fn gdr_hca(text: &str) -> Option<Event<'_>> {
    let on = text.contains("RDMA Enabled");
    let device = between(text, "'", "'").unwrap_or("");
    Some(Event::Gdr { device, on })
}

/// `GPU Direct RDMA Disabled for GPU 0 / HCA 1 (distance 7 > 4)`.
pub(in super::super) fn gdr_gpu(text: &str) -> Option<Event<'_>> {
    if text.contains("RDMA Enabled") {
        return Some(Event::Harmless);
    }
    let device = after(text, "/ HCA ").map_or("", word);
    Some(Event::GdrTooFar { device })
}

/// `Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA`.
pub(in super::super) fn channel(text: &str) -> Option<Event<'_>> {
    let Some(tail) = after(text, " via NET/") else {
        return Some(Event::Channel {
            network: None,
            gdr: false,
        });
    };
    Some(Event::Channel {
        network: tail.split('/').next(),
        gdr: find(tail, "/GDRDMA").is_some(),
    })
}

/// `NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 1047 mtu 5 GID 3 (0/302010AFFFF0000)`, older `NET/IB: Dev 0 Port 1 ...`.
pub(in super::super) fn connection(text: &str) -> Option<Event<'_>> {
    let Some(rest) = after(text, " GID ") else {
        // InfiniBand has a LID in its place.
        return Some(Event::Harmless);
    };
    Some(Event::Connection {
        device: number_after(text, "IbDev ").or_else(|| number_after(text, "Dev "))?,
        index: number(rest)?.try_into().ok()?,
        gid: gid_of_halves(between(rest, "(", ")")?)?,
    })
}

/// Known and of no importance.
pub(in super::super) fn harmless(_text: &str) -> Option<Event<'_>> {
    Some(Event::Harmless)
}

/// `NET/IB: Data Direct DMA Interface is detected for device mlx5_0`.
pub(in super::super) fn data_direct(text: &str) -> Option<Event<'_>> {
    let device = after(text, "for device ").or_else(|| after(text, "dev "));
    Some(Event::Problem(Problem {
        device: word(device.unwrap_or("")),
        ..Problem::of(Kind::DataDirect)
    }))
}

#[cfg(test)]
mod tests {
    use super::{Event, channel, ib_using, setting};

    fn ports(text: &str) -> Vec<String> {
        match ib_using(text) {
            Some(Event::IbPorts { ports, .. }) => ports,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn port_lists_of_every_release_are_read() {
        assert_eq!(
            ports("NET/IB : Using [0]a:1/IB/SHARP [1]b:2/RoCE [RO]; OOB eth0:10.0.0.1<0>"),
            ["a:1/IB", "b:2/RoCE"]
        );
        assert_eq!(
            ports(
                "NET/IB : Using [0]={[0] a:1/RoCE, [1] b:1/RoCE} [1]={[0] c:1/RoCE} ; OOB x:1<0>"
            ),
            ["a:1/RoCE", "b:1/RoCE", "c:1/RoCE"]
        );
        assert_eq!(
            ports("NET/IB : Using [0]a:1:0:1/RoCE [1]b:1::1/RoCE ; OOB x:1<0>"),
            ["a:1/RoCE", "b:1/RoCE"]
        );
        assert!(ports("NET/IB : Using [RO]; OOB eth0:10.0.0.1<0>").is_empty());
    }

    #[test]
    fn a_full_stop_belongs_to_the_sentence_only_after_a_number() {
        let value = |text| match setting(text) {
            Some(Event::Setting { value, .. }) => value.to_owned(),
            other => panic!("{other:?}"),
        };
        assert_eq!(value("NCCL_IB_GID_INDEX set by environment to 3."), "3");
        assert_eq!(value("NCCL_TOPO_FILE set by environment to /a/b."), "/a/b.");
        assert_eq!(value("NCCL_IB_HCA set to =mlx5_0,mlx5_1"), "=mlx5_0,mlx5_1");
    }

    #[test]
    fn a_networks_name_may_hold_a_blank() {
        let Some(Event::Channel { network, gdr }) = channel(
            "Channel 00/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/0/GDRDMA(PCI)/Shared",
        ) else {
            panic!("no channel");
        };
        assert_eq!((network, gdr), (Some("AWS Libfabric"), true));
    }
}
