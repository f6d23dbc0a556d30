//! Reads what `check` looks at beside the node. Every part is read by itself and says what it could not read.

mod counters;
mod kernel;
mod library;
mod limits;
mod link;
mod modules;
mod program;
mod run;
mod vendor;
mod verbs;

use super::{Env, Root};
use crate::model::Node;
use crate::model::health::Health;

pub(crate) use program::{Programs, start_nvidia_smi, start_programs};

/// How much is read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HealthScope {
    /// Read the counters twice, so many milliseconds apart.
    pub(crate) interval_ms: Option<u64>,
}

/// Reads everything beside the node. `programs` were started before, so that they run while the node is read.
pub(crate) fn read_health(
    root: &Root,
    env: &Env,
    node: &Node,
    programs: Programs,
    scope: HealthScope,
) -> Health {
    let counters = counters::read(root, node, scope.interval_ms);
    let mut health = Health {
        links: link::read_links(root, node),
        bridges: link::read_bridges(root, node),
        limits: limits::read(root),
        kernel: kernel::read(root, node),
        libraries: library::read(root, env),
        pkeys: verbs::read_pkeys(root, node),
        uverbs_access: verbs::read_access(root, node),
        counters,
        ..Health::default()
    };
    // Last: whoever is slow has had the whole time.
    health.programs = programs.finish(root);
    health.vendor = vendor::of(&health.programs);
    health
}

/// Reads only what is known of the GPUs and their driver. `programs` is `nvidia-smi`, started before.
pub(crate) fn read_gpu_health(root: &Root, node: &Node, programs: Programs) -> Health {
    let mut health = Health::default();
    modules::fill(root, node, &mut health.kernel);
    health.programs = programs.finish(root);
    health.vendor = vendor::of(&health.programs);
    health
}
