//! `sys.cpu-governor`

use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};

declare_check! {
    CPU_GOVERNOR = "sys" / "cpu-governor",
    title: "CPUs are not kept at full speed",
    severity: Note,
    since: "0.1.0",
    subject: Node,
    reads: ["sys/devices/system/cpu/cpufreq/*/scaling_governor"],
    run: cpu_governor,
}

fn cpu_governor(facts: &Facts) -> Verdict {
    let mut seen = Collector::default();
    let governors = match &facts.health.kernel.governors {
        Ok(governors) => governors,
        Err(unread) if unread.is_absent() => {
            return seen.verdict("the kernel does not scale this machine's CPU frequencies");
        }
        Err(unread) => {
            seen.unread(unread);
            return seen.verdict("");
        }
    };
    let total: u32 = governors.values().sum();
    for _ in 0..total {
        seen.look();
    }
    let slower: Vec<(&str, u32)> = governors
        .iter()
        .filter(|(name, _)| name.as_str() != "performance")
        .map(|(name, count)| (name.as_str(), *count))
        .collect();
    let Some((first, _)) = slower.first() else {
        return seen.verdict("no CPU frequency policy here");
    };
    let names: Vec<String> = slower
        .iter()
        .map(|(name, count)| format!("{name} on {count}"))
        .collect();
    seen.find(
        Finding::new(
            Severity::Note,
            "cpufreq",
            format!(
                "governor {} of {total} frequency policies",
                names.join(", ")
            ),
        )
        .evidence(
            "/sys/devices/system/cpu/cpufreq",
            format!("scaling_governor {first}"),
        )
        .fix("keep the CPUs at full speed while a job runs")
        .command("cpupower frequency-set -g performance"),
    );
    seen.verdict("")
}

#[cfg(test)]
mod tests {
    use super::CPU_GOVERNOR;
    use crate::checks::Verdict;
    use crate::checks::net::fixture::{Bench, absent, denied};

    #[test]
    fn other_governors_are_noted() {
        let mut bench = Bench::new();
        bench.health.kernel.governors = Ok([("performance".into(), 4)].into());
        assert_eq!(bench.run(&CPU_GOVERNOR), Verdict::Passed(4));
        bench.health.kernel.governors =
            Ok([("performance".into(), 4), ("powersave".into(), 2)].into());
        assert_eq!(
            bench.findings(&CPU_GOVERNOR)[0].message,
            "governor powersave on 2 of 6 frequency policies"
        );
    }

    #[test]
    fn absence_and_refusal_differ() {
        let mut bench = Bench::new();
        bench.health.kernel.governors = absent("cpufreq");
        assert!(matches!(
            bench.run(&CPU_GOVERNOR),
            Verdict::NotApplicable(_)
        ));
        bench.health.kernel.governors = denied("cpufreq");
        assert!(matches!(bench.run(&CPU_GOVERNOR), Verdict::Unknown(_)));
    }
}
