//! `gpu.count`

use super::answer::{driven_gpus, listed};
use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};

declare_check! {
    COUNT = "gpu" / "count",
    title: "the node does not have the number of GPUs it ought to have",
    severity: Error,
    since: "0.1.0",
    subject: Node,
    reads: [
        "sys/bus/pci/devices/*/class",
        "proc/driver/nvidia/gpus/*/information",
    ],
    run: count,
}

fn count(facts: &Facts) -> Verdict {
    let Some(wanted) = facts.expect.gpus else {
        return Verdict::NotApplicable("no number is expected (--expect gpus=N)");
    };
    let (source, names) = match usable(facts) {
        Ok(found) => found,
        Err(verdict) => return verdict,
    };
    if names.len() == wanted {
        return Verdict::Passed(wanted);
    }
    let severity = if names.len() < wanted {
        Severity::Error
    } else {
        // All that are needed are there; the expectation is stale, or the node is not the one that was meant.
        Severity::Warning
    };
    let value = if names.is_empty() {
        "none".to_owned()
    } else {
        listed(&names)
    };
    let message = format!(
        "{} GPUs can be used, and {wanted} are expected",
        names.len()
    );
    let finding = Finding::new(severity, "gpus", message).evidence(source, value);
    let finding = if facts.node.container.is_some() {
        finding.fix(format!(
            "ask for them: `docker run --gpus {wanted}`, or `nvidia.com/gpu: {wanted}` in the limits of the pod's container"
        ))
    } else {
        finding
            .fix("compare with what the card slots hold; gpu.missing names those that PCI still lists")
            .command("lspci -d 10de: -nn")
    };
    Verdict::Found(vec![finding], Vec::new())
}

/// The GPUs a job could use, from the best source there is.
fn usable(facts: &Facts) -> Result<(String, Vec<String>), Verdict> {
    if let Some((smi, path)) = facts.health.vendor.smi.given()
        && !smi.gpus.is_empty()
    {
        let rows = smi.gpus.iter().filter(|g| g.trouble.is_none());
        let name = |g: &crate::model::health::SmiGpu| {
            g.address
                .map_or_else(|| g.index.to_string(), |a| a.to_string())
        };
        return Ok((path.to_owned(), rows.map(name).collect()));
    }
    if let Err(unread) = &facts.node.gpus {
        return Err(Verdict::Unknown(vec![unread.clone()]));
    }
    let driven = driven_gpus(facts);
    let nvidia = driven
        .iter()
        .filter(|g| g.information.is_ok())
        .map(|g| g.pci.address.to_string());
    let others = facts
        .node
        .gpus()
        .iter()
        .filter(|g| !super::answer::is_nvidia(g));
    let names: Vec<String> = nvidia
        .chain(others.map(|g| g.pci.address.to_string()))
        .collect();
    if names.is_empty() && facts.node.container.is_none() {
        let on_pci = driven.iter().map(|g| g.pci.address.to_string());
        return Ok(("/sys/bus/pci/devices".to_owned(), on_pci.collect()));
    }
    Ok(("/sys/bus/pci/devices".to_owned(), names))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Given, findings, gpus, row, run, smi};
    use super::COUNT;
    use crate::checks::{Severity, Verdict};

    fn verdict(lines: String, expect: &[&str]) -> Verdict {
        run(
            &COUNT,
            &Given {
                lines,
                expect,
                ..Given::default()
            },
        )
    }

    #[test]
    fn the_number_is_that_of_usable_gpus() {
        assert!(matches!(verdict(gpus(2), &[]), Verdict::NotApplicable(_)));
        assert_eq!(verdict(gpus(2), &["gpus=2"]), Verdict::Passed(2));
        let lost = gpus(2) + &smi(&(row(1) + "1, [GPU is lost], [GPU is lost]\n"));
        let found = findings(verdict(lost, &["gpus=2"]));
        assert_eq!(found[0].message, "1 GPUs can be used, and 2 are expected");
        let more = findings(verdict(gpus(2), &["gpus=1"]));
        assert_eq!(more[0].severity, Severity::Warning);
        let none = "dir sys/bus/pci/devices\n".to_owned();
        assert_eq!(findings(verdict(none, &["gpus=8"])).len(), 1);
        assert!(matches!(
            verdict(String::new(), &["gpus=8"]),
            Verdict::Unknown(_)
        ));
    }
}
