//! `rdmactl capture`: this node as one text file.

use std::path::PathBuf;

use clap::Args;

use super::Cx;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::lint::is_known_variable;
use crate::nccl::config::candidates;
use crate::nccl::release::Release;
use crate::redact::Redactor;
use crate::sys::{
    HealthScope, Root, Scope, find_nccl, passwd_home, read_health, read_node, start_programs,
    write_private,
};

/// Arguments of `capture`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    rdmactl capture -o node.capture           on the node\n  \
    rdmactl --root node.capture env           anywhere else\n\n\
Of the environment only the variables of NCCL and its kin are kept. The file is readable by its owner only.")]
pub(crate) struct CaptureArgs {
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace host names, MAC addresses, GUIDs and public addresses, each consistently
    #[arg(long)]
    redact: bool,
}

pub(crate) fn run(args: &CaptureArgs, cx: &mut Cx) -> Result<Exit> {
    let mut root = std::mem::replace(&mut cx.root, Root::live());
    root.start_recording();
    let programs = start_programs(&root, &cx.env);
    let node = read_node(&root, Scope::FULL);
    let _ = read_health(&root, &cx.env, &node, programs, HealthScope::default());
    let _ = find_nccl(&root, &cx.env);
    for release in [Release::OLDEST, Release::NEWEST] {
        let home = passwd_home(&root);
        for path in candidates(cx.env.vars(), home.as_deref(), release) {
            let _ = root.raw_text(path.trim_start_matches('/'));
        }
    }
    let mut tree = root.recorded();
    // The password file is read for one home directory, and is nobody else's business.
    tree.remove("etc/passwd");
    tree.env = Some(
        cx.env
            .vars()
            .iter()
            .filter(|(name, _)| is_known_variable(name))
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect(),
    );
    if args.redact {
        Redactor::new(node.hostname.as_deref().ok()).redact(&mut tree);
    }
    let text = tree.write();
    match &args.output {
        None => cx.out.write_all(text.as_bytes())?,
        Some(path) => {
            write_private(path, text.as_bytes()).map_err(|e| {
                Error::could_not_run(
                    anyhow::Error::from(e).context(format!("could not write {}", path.display())),
                )
                .hint("an existing file is not replaced")
            })?;
            cx.note(&format!(
                "{} written; it is readable by you only",
                path.display()
            ));
        }
    }
    super::say_unread(cx, &node);
    Ok(Exit::Fine)
}
