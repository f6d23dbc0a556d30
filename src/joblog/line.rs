//! The front of a line: who says it. What launchers put before it is looked through for the rank.

use std::borrow::Cow;

use super::text::find;

/// How NCCL labels a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// `NCCL INFO`.
    Info,
    /// `NCCL WARN`.
    Warn,
    /// `NCCL TRACE` and what else only debug builds print.
    Other,
}

/// A message of NCCL with its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The host as NCCL names it: up to the first dot.
    pub(super) host: &'a str,
    /// The process.
    pub(super) pid: u32,
    /// The rank, when the launcher's prefix tells it.
    pub(super) rank: Option<u32>,
    pub(super) level: Level,
    /// What is said.
    pub(super) text: &'a str,
}

/// Removes terminal sequences (`ESC [ ... letter`).
pub(super) fn without_colours(line: &[u8]) -> Cow<'_, [u8]> {
    const ESCAPE: u8 = 0x1b;
    if memchr::memchr(ESCAPE, line).is_none() {
        return Cow::Borrowed(line);
    }
    let mut out = Vec::with_capacity(line.len());
    let mut bytes = line.iter().copied().peekable();
    while let Some(b) = bytes.next() {
        if b != ESCAPE {
            out.push(b);
        } else if bytes.peek() == Some(&b'[') {
            bytes.next();
            // Parameters and intermediates, then one final byte from `@` to `~`.
            for b in bytes.by_ref() {
                if (0x40..=0x7e).contains(&b) {
                    break;
                }
            }
        }
    }
    Cow::Owned(out)
}

/// Takes a message apart. `None` for text that merely mentions NCCL.
///
/// ```text
/// host:pid:tid [dev] NCCL INFO text
/// host:pid:tid [dev] file:line NCCL WARN text
/// [2026-03-01 10:00:00] host:pid:tid [dev] file:line (function) NCCL WARN text
/// ```
pub(super) fn parse(line: &str) -> Option<Line<'_>> {
    let (before, level, text) = split_at_label(line)?;
    let Some((lead, host, pid)) = origin(before) else {
        // The origin may have been torn off by another rank's output.
        return Some(Line {
            host: "",
            pid: 0,
            rank: launcher_rank(before),
            level,
            text,
        });
    };
    Some(Line {
        host,
        pid,
        rank: launcher_rank(lead),
        level,
        text,
    })
}

/// A second message that another process has written into the same line.
pub(super) fn second(text: &str) -> Option<(&str, &str)> {
    let (before, _, _) = split_at_label(text)?;
    let (lead, _, _) = origin(before)?;
    text.split_at_checked(lead.len())
}

fn split_at_label(line: &str) -> Option<(&str, Level, &str)> {
    const NAME: &str = "NCCL ";
    let mut from = 0;
    loop {
        let at = from + find(line.get(from..)?, NAME)?;
        let rest = line.get(at + NAME.len()..)?;
        let level = match rest.as_bytes().first() {
            Some(b'I') if rest.starts_with("INFO ") => Some((Level::Info, "INFO ".len())),
            Some(b'W') if rest.starts_with("WARN ") => Some((Level::Warn, "WARN ".len())),
            Some(b'T') if rest.starts_with("TRACE ") => Some((Level::Other, "TRACE ".len())),
            Some(b'C') if rest.starts_with("CALL ") => Some((Level::Other, "CALL ".len())),
            Some(b'A') if rest.starts_with("ABORT ") => Some((Level::Warn, "ABORT ".len())),
            _ => None,
        };
        if let Some((level, length)) = level {
            return Some((line.get(..at)?, level, rest.get(length..)?));
        }
        from = at + NAME.len();
    }
}

/// `lead host:pid:tid [dev] ...` from its end: what stands before, the host and the process.
fn origin(before: &str) -> Option<(&str, &str, u32)> {
    const MOST_WORDS: usize = 8;
    let mut rest = before.trim_end();
    for _ in 0..MOST_WORDS {
        let (left, last) = match memchr::memrchr(b' ', rest.as_bytes()) {
            Some(at) => (rest.get(..at)?.trim_end(), rest.get(at + 1..)?),
            None => ("", rest),
        };
        if is_device(last)
            && let Some(found) = process(left)
        {
            return Some(found);
        }
        if left.is_empty() {
            // Very early messages have no device yet.
            return None;
        }
        rest = left;
    }
    None
}

/// `[0]`, and `[-1]` before a device is chosen.
fn is_device(word: &str) -> bool {
    word.strip_prefix('[')
        .and_then(|w| w.strip_suffix(']'))
        .is_some_and(|n| {
            let n = n.strip_prefix('-').unwrap_or(n);
            !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())
        })
}

