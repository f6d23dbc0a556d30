//! The checks of these families on real outputs and cases, where they are beside the project.
#![allow(
    clippy::disallowed_methods,
    reason = "the cases are files beside the project, laid out by a program of theirs"
)]

use std::path::{Path, PathBuf};

use super::fixture::{Given, findings, on_root, run, smi};
use crate::checks::{Severity, driver, find, gdr, lib};
use crate::nccl::release::Release;
use crate::parse::parse_smi_query;
use crate::sys::Root;

/// A directory beside the project; says so where it is absent.
fn shared(path: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../shared")
        .join(path);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {} is not there", path.display());
    None
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Lays a case out as a directory.
fn case(name: &str) -> Option<(tempfile::TempDir, Root)> {
    let case = shared(&format!("cases/{name}.json"))?;
    let tool = shared("tools/mkroot.py")?;
    let dir = tempfile::tempdir().unwrap();
    let status = std::process::Command::new("python3")
        .args([&tool, &case])
        .arg(dir.path())
        .status()
        .unwrap();
    assert!(status.success());
    let root = Root::open(dir.path()).unwrap();
    Some((dir, root))
}

#[test]
fn case_032_a_module_that_the_release_does_not_look_for() {
    let Some((_dir, root)) = case("032-nccl-1676-peermem-nccl-too-old") else {
        return;
    };
    let given = Given {
        releases: &[Release::new(2, 22, 3)],
        ..Given::default()
    };
    let check = find("gdr.peermem-unseen").unwrap();
    let found = findings(on_root(check, &root, &given));
    assert_eq!(found[0].severity, Severity::Warning);
    assert_eq!(found[0].subject, "nvidia_peermem");
}

#[test]
fn case_081_a_gpu_without_handle() {
    let Some((_dir, root)) = case("081-nvidia-smi-failing-gpu") else {
        return;
    };
    let check = find("gpu.missing").unwrap();
    let found = findings(on_root(check, &root, &Given::default()));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Error);
    assert_eq!(found[0].subject, "0000:34:00.0");
}

#[test]
fn case_081_every_answer_is_an_error_of_one_of_two_checks() {
    let Some(path) = shared("cases/081-nvidia-smi-failing-gpu.json") else {
        return;
    };
    let case: serde_json::Value = serde_json::from_str(&text(&path)).unwrap();
    for row in case["rows"].as_array().unwrap() {
        let stdout = row["stdout"].as_str().unwrap();
        let lines = super::fixture::gpus(8)
            + &smi(stdout)
            + &format!(
                "file commands/nvidia-smi-query.stderr <<END\n{}END\n",
                row["stderr"].as_str().unwrap()
            );
        let given = Given {
            lines,
            ..Given::default()
        };
        let both =
            ["gpu.missing", "driver.nvidia"].map(|id| findings(run(find(id).unwrap(), &given)));
        let errors: Vec<_> = both
            .iter()
            .flatten()
            .filter(|f| f.severity == Severity::Error)
            .collect();
        assert_eq!(errors.len(), 1, "{row}");
        if let Some(gpu) = row["gpu"].as_str() {
            assert_eq!(errors[0].subject, gpu);
        }
    }
}

#[test]
fn nodes_without_these_faults_are_not_blamed() {
    for name in [
        "003-nccl-769-bond0-gid1-vs-3",
        "013-dgx-spark-2up-2down",
        "022-shared-plugin-all-hcas-visible",
        "064-amd-ionic-index1",
    ] {
        let Some((_dir, root)) = case(name) else {
            return;
        };
        let families = [super::ALL, driver::ALL, gdr::ALL, lib::ALL];
        for check in families.into_iter().flatten() {
            let found = findings(on_root(check, &root, &Given::default()));
            assert!(found.is_empty(), "{name}: {found:?}");
        }
    }
}

#[test]
fn outputs_of_real_gpus_are_parsed() {
    let Some(dir) =
        shared("captures/nvidia-k8s-test-infra/tests/e2e/go/assertions/nvidiasmi/testdata")
    else {
        return;
    };
    let mut files = 0;
    for folder in [dir.clone(), dir.join("hardware")] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|e| e != "xml") {
                continue;
            }
            files += 1;
            let xml = text(&path);
            let rows = rows_of(&xml);
            let answer = parse_smi_query(&rows, "");
            assert_eq!(
                answer.gpus.len(),
                xml.matches("<gpu id=").count(),
                "{}",
                path.display()
            );
            assert!(
                answer
                    .gpus
                    .iter()
                    .all(|g| g.address.is_some() || g.trouble.is_some()),
                "{rows}"
            );
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let troubled = answer.gpus.iter().filter(|g| g.trouble.is_some()).count();
            assert_eq!(troubled, usize::from(name == "qx-gb200-lost.xml"), "{name}");
        }
    }
    assert!(files >= 10, "{files}");
}

/// The rows `--query-gpu` prints for an XML answer: the same texts in its fields.
fn rows_of(xml: &str) -> String {
    let field = |gpu: &str, name: &str| {
        let after = gpu.split_once(&format!("<{name}>"));
        let value = after.and_then(|(_, rest)| rest.split_once('<'));
        match value.map(|(value, _)| value.trim()) {
            None | Some("N/A") => "[N/A]".to_owned(),
            Some(value) => value.to_owned(),
        }
    };
    let driver = field(xml, "driver_version");
    let mut rows = String::new();
    for (index, gpu) in xml.split("<gpu id=").skip(1).enumerate() {
        let memory = gpu.split_once("<fb_memory_usage>").map_or("", |(_, m)| m);
        let ecc = gpu.split_once("<volatile>").map_or("", |(_, v)| v);
        let fields = [
            index.to_string(),
            field(gpu, "pci_bus_id"),
            field(gpu, "uuid"),
            field(gpu, "product_name"),
            driver.clone(),
            field(memory, "total").replace(" MiB", ""),
            field(gpu, "persistence_mode"),
            field(gpu, "current_mig"),
            field(ecc, "dram_uncorrectable"),
        ];
        rows += &(fields.join(", ") + "\n");
    }
    rows
}

#[test]
fn outputs_of_a_cloud_node_are_told_from_rows() {
    let Some(dir) = shared("captures/azhpc-diagnostics/Linux/test") else {
        return;
    };
    let warned = parse_smi_query(&text(&dir.join("samples/nvidia-smi-inforom.out")), "");
    assert!(warned.gpus.is_empty() && warned.no_handle.is_empty());
    assert!(
        warned
            .messages
            .iter()
            .any(|m| m.contains("infoROM is corrupted"))
    );
    let csv = parse_smi_query(&text(&dir.join("mock_data/nvidia-smi-query-gpu.csv")), "");
    assert_eq!(csv.gpus.len(), 4);
    let log = parse_smi_query(&text(&dir.join("samples/nvidia-smi-q.out")), "");
    assert!(log.gpus.is_empty() && log.failure.is_none());
}
