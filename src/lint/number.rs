//! What NCCL makes of a text where it wants a number, and whether the writer can have meant it.

use crate::nccl::number::parse;

/// Something odd about a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NumberFault {
    /// Several numbers in one value: only the first counts.
    List(i64),
    /// Text follows the number and is ignored.
    Rest(i64),
    /// No digits: NCCL reads 0.
    NoNumber {
        /// Whether quotes are the reason.
        quoted: bool,
    },
    /// A leading 0 makes it octal, and that changes it.
    Octal(i64),
    /// It does not fit into 64 bits, and so is as if unset.
    Overflow,
    /// Hexadecimal, or blanks around it: read as meant.
    Odd(i64),
}

/// Judges the text of a number. `None` for one that is read as it is written; so is an empty one, which is the default.
pub(crate) fn judge_number(text: &str) -> Option<NumberFault> {
    if text.is_empty() {
        return None;
    }
    let number = parse(text);
    let trimmed = text.trim();
    if number.overflow {
        return Some(NumberFault::Overflow);
    }
    if !number.digits {
        return Some(NumberFault::NoNumber {
            quoted: trimmed.starts_with(['"', '\'']),
        });
    }
    if trimmed.parse::<i64>() == Ok(number.value) && !trimmed.starts_with('+') {
        return (trimmed.len() != text.len()).then_some(NumberFault::Odd(number.value));
    }
    if number.rest && !parse(trimmed).rest {
        return Some(NumberFault::Odd(number.value));
    }
    if number.rest {
        let several = trimmed
            .split([',', ';'])
            .filter(|p| parse(p).digits)
            .count()
            > 1;
        return Some(if several {
            NumberFault::List(number.value)
        } else {
            NumberFault::Rest(number.value)
        });
    }
    let digits = trimmed.trim_start_matches(['-', '+']);
    let octal = digits.starts_with('0') && !digits.starts_with("0x") && !digits.starts_with("0X");
    Some(if octal {
        NumberFault::Octal(number.value)
    } else {
        NumberFault::Odd(number.value)
    })
}

#[cfg(test)]
mod tests {
    use super::{NumberFault, judge_number};

    #[test]
    fn plain_numbers_are_fine() {
        for text in ["3", "-1", "0", "", "07"] {
            assert_eq!(judge_number(text), None, "{text}");
        }
    }

    #[test]
    fn oddities_are_told_apart() {
        for (text, fault) in [
            (" 3", NumberFault::Odd(3)),
            ("3 ", NumberFault::Odd(3)),
            ("0x3", NumberFault::Odd(3)),
            ("2,2", NumberFault::List(2)),
            ("3abc", NumberFault::Rest(3)),
            ("010", NumberFault::Octal(8)),
            ("auto", NumberFault::NoNumber { quoted: false }),
            ("\"3\"", NumberFault::NoNumber { quoted: true }),
            ("99999999999999999999", NumberFault::Overflow),
        ] {
            assert_eq!(judge_number(text), Some(fault), "{text}");
        }
    }
}
