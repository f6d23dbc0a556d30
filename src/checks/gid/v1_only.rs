//! `gid.v1-only`: a RoCE port that only speaks the version that is not routed.

use crate::checks::port::shared::{judged_by_gid, with_row, with_type};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::roles::{Assigned, NoGid, Reason, RowVerdict, judge_row};

declare_check! {
    V1_ONLY = "gid" / "v1-only",
    title: "a RoCE port has RoCE v1 GIDs only",
    severity: Warning,
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
    for assigned in judged_by_gid(facts) {
        match &assigned.reason {
            Reason::NoGid(NoGid::Unread(unread)) => collector.unread(unread),
            Reason::NoGid(NoGid::V1Only) => collector.find(finding(facts, assigned)),
            _ => collector.look(),
        }
    }
    collector.verdict("no ACTIVE RoCE port")
}

fn finding(facts: &Facts, assigned: &Assigned) -> Finding {
    let key = &assigned.key;
    let finding = Finding::new(
        Severity::Warning,
        key,
        "its addresses have RoCE v1 GIDs only, which no router passes on",
    );
    let rows = facts.node.port(key).map_or(&[][..], |(_, p)| p.gid_rows());
    rows.iter()
        .filter(|r| judge_row(facts.node, r) == RowVerdict::V1)
        .take(1)
        .fold(finding, |f, row| with_type(with_row(f, key, row), key, row))
        .fix("use another port for data; where all nodes share one Ethernet segment, v1 can be asked for")
        .setting("NCCL_IB_ROCE_VERSION_NUM", "1")
}

#[cfg(test)]
mod tests {
    use super::V1_ONLY;
    use crate::checks::port::testing::Scene;
    use crate::model::GidType;

    #[test]
    fn rows_of_one_version_are_found() {
        let scene = Scene::of("a100-8gpu-roce").port("mlx5_1", |p| {
            for row in &mut p.gids.as_mut().unwrap().rows {
                row.kind = Ok(GidType::V1);
            }
        });
        assert_eq!(scene.short(&V1_ONLY), ["warning mlx5_1/1"]);
        assert!(Scene::of("a100-8gpu-roce").passes(&V1_ONLY));
    }
}
