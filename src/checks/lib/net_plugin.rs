//! `lib.net-plugin`

use crate::checks::{Facts, Finding, Severity, Verdict, declare_check};
use crate::model::Transport;
use crate::model::health::NetPlugin;

declare_check! {
    NET_PLUGIN = "lib" / "net-plugin",
    title: "a network plugin takes the place of NCCL's own InfiniBand transport",
    severity: Warning,
    since: "0.1.0",
    subject: Node,
    reads: ["etc/ld.so.cache", "usr/lib*/libnccl-net.so"],
    run: net_plugin,
}

/// Whose plugin it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Maker {
    /// nccl-rdma-sharp-plugins, also in HPC-X and NGC's images.
    Sharp,
    /// aws-ofi-nccl: libfabric.
    Ofi,
    /// Google's gIB.
    Gib,
    /// Not known by its name.
    Unknown,
}

impl Maker {
    fn of(plugin: &NetPlugin) -> Self {
        let has = |word: &str| plugin.path.contains(word) || plugin.target.contains(word);
        if has("sharp") || has("hpcx") || has("hpc-x") {
            Self::Sharp
        } else if has("ofi") || has("aws") {
            Self::Ofi
        } else if has("/gib") {
            Self::Gib
        } else {
            Self::Unknown
        }
    }

    fn what(self) -> &'static str {
        match self {
            Self::Sharp => {
                "nccl-rdma-sharp-plugins' own transport: it reads NCCL_IB_*, but not NCCL_IB_DISABLE"
            }
            Self::Ofi => "aws-ofi-nccl over libfabric: NCCL_IB_* have no effect",
            Self::Gib => "Google's gIB, which brings its own settings",
            Self::Unknown => "a plugin: its rules are its own, not those of NCCL's release",
        }
    }
}

fn net_plugin(facts: &Facts) -> Verdict {
    let plugins = &facts.health.libraries.net_plugins;
    let Some(plugin) = plugins.first() else {
        return Verdict::NotApplicable("no plugin where the loader looks");
    };
    let set = |name: &str| facts.settings.get(name).unwrap_or_default();
    let off = set("NCCL_NET_PLUGIN").eq_ignore_ascii_case("none")
        || set("NCCL_NET").eq_ignore_ascii_case("IB")
        || set("NCCL_NET").eq_ignore_ascii_case("Socket");
    if off {
        return Verdict::Passed(plugins.len());
    }
    let maker = Maker::of(plugin);
    let verbs = facts
        .node
        .hcas()
        .iter()
        .any(|h| h.transport() == Transport::Verbs);
    // libfabric on a node of verbs devices is some other cloud's image.
    let severity = if maker == Maker::Ofi && verbs {
        Severity::Warning
    } else {
        Severity::Note
    };
    let mut finding = Finding::new(
        severity,
        "libnccl-net.so",
        format!("NCCL loads {}", maker.what()),
    )
    .evidence(
        &plugin.path,
        if plugin.target == plugin.path {
            "exists"
        } else {
            &plugin.target
        },
    );
    finding = match maker {
        Maker::Sharp => {
            finding.fix("nothing, if it is wanted; NCCL_IBEXT_DISABLE=1 switches its transport off")
        }
        Maker::Ofi if verbs => finding
            .fix("choose NCCL's own transport")
            .setting("NCCL_NET", "IB"),
        _ => finding.fix("nothing, if it is wanted; NCCL_NET_PLUGIN=none leaves it out"),
    };
    Verdict::Found(vec![finding], Vec::new())
}

#[cfg(test)]
mod tests {
    use super::super::super::gpu::fixture::{Given, findings, hca, run};
    use super::NET_PLUGIN;
    use crate::checks::{Severity, Verdict};

    fn verdict(lines: &str, env: &[(&str, &str)]) -> Verdict {
        run(
            &NET_PLUGIN,
            &Given {
                lines: hca(1) + lines,
                env,
                ..Given::default()
            },
        )
    }

    #[test]
    fn the_maker_decides_what_is_said() {
        let hpcx = "exists opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so\n";
        let path = ("LD_LIBRARY_PATH", "/opt/hpcx/nccl_rdma_sharp_plugin/lib");
        let found = findings(verdict(hpcx, &[path]));
        assert_eq!(found[0].severity, Severity::Note);
        assert!(found[0].message.contains("NCCL_IB_DISABLE"));
        assert_eq!(
            verdict(hpcx, &[path, ("NCCL_NET", "IB")]),
            Verdict::Passed(1)
        );
        assert_eq!(
            verdict(hpcx, &[path, ("NCCL_NET_PLUGIN", "none")]),
            Verdict::Passed(1)
        );
        assert!(matches!(verdict(hpcx, &[]), Verdict::NotApplicable(_)));
        let ofi = "link usr/lib64/libnccl-net.so libnccl-net-ofi.so\nexists usr/lib64/libnccl-net-ofi.so\n";
        assert_eq!(findings(verdict(ofi, &[]))[0].severity, Severity::Warning);
    }
}
