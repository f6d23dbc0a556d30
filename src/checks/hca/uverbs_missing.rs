//! `hca.uverbs-missing`: a device in sysfs that no program can open.

use crate::checks::port::shared::{brief, is_candidate, joined, severity_of_loss};
use crate::checks::{Collector, Facts, Finding, Verdict, declare_check};
use crate::model::Hca;

declare_check! {
    UVERBS_MISSING = "hca" / "uverbs-missing",
    title: "an RDMA device has no /dev/infiniband/uverbsN",
    severity: Error,
    since: "0.1.0",
    subject: Device,
    reads: ["sys/class/infiniband_verbs/*/ibdev", "dev/infiniband"],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    let node = facts.node;
    if !node.hcas().iter().any(is_candidate) {
        return collector.verdict("no RDMA device");
    }
    if let Err(unread) = &node.dev_infiniband
        && node.container.is_none()
    {
        collector.unread(unread);
        return collector.verdict("no RDMA device");
    }
    let mut missing: Vec<&Hca> = Vec::new();
    for hca in node.hcas().iter().filter(|h| is_candidate(h)) {
        match (hca.uverbs.number, hca.uverbs.node_exists) {
            (Some(_), Some(true)) => collector.look(),
            (None, _) | (_, Some(false)) => missing.push(hca),
            (Some(_), None) => {
                if let Err(unread) = &node.dev_infiniband {
                    collector.unread(unread);
                }
            }
        }
    }
    if !missing.is_empty() {
        collector.find(finding(facts, &missing));
    }
    collector.verdict("no RDMA device")
}

fn finding(facts: &Facts, missing: &[&Hca]) -> Finding {
    let names = missing.iter().map(|h| &h.name);
    let numbers: Vec<u32> = missing.iter().filter_map(|h| h.uverbs.number).collect();
    let what = if numbers.is_empty() {
        "unknown to ib_uverbs".to_owned()
    } else {
        format!(
            "no /dev/infiniband/{}",
            brief(numbers.iter().map(|n| format!("uverbs{n}")))
        )
    };
    let finding = Finding::new(
        severity_of_loss(facts),
        joined(names.clone()),
        format!(
            "visible in sysfs, not usable here: {} ({what})",
            brief(names)
        ),
    );
    let finding = missing
        .iter()
        .fold(finding, |f, hca| match hca.uverbs.number {
            Some(n) => f.file(
                &format!("sys/class/infiniband_verbs/uverbs{n}/ibdev"),
                &hca.name,
            ),
            None => f.file(
                &format!("sys/class/infiniband/{}", hca.name),
                "no uverbs device",
            ),
        });
    if facts.node.container.is_some() {
        finding
            .fix("give the container the devices: in Docker as below; in a pod the RDMA plugin's resource under resources.limits")
            .command("docker run --device=/dev/infiniband ...")
    } else if numbers.is_empty() {
        finding
            .fix("load the module that makes the device nodes")
            .command("modprobe ib_uverbs")
    } else {
        finding
            .fix("let udev make the device nodes again")
            .command("udevadm trigger --subsystem-match=infiniband_verbs")
    }
}

#[cfg(test)]
mod tests {
    use super::UVERBS_MISSING;
    use crate::checks::port::testing::Scene;

    #[test]
    fn the_devices_of_a_node_are_one_finding() {
        let scene = Scene::of("a100-8gpu-roce")
            .hca("mlx5_1", |h| h.uverbs.node_exists = Some(false))
            .hca("mlx5_2", |h| h.uverbs.node_exists = Some(false));
        assert_eq!(scene.short(&UVERBS_MISSING), ["warning mlx5_1, mlx5_2"]);
        assert!(Scene::of("a100-8gpu-roce").passes(&UVERBS_MISSING));
    }

    #[test]
    fn it_is_an_error_where_nothing_is_left() {
        let scene =
            Scene::of("bond-only").hca("mlx5_bond_0", |h| h.uverbs.node_exists = Some(false));
        assert_eq!(scene.short(&UVERBS_MISSING), ["error mlx5_bond_0"]);
    }
}
