//! Resolution of a path inside a root, for roots where the kernel does not do it: links are followed, and an absolute
//! target or `..` never leads outside.

use crate::model::Why;

/// Number of links after which a path is a loop, as in the kernel.
const MAX_LINKS: usize = 40;

/// Resolves a path component by component. `read_link` answers `Some(target)` for a link, `None` for anything else.
pub(super) fn resolve(
    path: &str,
    follow_last: bool,
    mut read_link: impl FnMut(&str) -> Option<String>,
) -> Result<String, Why> {
    const ELOOP: i32 = 40;
    let mut todo = path.to_owned();
    let mut at = 0;
    let mut done = String::with_capacity(path.len());
    let mut links = 0;
    loop {
        let rest = &todo[at..];
        let Some(component) = components(rest).next() else {
            return Ok(done);
        };
        // The component is a part of the text it was found in.
        at += rest.find(component).unwrap_or_default() + component.len();
        let parent = done.len();
        if component == ".." {
            done.truncate(done.rfind('/').unwrap_or_default());
            continue;
        }
        if !done.is_empty() {
            done.push('/');
        }
        done.push_str(component);
        if !follow_last && components(&todo[at..]).next().is_none() {
            return Ok(done);
        }
        if let Some(target) = read_link(&done) {
            links += 1;
            if links > MAX_LINKS {
                return Err(Why::Errno(ELOOP));
            }
            done.truncate(if target.starts_with('/') { 0 } else { parent });
            todo = format!("{target}/{}", &todo[at..]);
            at = 0;
        }
    }
}

/// Joins a link's target to the directory the link lies in, without looking at the machine.
pub(super) fn join_link(link: &str, target: &str) -> String {
    let mut done: Vec<&str> = if target.starts_with('/') {
        Vec::new()
    } else {
        let mut parts: Vec<&str> = components(link).collect();
        parts.pop();
        parts
    };
    for component in components(target) {
        if component == ".." {
            done.pop();
        } else {
            done.push(component);
        }
    }
    done.join("/")
}

/// The components of a path without empty ones and `.`.
fn components(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|c| !c.is_empty() && *c != ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_links_and_dots_stay_inside() {
        let links = |p: &str| match p {
            "a" => Some("/b".to_owned()),
            "b/out" => Some("../../../../etc".to_owned()),
            _ => None,
        };
        assert_eq!(resolve("a/x", true, links).unwrap(), "b/x");
        assert_eq!(resolve("a/out/passwd", true, links).unwrap(), "etc/passwd");
    }

    #[test]
    fn a_loop_ends() {
        assert_eq!(
            resolve("a", true, |_| Some("a".to_owned())),
            Err(Why::Errno(40))
        );
    }

    #[test]
    fn the_last_link_is_kept_when_asked() {
        assert_eq!(resolve("a", false, |_| Some("b".to_owned())).unwrap(), "a");
    }

    #[test]
    fn a_target_is_relative_to_the_links_directory() {
        assert_eq!(
            join_link("sys/class/infiniband/mlx5_0", "../../devices/pci0000:00/x"),
            "sys/devices/pci0000:00/x"
        );
        assert_eq!(join_link("sys/class/x", "/sys/devices/y"), "sys/devices/y");
    }
}
