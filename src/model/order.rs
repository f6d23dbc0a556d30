//! The order in which names are shown and listed: natural, so that `mlx5_2` comes before `mlx5_10`.

use std::cmp::Ordering;

/// Compares two names case-insensitively with runs of digits as numbers, then by bytes.
///
/// `rocep1s0f0` comes before `roceP2p1s0f0`, as operators of two-domain machines write them.
pub(crate) fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.as_bytes(), b.as_bytes());
    loop {
        match (left.first(), right.first()) {
            (None, None) => return a.cmp(b),
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(x), Some(y)) if x.is_ascii_digit() && y.is_ascii_digit() => {
                let (number, rest_left) = split_digits(left);
                let (other, rest_right) = split_digits(right);
                // Leading zeros aside, a longer run of digits is the larger number.
                let order = (number.len(), number).cmp(&(other.len(), other));
                if order != Ordering::Equal {
                    return order;
                }
                (left, right) = (rest_left, rest_right);
            }
            (Some(x), Some(y)) => {
                let order = x.to_ascii_lowercase().cmp(&y.to_ascii_lowercase());
                if order != Ordering::Equal {
                    return order;
                }
                (left, right) = (&left[1..], &right[1..]);
            }
        }
    }
}

/// Splits a run of digits off the front, without its leading zeros.
fn split_digits(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text
        .iter()
        .position(|c| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let zeros = digits.iter().take_while(|c| **c == b'0').count();
    (&digits[zeros..], rest)
}

#[cfg(test)]
mod tests {
    use super::natural;
    use std::cmp::Ordering;

    fn sorted(mut names: Vec<&str>) -> Vec<&str> {
        names.sort_by(|a, b| natural(a, b));
        names
    }

    #[test]
    fn digit_runs_are_numbers() {
        assert_eq!(
            sorted(vec!["mlx5_10", "mlx5_2", "mlx5_0"]),
            ["mlx5_0", "mlx5_2", "mlx5_10"]
        );
    }

    #[test]
    fn case_does_not_decide_before_numbers() {
        assert_eq!(
            sorted(vec!["roceP2p1s0f0", "rocep1s0f0"]),
            ["rocep1s0f0", "roceP2p1s0f0"]
        );
    }

    #[test]
    fn equal_numbers_with_different_zeros_are_ordered_by_bytes() {
        assert_eq!(natural("eth01", "eth1"), Ordering::Less);
        assert_eq!(natural("a", "A"), Ordering::Greater);
        assert_eq!(natural("a", "a"), Ordering::Equal);
    }
}
