//! Finds the lines that speak of NCCL in a stream of bytes. Lines without are passed over without being looked at.

use memchr::memmem::Finder;
use memchr::{memchr, memchr_iter, memrchr};

/// Longer lines are cut. NCCL's own longest line, a list of 32 ports, has about one KiB.
const MOST_LINE: usize = 16 << 10;
/// What is searched: also RCCL's banner has it.
const NEEDLE: &[u8] = b"CCL";

/// What the receiver of a line wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Want {
    /// So many lines that follow, whatever stands in them.
    pub(crate) following: u8,
}

/// A buffer that is filled from a stream and gives its lines.
pub(crate) struct Scanner {
    buffer: Vec<u8>,
    filled: usize,
    finder: Finder<'static>,
    /// Lines before the start of the buffer.
    lines: u64,
    bytes: u64,
    following: u8,
    /// The buffer starts within a line that was too long.
    cutting: bool,
}

impl std::fmt::Debug for Scanner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scanner after line {}", self.lines)
    }
}

impl Scanner {
    /// Makes one with a buffer of so many bytes.
    pub(crate) fn new(size: usize) -> Self {
        Self {
            buffer: vec![0; size.max(2 * MOST_LINE)],
            filled: 0,
            finder: Finder::new(NEEDLE),
            lines: 0,
            bytes: 0,
            following: 0,
            cutting: false,
        }
    }

    /// Where the stream's next bytes go; never empty.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        self.buffer.get_mut(self.filled..).unwrap_or_default()
    }

    /// Lines seen so far.
    pub(crate) fn lines(&self) -> u64 {
        self.lines
    }

    /// Bytes seen so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes over so many bytes of [`Scanner::space`], and hands on the lines that are complete.
    pub(crate) fn advance(&mut self, read: usize, each: &mut dyn FnMut(u64, &[u8]) -> Want) {
        self.filled = (self.filled + read).min(self.buffer.len());
        self.bytes += u64::try_from(read).unwrap_or(0);
        let buffer = std::mem::take(&mut self.buffer);
        let whole = buffer.get(..self.filled).unwrap_or_default();
        let used = match memrchr(b'\n', whole) {
            Some(end) => {
                self.lines_of(whole.get(..=end).unwrap_or_default(), each);
                end + 1
            }
            None if self.filled == buffer.len() => {
                // A line longer than the buffer: what a progress bar has written over itself goes first.
                if !self.cutting {
                    self.line(whole, self.lines + 1, each);
                }
                self.cutting = true;
                self.filled
            }
            None => 0,
        };
        self.buffer = buffer;
        self.buffer.copy_within(used..self.filled, 0);
        self.filled -= used;
    }

    /// Hands on what is left after the last newline.
    pub(crate) fn finish(&mut self, each: &mut dyn FnMut(u64, &[u8]) -> Want) {
        if self.filled == 0 {
            return;
        }
        let buffer = std::mem::take(&mut self.buffer);
        let mut rest = buffer.get(..self.filled).unwrap_or_default().to_vec();
        rest.push(b'\n');
        self.lines_of(&rest, each);
        self.buffer = buffer;
        self.filled = 0;
    }

    /// Looks through text that ends with a newline.
    fn lines_of(&mut self, text: &[u8], each: &mut dyn FnMut(u64, &[u8]) -> Want) {
        let mut at = 0;
        if self.cutting {
            at = memchr(b'\n', text).map_or(text.len(), |end| end + 1);
            self.lines += 1;
            self.cutting = false;
        }
        while let Some(rest) = text.get(at..).filter(|r| !r.is_empty()) {
            let start = if self.following > 0 {
                0
            } else {
                let Some(hit) = self.finder.find(rest) else {
                    break;
                };
                let before = rest.get(..hit).unwrap_or_default();
                let start = memrchr(b'\n', before).map_or(0, |n| n + 1);
                self.lines += count_lines(before.get(..start).unwrap_or_default());
                start
            };
            self.following = self.following.saturating_sub(1);
            let line = rest.get(start..).unwrap_or_default();
            let end = memchr(b'\n', line).unwrap_or(line.len());
            let number = self.lines + 1;
            self.line(line.get(..end).unwrap_or_default(), number, each);
            self.lines = number;
            at += start + end + 1;
        }
        self.lines += count_lines(text.get(at..).unwrap_or_default());
    }

    /// Hands on a line: the part between carriage returns in which NCCL speaks.
    fn line(&mut self, line: &[u8], number: u64, each: &mut dyn FnMut(u64, &[u8]) -> Want) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let part = if memchr(b'\r', line).is_none() {
            line
        } else {
            let hit = self.finder.find(line).unwrap_or(0);
            let before = line.get(..hit).unwrap_or_default();
            let start = memrchr(b'\r', before).map_or(0, |n| n + 1);
            let part = line.get(start..).unwrap_or_default();
            let end = memchr(b'\r', part).unwrap_or(part.len());
            part.get(..end).unwrap_or_default()
        };
        // Of a line that is too long the part around NCCL's name counts, its prefix included.
        let part = if part.len() > MOST_LINE {
            const BEFORE: usize = 1 << 10;
            let start = self.finder.find(part).unwrap_or(0).saturating_sub(BEFORE);
            let end = part.len().min(start + MOST_LINE);
            part.get(start..end).unwrap_or_default()
        } else {
            part
        };
        let want = each(number, part);
        self.following = self.following.max(want.following);
    }
}

