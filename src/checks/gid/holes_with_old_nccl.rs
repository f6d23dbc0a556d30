//! `gid.holes-with-old-nccl`: rows at which some releases of NCCL give up while choosing a GID.

use crate::checks::port::shared::{brief, joined, port_file, roce_data};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::{Gid, GidRow, Port, PortKey, Unread, Why};
use crate::nccl::gid::choose;
use crate::nccl::release::{KNOWN, Release};

declare_check! {
    HOLES_WITH_OLD_NCCL = "gid" / "holes-with-old-nccl",
    title: "NCCL gives up at unreadable rows of a GID table",
    severity: Error,
    since: "0.1.0",
    subject: Port,
    reads: [
        "sys/class/infiniband/*/ports/*/gids/*",
        "sys/class/infiniband/*/ports/*/gid_attrs/types/*",
    ],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    let judged = if facts.releases.is_empty() {
        KNOWN
    } else {
        facts.releases
    };
    let mut stopped: Vec<&PortKey> = Vec::new();
    let mut releases: Vec<Release> = Vec::new();
    for assigned in roce_data(facts) {
        let Some((_, port)) = facts.node.port(&assigned.key) else {
            continue;
        };
        if port.gids.is_err() {
            continue;
        }
        collector.look();
        let hidden = facts
            .node
            .container
            .is_some()
            .then(|| with_hidden_rows(port));
        let stops_on = |port: &Port, release: Release| {
            choose(port, facts.settings, release).is_ok_and(|c| !c.result.is_success())
        };
        let stops: Vec<Release> = judged
            .iter()
            .copied()
            .filter(|r| stops_on(port, *r) || hidden.as_ref().is_some_and(|p| stops_on(p, *r)))
            .collect();
        if !stops.is_empty() {
            stopped.push(&assigned.key);
            releases.extend(stops);
        }
    }
    releases.sort();
    releases.dedup();
    if !stopped.is_empty() {
        collector.find(finding(facts, &stopped, &releases));
    }
    collector.verdict("no RoCE data port")
}

/// The table as NCCL sees it in a container whose kernel hides the rows of others: verbs still gives it the host's GIDs in
/// the rows before the container's own, and sysfs refuses their types with EINVAL.
fn with_hidden_rows(port: &Port) -> Port {
    const EINVAL: i32 = 22;
    let mut port = port.clone();
    if let Ok(table) = &mut port.gids {
        let first = table.rows.first().map_or(0, |r| r.index);
        let hidden = (0..first).map(|index| {
            let unread = |file: &str| Unread::new(file, Why::Errno(EINVAL));
            GidRow {
                index,
                // Any IPv4 address will do: 192.0.2.1 is nobody's.
                gid: Gid([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1]),
                kind: Err(unread("types")),
                ndev: Err(unread("ndevs")),
            }
        });
        table.rows = hidden.chain(table.rows.iter().cloned()).collect();
    }
    port
}

fn finding(facts: &Facts, stopped: &[&PortKey], releases: &[Release]) -> Finding {
    let known = !facts.releases.is_empty();
    let which = match releases {
        [first, .., last] if !known => format!("{first} to {last}"),
        all => joined(all),
    };
    let severity = if known {
        Severity::Error
    } else {
        Severity::Note
    };
    let mut finding = Finding::new(
        severity,
        joined(stopped),
        format!(
            "NCCL {which} stops at a GID row whose type it cannot read ({})",
            brief(stopped)
        ),
    );
    for key in stopped {
        let Some((_, port)) = facts.node.port(key) else {
            continue;
        };
        if let Some(index) = first_hole(port) {
            finding = finding.file(
                &port_file(key, &format!("gids/{index}")),
                "0000:0000:0000:0000:0000:0000:0000:0000",
            );
        }
    }
    finding
        .fix("pin the index, which `rdmactl env` does where one is right on all ports, or use NCCL 2.26.2 or newer")
        .command("eval \"$(rdmactl env)\"")
}

/// The first empty row, where there is one before the last that holds something.
fn first_hole(port: &Port) -> Option<u32> {
    let rows = port.gid_rows();
    let last = rows.last()?.index;
    (0..last).find(|i| !rows.iter().any(|r| r.index == *i))
}

#[cfg(test)]
mod tests {
    use super::HOLES_WITH_OLD_NCCL;
    use crate::checks::Severity;
    use crate::checks::port::testing::{Scene, only};

    #[test]
    fn the_release_in_use_decides() {
        let pod = || Scene::of("pod-macvlan");
        let found = pod().release("2.25.1").found(&HOLES_WITH_OLD_NCCL);
        assert_eq!(only(&found).0, Severity::Error);
        assert!(pod().release("2.26.2").passes(&HOLES_WITH_OLD_NCCL));
        let found = pod().found(&HOLES_WITH_OLD_NCCL);
        let (severity, message) = only(&found);
        assert_eq!(severity, Severity::Note);
        assert!(
            message.starts_with("NCCL 2.21.5 to 2.25.1 stops"),
            "{message}"
        );
    }

    #[test]
    fn a_pinned_index_needs_no_search() {
        let pinned = Scene::of("pod-macvlan").setting("NCCL_IB_GID_INDEX", "7");
        assert!(pinned.release("2.25.1").passes(&HOLES_WITH_OLD_NCCL));
        assert!(
            Scene::of("a100-8gpu-roce")
                .release("2.25.1")
                .passes(&HOLES_WITH_OLD_NCCL)
        );
    }
}
