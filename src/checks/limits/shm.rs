//! `limits.shm`

use super::{amount, has_rdma};
use crate::checks::{Collector, Facts, Finding, Severity, Verdict, declare_check};

declare_check! {
    SHM = "limits" / "shm",
    title: "/dev/shm is too small for NCCL and data loaders",
    severity: Error,
    since: "0.1.0",
    subject: Node,
    reads: ["commands/df-shm.txt", "proc/mounts"],
    run: shm,
}

fn shm(facts: &Facts) -> Verdict {
    let mut seen = Collector::default();
    let gpus = u64::try_from(facts.node.gpus().len()).unwrap_or(u64::MAX);
    if gpus == 0 && !has_rdma(facts) {
        return seen.verdict("neither a GPU nor an RDMA device here");
    }
    let Some(&shared) = seen.value(&facts.health.limits.shared_memory) else {
        return seen.verdict("");
    };
    seen.look();
    let limit = |name| facts.thresholds.get(name);
    let wanted = limit("shm-warning").max(gpus.saturating_mul(limit("shm-per-gpu")));
    let (size, least) = (shared.size_bytes, limit("shm-error"));
    let free = shared.available_bytes.unwrap_or(size);
    let (severity, message) = if size < least {
        (
            Severity::Error,
            format!("{}: NCCL needs at least {}", amount(size), amount(least)),
        )
    } else if size < wanted && gpus > 0 {
        let who = if gpus == 1 {
            "1 GPU".to_owned()
        } else {
            format!("{gpus} GPUs")
        };
        (
            Severity::Warning,
            format!(
                "{}, less than the {} that {who} may need",
                amount(size),
                amount(wanted)
            ),
        )
    } else if size < wanted {
        (
            Severity::Warning,
            format!("{}, less than {}", amount(size), amount(wanted)),
        )
    } else if free < least {
        (
            Severity::Warning,
            format!(
                "{} of {} free: old segments may be left behind",
                amount(free),
                amount(size)
            ),
        )
    } else {
        return seen.verdict("");
    };
    let finding = Finding::new(severity, "/dev/shm", message)
        .file(shared.source, format!("size {size}, free {free}"));
    let gib = (wanted >> 30).max(1);
    seen.find(if size >= wanted {
        finding
            .fix("remove segments of jobs that have ended")
            .command("ls -l /dev/shm")
    } else if facts.node.container.is_some() {
        finding
            .fix(
                "docker run --shm-size; in a pod mount an emptyDir with medium: Memory at /dev/shm",
            )
            .command(format!("docker run --shm-size={gib}g IMAGE"))
    } else {
        finding
            .fix("make it larger, also in /etc/fstab")
            .command(format!("mount -o remount,size={gib}G /dev/shm"))
    });
    seen.verdict("")
}

#[cfg(test)]
mod tests {
    use super::SHM;
    use crate::checks::net::fixture::{Bench, absent};
    use crate::checks::{Severity, Verdict};
    use crate::model::health::SharedMemory;

    fn bench(size_bytes: u64, gpus: usize) -> Bench {
        let mut bench = Bench::new();
        for i in 0..gpus {
            bench.gpu(&format!("pci0000:{i:02x}/0000:{i:02x}:01.0"), 0);
        }
        bench.health.limits.shared_memory = Ok(SharedMemory {
            size_bytes,
            available_bytes: Some(size_bytes),
            source: "commands/df-shm.txt",
        });
        bench
    }

    #[test]
    fn dockers_default_is_an_error() {
        let mut bench = bench(64 << 20, 2);
        bench.node.container = Some("/.dockerenv".into());
        let findings = bench.findings(&SHM);
        assert_eq!(findings[0].subject, "/dev/shm");
        assert_eq!(findings[0].severity, Severity::Error);
        assert!(findings[0].message.starts_with("64 MiB"));
        let remedy = findings[0].remedy.as_ref().unwrap();
        assert_eq!(
            remedy.command.as_deref(),
            Some("docker run --shm-size=8g IMAGE")
        );
    }

    #[test]
    fn more_gpus_want_more() {
        assert_eq!(bench(8 << 30, 8).run(&SHM), Verdict::Passed(1));
        let findings = bench(8 << 30, 16).findings(&SHM);
        assert_eq!(findings[0].severity, Severity::Warning);
        assert!(findings[0].message.contains("16 GiB"), "{findings:?}");
    }

    #[test]
    fn a_full_one_is_found_too() {
        let mut bench = bench(64 << 30, 8);
        let shared = bench.health.limits.shared_memory.as_mut().unwrap();
        shared.available_bytes = Some(1000);
        assert!(bench.findings(&SHM)[0].message.contains("free"));
        let shared = bench.health.limits.shared_memory.as_mut().unwrap();
        shared.available_bytes = None;
        assert_eq!(bench.run(&SHM), Verdict::Passed(1));
    }

    #[test]
    fn thresholds_can_be_changed() {
        let mut bench = bench(4 << 30, 1);
        bench.thresholds.set("shm-warning", 1 << 30).unwrap();
        assert_eq!(bench.run(&SHM), Verdict::Passed(1));
    }

    #[test]
    fn not_having_seen_it_is_unknown() {
        let mut bench = bench(0, 1);
        bench.health.limits.shared_memory = absent("dev/shm");
        assert!(matches!(bench.run(&SHM), Verdict::Unknown(_)));
        assert!(matches!(Bench::new().run(&SHM), Verdict::NotApplicable(_)));
    }
}