fn count_lines(text: &[u8]) -> u64 {
    u64::try_from(memchr_iter(b'\n', text).count()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Scanner, Want};

    fn scan(text: &[u8], step: usize, following: u8) -> (Vec<(u64, String)>, u64) {
        let mut scanner = Scanner::new(0);
        let mut lines = Vec::new();
        let mut each = |number: u64, line: &[u8]| {
            lines.push((number, String::from_utf8_lossy(line).into_owned()));
            Want {
                following: if line.starts_with(b"more") {
                    following
                } else {
                    0
                },
            }
        };
        let mut rest = text;
        while !rest.is_empty() {
            let space = scanner.space();
            let n = rest.len().min(step).min(space.len());
            space[..n].copy_from_slice(&rest[..n]);
            scanner.advance(n, &mut each);
            rest = &rest[n..];
        }
        scanner.finish(&mut each);
        (lines, scanner.lines())
    }

    #[test]
    fn lines_are_found_and_numbered_in_any_slicing() {
        let text = b"x\n\nNCCL a\r\ny\nNCCL b\nz\nNCCL c";
        let expected: Vec<(u64, String)> = [(3, "NCCL a"), (5, "NCCL b"), (7, "NCCL c")]
            .map(|(n, t)| (n, t.to_owned()))
            .to_vec();
        for step in 1..text.len() {
            assert_eq!(scan(text, step, 0), (expected.clone(), 7), "step {step}");
        }
    }

    #[test]
    fn a_receiver_can_ask_for_the_lines_that_follow() {
        let (lines, _) = scan(b"more NCCL\na\nb\nc\n", 100, 2);
        let numbers: Vec<u64> = lines.iter().map(|(n, _)| *n).collect();
        assert_eq!(numbers, [1, 2, 3]);
    }

    #[test]
    fn a_progress_bar_does_not_hide_the_line() {
        let (lines, _) = scan(b"1%\r2%\rNCCL a\r3%\n", 100, 0);
        assert_eq!(lines, [(1, "NCCL a".to_owned())]);
    }

    #[test]
    fn huge_lines_are_cut_and_what_follows_is_seen() {
        let mut text = vec![b'x'; 1 << 20];
        text.extend(b" NCCL late\nNCCL next\n");
        let (lines, count) = scan(&text, 4096, 0);
        assert_eq!(count, 2);
        assert_eq!(lines.last().unwrap(), &(2, "NCCL next".to_owned()));
        assert!(lines.iter().all(|(_, l)| l.len() <= super::MOST_LINE));
    }
}
