//! Small tools for taking a message apart. None of them can fail on any text.

use std::net::Ipv6Addr;

use crate::model::Gid;

/// Where a mark stands. Messages are short, and this is several times as fast on them as the library's search, which
/// prepares itself for long ones.
pub(super) fn find(text: &str, mark: &str) -> Option<usize> {
    let (text, mark) = (text.as_bytes(), mark.as_bytes());
    let first = *mark.first()?;
    let mut from = 0;
    loop {
        let at = from + memchr::memchr(first, text.get(from..)?)?;
        // The second byte tells most false starts from true ones.
        if text.get(at + 1) == mark.get(1).or(text.get(at + 1)) && text.get(at..)?.starts_with(mark)
        {
            return Some(at);
        }
        from = at + 1;
    }
}

/// What follows the first place where `mark` stands.
pub(super) fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    find(text, mark).and_then(|at| text.get(at + mark.len()..))
}

/// What stands between two marks; to the end where the second is missing.
pub(super) fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let rest = after(text, from)?;
    Some(rest.split_once(to).map_or(rest, |(inside, _)| inside))
}

/// The first word: to a blank or a comma.
pub(super) fn word(text: &str) -> &str {
    text.trim_start().split([' ', ',']).next().unwrap_or("")
}

/// The decimal number a text begins with, blanks and a minus sign allowed.
pub(super) fn number(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let end = digits
        .bytes()
        .position(|b| !b.is_ascii_digit())
        .unwrap_or(digits.len());
    let value: i64 = digits.get(..end)?.parse().ok()?;
    Some(sign * value)
}

/// The number that follows a mark.
pub(super) fn number_after<T: TryFrom<i64>>(text: &str, mark: &str) -> Option<T> {
    number(after(text, mark)?)?.try_into().ok()
}

/// A GID as NCCL writes it with `inet_ntop`; `N/A` and anything else is none.
pub(super) fn gid(text: &str) -> Option<Gid> {
    word(text).parse::<Ipv6Addr>().ok().map(|a| Gid(a.octets()))
}

/// A GID written as its two halves, each printed as a little-endian integer: `80FE/5EA721FFFE418A1A`.
pub(super) fn gid_of_halves(text: &str) -> Option<Gid> {
    let (high, low) = text.split_once('/')?;
    let half = |digits: &str| u64::from_str_radix(digits.trim(), 16).ok();
    let mut bytes = [0; 16];
    let (first, second) = bytes.split_at_mut(8);
    first.copy_from_slice(&half(high)?.to_le_bytes());
    second.copy_from_slice(&half(low)?.to_le_bytes());
    Some(Gid(bytes))
}

/// An address with NCCL's port in angle brackets, or with its colon: `10.1.0.7<45001>`, `fe80::1%eth0<0>`.
pub(super) fn address(text: &str) -> Option<&str> {
    let open = text.find('<')?;
    let before = text.get(..open)?;
    let start = before.rfind([' ', '/', '(']).map_or(0, |at| at + 1);
    before.get(start..).filter(|a| !a.is_empty())
}

/// Cuts a text to so many bytes at a character's boundary.
pub(super) fn cut(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::{address, after, between, cut, find, gid, gid_of_halves, number, number_after};

    #[test]
    fn marks_are_found_where_the_library_finds_them() {
        for (text, mark) in [
            ("aab", "ab"),
            ("", "a"),
            ("abc", "c"),
            ("aaa", "aab"),
            ("n\u{e9}x", "x"),
        ] {
            assert_eq!(find(text, mark), text.find(mark), "{text} {mark}");
        }
    }

    #[test]
    fn halves_are_little_endian() {
        let shown = |t| gid_of_halves(t).map(|g| g.to_string());
        assert_eq!(
            shown("80FE/5EA721FFFE418A1A").as_deref(),
            Some("fe80::1a8a:41fe:ff21:a75e")
        );
        assert_eq!(
            shown("0/302010AFFFF0000").as_deref(),
            Some("::ffff:10.1.2.3")
        );
        assert_eq!(shown("0/0").as_deref(), Some("::"));
        assert_eq!(shown("0"), None);
        assert_eq!(shown("zz/0"), None);
        assert_eq!(shown("11111111111111111/0"), None);
    }

    #[test]
    fn numbers_and_addresses_are_found() {
        assert_eq!(number(" -12x"), Some(-12));
        assert_eq!(number("x"), None);
        assert_eq!(number_after::<u32>("status=12 x", "status="), Some(12));
        assert_eq!(number_after::<u32>("status=-1", "status="), None);
        assert_eq!(address("Connect to 10.0.0.7<42> failed"), Some("10.0.0.7"));
        assert_eq!(address("none"), None);
        assert_eq!(after("a=b", "="), Some("b"));
        assert_eq!(between("(x) y", "(", ")"), Some("x"));
        assert_eq!(gid("N/A, remote").map(|g| g.to_string()), None);
        assert_eq!(cut("h\u{e9}llo", 2), "h");
    }
}
