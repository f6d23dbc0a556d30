//! Numbers as NCCL reads them: C's `strtoll` with base 0, where text is zero and only an overflow is an error.

/// What `strtoll` makes of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Number {
    /// The value; the nearest limit on overflow, 0 without digits.
    pub(crate) value: i64,
    /// Whether there was a digit at all: `auto` has none and is 0.
    pub(crate) digits: bool,
    /// Whether text follows the number: `3abc`, `1,3`, `3 `.
    pub(crate) rest: bool,
    /// Whether the value does not fit into 64 bits.
    pub(crate) overflow: bool,
}

/// Reads a number as `strtoll(text, &end, 0)` does: `0x` is hexadecimal, a leading 0 octal, blanks in front are skipped.
pub(crate) fn parse(text: &str) -> Number {
    parse_base(text, 0)
}

/// Reads a number as `strtoll` does, with base 0, 8, 10 or 16.
fn parse_base(text: &str, base: u32) -> Number {
    let bytes = text.as_bytes();
    let mut at = bytes.iter().take_while(|b| is_space(**b)).count();
    let negative = bytes.get(at) == Some(&b'-');
    if negative || bytes.get(at) == Some(&b'+') {
        at += 1;
    }
    let mut digits = false;
    let mut radix = base;
    if base == 0 {
        let hexadecimal = bytes.get(at) == Some(&b'0')
            && matches!(bytes.get(at + 1), Some(b'x' | b'X'))
            && bytes.get(at + 2).is_some_and(u8::is_ascii_hexdigit);
        if hexadecimal {
            at += 2;
        }
        radix = match (hexadecimal, bytes.get(at)) {
            (true, _) => 16,
            (false, Some(b'0')) => 8,
            _ => 10,
        };
    }
    // One more than the limits is enough to know that they are passed.
    let mut value: i128 = 0;
    while let Some(digit) = bytes.get(at).and_then(|b| char::from(*b).to_digit(radix)) {
        value = (value * i128::from(radix) + i128::from(digit)).min(1 << 64);
        digits = true;
        at += 1;
    }
    let signed = if negative { -value } else { value };
    Number {
        value: i64::try_from(signed).unwrap_or(if negative { i64::MIN } else { i64::MAX }),
        digits,
        rest: if digits {
            at < bytes.len()
        } else {
            !bytes.is_empty()
        },
        overflow: i64::try_from(signed).is_err(),
    }
}

/// Returns the value of an integer variable (`NCCL_PARAM`, `src/misc/param.cc`): the default where it is unset, empty or
/// does not fit into 64 bits.
pub(crate) fn param(text: Option<&str>, default: i64) -> i64 {
    match text {
        None | Some("") => default,
        Some(text) => {
            let number = parse(text);
            if number.overflow {
                default
            } else {
                number.value
            }
        }
    }
}

/// Cuts a value to 32 bits, as NCCL does where it keeps one in an `int`: 4294967297 is 1.
pub(crate) fn cut(value: i64) -> i32 {
    let [a, b, c, d, ..] = value.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

/// Reads a number as C's `atoi` does: decimal, text is 0, cut to 32 bits.
pub(crate) fn atoi(text: &str) -> i32 {
    cut(parse_base(text, 10).value)
}

/// The blanks of C's `isspace` in the C locale.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

#[cfg(test)]
mod tests {
    use super::{atoi, cut, param, parse};
    use proptest::prelude::*;

    #[test]
    fn bases_follow_the_prefix() {
        for (text, value) in [
            ("3", 3),
            ("0x10", 16),
            ("0XfF", 255),
            ("010", 8),
            ("08", 0),
            ("-0x1", -1),
            ("+2", 2),
        ] {
            assert_eq!(parse(text).value, value, "{text}");
        }
    }

    #[test]
    fn text_is_zero_and_what_follows_a_number_is_ignored() {
        for text in ["auto", "true", "\"3\"", "", " ", "-", "x"] {
            let number = parse(text);
            assert_eq!((number.value, number.digits), (0, false), "{text}");
        }
        for text in ["3,3", "3abc", "3 "] {
            let number = parse(text);
            assert_eq!((number.value, number.rest), (3, true), "{text}");
        }
        assert_eq!((parse("0x").value, parse("0x").rest), (0, true));
        assert!(!parse(" 22").rest);
    }

    #[test]
    fn limits_are_those_of_64_bits() {
        assert_eq!(parse("9223372036854775807").value, i64::MAX);
        assert_eq!(parse("-9223372036854775808").value, i64::MIN);
        assert!(!parse("-9223372036854775808").overflow);
        assert!(parse("9223372036854775808").overflow);
        assert!(parse("-9223372036854775809").overflow);
        assert!(parse(&"9".repeat(100)).overflow);
    }

    #[test]
    fn a_parameter_falls_back_to_its_default() {
        assert_eq!(param(None, -1), -1);
        assert_eq!(param(Some(""), -1), -1);
        assert_eq!(param(Some("99999999999999999999"), -1), -1);
        assert_eq!(param(Some("auto"), -1), 0);
    }

    #[test]
    fn an_int_keeps_the_low_32_bits() {
        assert_eq!(cut(4_294_967_297), 1);
        assert_eq!(cut(-1), -1);
        assert_eq!(cut(i64::MAX), -1);
    }

    #[test]
    fn atoi_is_decimal() {
        assert_eq!(atoi("010"), 10);
        assert_eq!(atoi(" 1"), 1);
        assert_eq!(atoi("1x"), 1);
        assert_eq!(atoi("x"), 0);
        assert_eq!(atoi("-1"), -1);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            parse(&text);
            atoi(&text);
        }

        #[test]
        fn every_integer_reads_as_itself(value in any::<i64>()) {
            prop_assert_eq!(parse(&value.to_string()).value, value);
            prop_assert_eq!(i64::from(cut(value)).rem_euclid(1 << 32), value.rem_euclid(1 << 32));
        }
    }
}