/// `... host:pid:tid`, where a launcher's prefix may touch the host.
fn process(text: &str) -> Option<(&str, &str, u32)> {
    let (left, tid) = text.rsplit_once(':')?;
    if tid.is_empty() || !tid.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (left, pid) = left.rsplit_once(':')?;
    let pid = pid.parse().ok()?;
    let start = left
        .bytes()
        .rposition(|b| matches!(b, b' ' | b'\t' | b':' | b'>' | b']' | b'|' | b'"'))
        .map_or(0, |at| at + 1);
    let (lead, host) = left.split_at_checked(start)?;
    (!host.is_empty()).then_some((lead, host, pid))
}

/// The rank in a launcher's prefix: torchrun `[rank3]:`, mpirun `[1,3]<stdout>:`, srun -l `3: `.
fn launcher_rank(lead: &str) -> Option<u32> {
    if lead.is_empty() {
        return None;
    }
    let mut first = true;
    for word in lead.split_whitespace() {
        if let Some(rank) = word.strip_prefix("[rank").and_then(|w| leading(w, "]")) {
            return Some(rank);
        }
        // Open MPI: [job,rank]<stream>:
        if let Some((_, after)) = word.split_once(',')
            && word.starts_with('[')
            && let Some(rank) = leading(after, "]<")
        {
            return Some(rank);
        }
        if first
            && let Some(digits) = word.strip_suffix(':')
            && let Ok(rank) = digits.parse()
        {
            return Some(rank);
        }
        first = false;
    }
    None
}

/// The number before a mark.
fn leading(text: &str, mark: &str) -> Option<u32> {
    text.split_once(mark)?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Level, launcher_rank, parse, second, without_colours};

    fn who(line: &str) -> (String, u32, Option<u32>, String) {
        let l = parse(line).unwrap_or_else(|| panic!("{line}"));
        (l.host.to_owned(), l.pid, l.rank, l.text.to_owned())
    }

    fn expect(line: &str, host: &str, pid: u32, rank: Option<u32>, text: &str) {
        assert_eq!(
            who(line),
            (host.to_owned(), pid, rank, text.to_owned()),
            "{line}"
        );
    }

    #[test]
    fn every_releases_prefix_is_read() {
        expect("n1:77:90 [0] NCCL INFO hello", "n1", 77, None, "hello");
        expect(
            "n1:77:90 [0] bootstrap.cc:115 NCCL WARN bad",
            "n1",
            77,
            None,
            "bad",
        );
        expect(
            "[2026-03-01 10:00:00] n1:77:90 [3] transport/net_ib.cc:10 NCCL WARN bad",
            "n1",
            77,
            None,
            "bad",
        );
        expect(
            "[2026-03-01 10:00:00] n1:77:90 [3] transport/net_ib/p2p.cc:10 (ncclIbTest) NCCL WARN bad",
            "n1",
            77,
            None,
            "bad",
        );
        assert_eq!(parse("n1:7:9 [0] NCCL INFO x").unwrap().level, Level::Info);
    }

    #[test]
    fn launchers_prefixes_are_looked_through() {
        let rest = "n1:77:90 [0] NCCL INFO x";
        for (lead, rank) in [
            ("[rank12]: ", Some(12)),
            ("[rank12]:", Some(12)),
            ("[default0]:", None),
            ("[1,3]<stdout>:", Some(3)),
            ("[1,3]<stderr>: ", Some(3)),
            ("  3: ", Some(3)),
            ("[pod/worker-1/pytorch] ", None),
            ("2026-03-01T10:00:00.123456789Z ", None),
            ("2026-03-01 10:00:00,123 ", None),
            ("node-7: ", None),
            ("worker-1  | ", None),
            ("Mar 01 10:00:00 node-7 python[4711]: ", None),
        ] {
            expect(&format!("{lead}{rest}"), "n1", 77, rank, "x");
        }
    }

    #[test]
    fn what_only_mentions_nccl_is_no_message() {
        assert_eq!(parse("export NCCL_DEBUG=INFO"), None);
        assert_eq!(parse("using NCCL "), None);
        assert_eq!(parse("NCCL version 2.21.5+cuda12.4"), None);
        let torn = parse("torn NCCL INFO Using network IB").unwrap();
        assert_eq!((torn.host, torn.pid), ("", 0));
    }

    #[test]
    fn two_messages_in_a_line_are_told_apart() {
        let (first, rest) =
            second("Using network IB n2:5:6 [1] NCCL INFO Using network Socket").unwrap();
        assert_eq!(first, "Using network IB ");
        assert_eq!(parse(rest).unwrap().host, "n2");
        assert_eq!(second("Using network IB"), None);
    }

    #[test]
    fn colours_go() {
        assert_eq!(&*without_colours(b"\x1b[1;31ma\x1b[0mb"), b"ab");
        assert_eq!(&*without_colours(b"a\x1b["), b"a");
        assert_eq!(launcher_rank("x [1,"), None);
    }
}
