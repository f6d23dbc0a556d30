//! `port.slow`: a data port that runs below what it could.

use super::shared::{data_models, gbps, key, model, port_file, with_mlxlink};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::{Hca, LinkLayer, Port};
use crate::roles::{Assigned, Reason, Role};

declare_check! {
    SLOW = "port" / "slow",
    title: "a data port runs slower than it could",
    severity: Error,
    since: "0.1.0",
    subject: Port,
    reads: [
        "sys/class/infiniband/*/ports/*/rate",
        "sys/class/net/*/speed",
    ],
    run: run,
}

/// What to do about a slow link.
const FIX: &str =
    "look at cable, transceiver and the other end's speed; a degraded link has fewer lanes";

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    let kinds = data_models(facts);
    for assigned in &facts.decision.ports {
        let Some((hca, port)) = facts.node.port(&assigned.key) else {
            continue;
        };
        // A port that lost most of its lanes is no data port any more for that very reason.
        let fell_out =
            matches!(assigned.reason, Reason::Slow(..)) && kinds.contains(&model(hca, port));
        if hca.is_software() || (assigned.role != Role::Data && !fell_out) {
            continue;
        }
        if collector.value(&port.rate).is_none() {
            continue;
        }
        collector.look();
        if let Some(finding) = below_expectation(facts, port, assigned)
            .or_else(|| below_peers(facts, hca, port, assigned))
            .or_else(|| below_netdev(facts, port, assigned))
        {
            collector.find(finding);
        }
    }
    collector.verdict("no data port")
}

fn with_rate(finding: Finding, assigned: &Assigned, port: &Port) -> Finding {
    finding.file(
        &port_file(&assigned.key, "rate"),
        port.rate.as_ref().map(rate_text).unwrap_or_default(),
    )
}

/// A rate as its file holds it: `100 Gb/sec (4X EDR)`.
fn rate_text(rate: &crate::model::Rate) -> String {
    let number = gbps(rate.mbps).replace(" Gb/s", "");
    let lanes = rate.lanes.map(|l| format!("{l}X")).unwrap_or_default();
    let name = rate
        .generation
        .as_ref()
        .map(|g| format!(" {g}"))
        .unwrap_or_default();
    format!("{number} Gb/sec ({lanes}{name})")
}

/// The speed of the netdev, where it is the port's own and no bond's part: a bonded port is one device for two of them.
fn netdev_speed(facts: &Facts, port: &Port) -> Option<(String, u64)> {
    if port.link_layer != Ok(LinkLayer::Ethernet) {
        return None;
    }
    let [name] = port.netdevs.as_slice() else {
        return None;
    };
    let netdev = facts.node.netdev(name).filter(|n| n.master.is_none())?;
    let speed = u64::try_from(*netdev.speed_mbps.as_ref().ok()?).ok()?;
    Some((name.clone(), speed))
}

fn below_expectation(facts: &Facts, port: &Port, assigned: &Assigned) -> Option<Finding> {
    const MBPS: u64 = 1000;
    let wanted = facts.expect.rate_gbps?;
    let link = netdev_speed(facts, port).map_or(0, |(_, speed)| speed);
    let rate = port.rate_mbps().max(link);
    (rate < wanted.saturating_mul(MBPS)).then(|| {
        let finding = Finding::new(
            Severity::Error,
            &assigned.key,
            format!("runs at {}, and {wanted} Gb/s are expected", gbps(rate)),
        );
        let finding = with_rate(finding, assigned, port)
            .evidence("--expect rate", wanted)
            .fix(FIX);
        with_mlxlink(finding, facts, &assigned.key, "")
    })
}

fn below_peers(facts: &Facts, hca: &Hca, port: &Port, assigned: &Assigned) -> Option<Finding> {
    let kind = model(hca, port);
    let (peer, rate) = facts
        .decision
        .data()
        .filter_map(|a| facts.node.port(&a.key))
        .filter(|(h, p)| model(h, p) == kind)
        .map(|(h, p)| (key(h, p), p.rate_mbps()))
        .max_by_key(|(_, rate)| *rate)?;
    (port.rate_mbps() < rate).then(|| {
        let out = if assigned.role == Role::Data {
            ""
        } else {
            ", too slow to be a data port"
        };
        let finding = Finding::new(
            Severity::Warning,
            &assigned.key,
            format!(
                "runs at {}, while {peer} of the same model runs at {}{out}",
                gbps(port.rate_mbps()),
                gbps(rate)
            ),
        );
        let of_peer = facts
            .node
            .port(&peer)
            .and_then(|(_, p)| p.rate.as_ref().ok());
        let finding = with_rate(finding, assigned, port)
            .file(
                &port_file(&peer, "rate"),
                of_peer.map(rate_text).unwrap_or_default(),
            )
            .fix(FIX);
        with_mlxlink(finding, facts, &assigned.key, "")
    })
}

/// The link may well be at its full speed, and the kernel not know a name for it: it then says SDR. NCCL believes it.
fn below_netdev(facts: &Facts, port: &Port, assigned: &Assigned) -> Option<Finding> {
    let (name, speed) = netdev_speed(facts, port)?;
    (port.rate_mbps() < speed).then(|| {
        let finding = Finding::new(
            Severity::Note,
            &assigned.key,
            format!(
                "the RDMA side says {}, its netdev {name} {}; NCCL plans with the former",
                gbps(port.rate_mbps()),
                gbps(speed)
            ),
        );
        with_rate(finding, assigned, port)
            .file(&format!("sys/class/net/{name}/speed"), speed)
            .fix("use a kernel or an RDMA stack that knows this speed")
    })
}

#[cfg(test)]
mod tests {
    use super::SLOW;
    use crate::checks::Severity;
    use crate::checks::port::testing::{Scene, only};

    #[test]
    fn a_port_below_its_peers_is_a_warning_even_when_it_is_out_for_it() {
        for (mbps, out) in [(200_000, false), (100_000, true)] {
            let found = Scene::of("h100-8gpu-infiniband")
                .port("mlx5_0", |p| p.rate.as_mut().unwrap().mbps = mbps)
                .found(&SLOW);
            let (severity, message) = only(&found);
            assert_eq!(severity, Severity::Warning);
            assert_eq!(message.contains("too slow"), out, "{message}");
        }
    }

    #[test]
    fn an_expected_rate_decides() {
        let scene = Scene::of("h100-8gpu-infiniband");
        assert!(scene.passes(&SLOW));
        assert!(
            Scene::of("h100-8gpu-infiniband")
                .expect("rate=400")
                .passes(&SLOW)
        );
        let found = Scene::of("h100-8gpu-infiniband")
            .expect("rate=800")
            .found(&SLOW);
        assert_eq!((found.len(), found[0].severity), (8, Severity::Error));
    }

    #[test]
    fn a_netdev_that_is_faster_is_a_note() {
        let scene = Scene::of("a100-8gpu-roce").node(|n| {
            for port in n
                .hcas
                .as_mut()
                .unwrap()
                .iter_mut()
                .flat_map(|h| h.ports.as_mut().unwrap())
            {
                port.rate.as_mut().unwrap().mbps = 100_000;
            }
            for netdev in n.netdevs.as_mut().unwrap() {
                netdev.speed_mbps = Ok(200_000);
            }
        });
        let found = scene.found(&SLOW);
        assert!(found.iter().all(|f| f.severity == Severity::Note));
    }
}
