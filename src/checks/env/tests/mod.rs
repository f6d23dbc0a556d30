//! Tests of the family: tables of values, records of NCCL itself, and generated settings.

mod oracle;
mod property;
mod rows;
mod table;

use std::collections::BTreeMap;

use super::ALL;
use crate::checks::{Expectations, Facts, Finding, Thresholds, Verdict};
use crate::lint::{Analysis, Sources};
use crate::model::Node;
use crate::model::health::Health;
use crate::nccl::config::Settings;
use crate::nccl::release::Release;
use crate::roles::{Decision, Rules};

/// An environment as sources.
fn sources(variables: impl IntoIterator<Item = (String, String)>) -> Sources {
    Sources {
        whose: "this process".into(),
        environment: variables.into_iter().collect::<BTreeMap<_, _>>(),
        ..Sources::default()
    }
}

/// Everything the family finds, with the ids.
fn findings(
    node: &Node,
    decision: &Decision,
    sources: &Sources,
    releases: &[Release],
) -> Vec<(&'static str, Finding)> {
    let rules = Rules::default();
    let analysis = Analysis::new(node, decision, &rules, sources, releases);
    of_analysis(&analysis)
}

fn of_analysis(analysis: &Analysis) -> Vec<(&'static str, Finding)> {
    let settings = Settings::default();
    let (health, expect, thresholds) = (
        Health::default(),
        Expectations::default(),
        Thresholds::default(),
    );
    let facts = Facts {
        node: analysis.node,
        decision: analysis.decision,
        health: &health,
        releases: &[],
        settings: &settings,
        lint: Some(analysis),
        expect: &expect,
        thresholds: &thresholds,
    };
    ALL.iter()
        .flat_map(|check| match (check.run)(&facts) {
            Verdict::Found(findings, _) => {
                assert!(
                    findings.iter().all(|f| f.severity <= check.severity),
                    "{} finds worse than it declares",
                    check.id
                );
                findings.into_iter().map(|f| (check.id, f)).collect()
            }
            _ => Vec::new(),
        })
        .collect()
}
