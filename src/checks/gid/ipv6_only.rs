//! `gid.ipv6-only`: a fabric whose addresses are IPv6, for which NCCL does not look by itself.

use crate::checks::port::shared::{brief, joined, roce_data, with_row};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::GidClass;
use crate::roles::Assigned;

declare_check! {
    IPV6_ONLY = "gid" / "ipv6-only",
    title: "data ports have IPv6 GIDs and no IPv4 one",
    severity: Note,
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
    let mut found: Vec<&Assigned> = Vec::new();
    for port in roce_data(facts) {
        collector.look();
        // IPv4 comes first where there is one.
        if port
            .gid
            .as_ref()
            .is_some_and(|r| r.gid.class() == GidClass::Ipv6)
        {
            found.push(port);
        }
    }
    if !found.is_empty() {
        let names = found.iter().map(|p| &p.key);
        let finding = Finding::new(
            Severity::Note,
            joined(names.clone()),
            format!(
                "no IPv4 RoCE v2 GID ({}): with nothing set NCCL looks for IPv4 only",
                brief(names)
            ),
        );
        let finding = found.iter().fold(finding, |f, p| match &p.gid {
            Some(row) => with_row(f, &p.key, row),
            None => f,
        });
        collector.find(
            finding
                .fix("let NCCL look for IPv6; `rdmactl env` sets it, or the index")
                .command("eval \"$(rdmactl env)\"")
                .setting("NCCL_IB_ADDR_FAMILY", "AF_INET6"),
        );
    }
    collector.verdict("no RoCE data port")
}

#[cfg(test)]
mod tests {
    use super::IPV6_ONLY;
    use crate::checks::port::testing::Scene;

    #[test]
    fn all_ports_are_one_finding() {
        assert_eq!(Scene::of("ipv6-only-fabric").found(&IPV6_ONLY).len(), 1);
        assert!(Scene::of("a100-8gpu-roce").passes(&IPV6_ONLY));
    }
}
