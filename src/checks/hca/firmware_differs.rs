//! `hca.firmware-differs`: equal cards that do not run equal firmware.

use std::collections::BTreeMap;

use crate::checks::port::shared::{device_file, is_candidate, joined, some_of};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};
use crate::model::{Hca, Reading};

declare_check! {
    FIRMWARE_DIFFERS = "hca" / "firmware-differs",
    title: "equal cards run different firmware",
    severity: Warning,
    since: "0.1.0",
    subject: Device,
    reads: [
        "sys/class/infiniband/*/fw_ver",
        "sys/class/infiniband/*/hca_type",
        "sys/class/infiniband/*/board_id",
    ],
    run: run,
}

fn run(facts: &Facts) -> Verdict {
    let mut collector = Collector::default();
    let mut cards: BTreeMap<(&str, &str), Vec<(&Hca, &str)>> = BTreeMap::new();
    for hca in facts.node.hcas().iter().filter(|h| is_candidate(h)) {
        let mut text = |reading: &'_ Reading<String>| match reading {
            Ok(text) if !text.is_empty() => true,
            Err(unread) if !unread.is_absent() => {
                collector.unread(unread);
                false
            }
            _ => false,
        };
        if !(text(&hca.hca_type) & text(&hca.board_id) & text(&hca.fw_ver)) {
            continue;
        }
        if let (Ok(kind), Ok(board), Ok(firmware)) = (&hca.hca_type, &hca.board_id, &hca.fw_ver) {
            collector.look();
            cards
                .entry((kind, board))
                .or_default()
                .push((hca, firmware));
        }
    }
    for ((kind, board), members) in &cards {
        if let Some(finding) = finding(kind, board, members) {
            collector.find(finding);
        }
    }
    collector.verdict("no device that tells its model, board and firmware")
}

fn finding(kind: &str, board: &str, members: &[(&Hca, &str)]) -> Option<Finding> {
    let mut versions: BTreeMap<&str, Vec<&Hca>> = BTreeMap::new();
    for (hca, firmware) in members {
        versions.entry(firmware).or_default().push(hca);
    }
    // Of two equally common versions the one that sorts last is the rule.
    let (rule, _) = versions.iter().max_by_key(|(_, hcas)| hcas.len())?;
    let odd: Vec<&Hca> = members
        .iter()
        .filter(|(_, firmware)| firmware != rule)
        .map(|(hca, _)| *hca)
        .collect();
    if odd.is_empty() {
        return None;
    }
    let others: Vec<&&str> = versions.keys().filter(|v| *v != rule).collect();
    let finding = Finding::new(
        Severity::Warning,
        joined(odd.iter().map(|h| &h.name)),
        format!(
            "firmware {} on {}, {rule} on the other {kind} cards ({board})",
            joined(others),
            some_of(odd.iter().map(|h| &h.name))
        ),
    );
    let finding = members.iter().fold(finding, |f, (hca, firmware)| {
        f.file(&device_file(&hca.name, "fw_ver"), firmware)
    });
    let address = odd.first().and_then(|h| h.pci()).map(|f| f.address);
    Some(match address {
        Some(address) if kind.starts_with("MT") => finding
            .fix("burn one firmware for this board on all of them; what a card runs and has in flash:")
            .command(format!("mstflint -d {address} query")),
        _ => finding.fix("burn one firmware for this board on all of them"),
    })
}

#[cfg(test)]
mod tests {
    use super::FIRMWARE_DIFFERS;
    use crate::checks::port::testing::{Scene, only};
    use crate::model::{Unread, Why};

    #[test]
    fn the_few_are_the_odd_ones() {
        let scene =
            Scene::of("h100-8gpu-infiniband").hca("mlx5_0", |h| h.fw_ver = Ok("28.1.1000".into()));
        let found = scene.found(&FIRMWARE_DIFFERS);
        assert_eq!(found[0].subject, "mlx5_0");
        assert!(only(&found).1.starts_with("firmware 28.1.1000 on mlx5_0"));
        assert!(Scene::of("h100-8gpu-infiniband").passes(&FIRMWARE_DIFFERS));
    }

    #[test]
    fn a_driver_without_the_file_is_left_out_and_a_refusal_is_unknown() {
        let scene = |why: Why| {
            Scene::of("h100-8gpu-infiniband")
                .hca("mlx5_0", |h| h.fw_ver = Err(Unread::new("fw_ver", why)))
        };
        assert!(scene(Why::Absent).passes(&FIRMWARE_DIFFERS));
        assert!(scene(Why::Denied).is_unknown(&FIRMWARE_DIFFERS));
    }
}
