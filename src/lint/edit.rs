//! How alike two words are.

/// Levenshtein's distance, in bytes.
pub(crate) fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (y, cell) in b.bytes().zip(row.iter_mut().skip(1)) {
            let changed = diagonal + usize::from(x != y);
            diagonal = *cell;
            *cell = changed.min(left + 1).min(diagonal + 1);
            left = *cell;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

/// The word most like another, if one differs by no more than a few letters.
pub(crate) fn nearest<'a>(
    word: &str,
    words: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Option<&'a str> {
    words
        .into_iter()
        .filter(|w| w.len().abs_diff(word.len()) <= most)
        .map(|w| (edit_distance(word, w), w))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, w)| w)
}

#[cfg(test)]
mod tests {
    use super::{edit_distance, nearest};

    #[test]
    fn letters_added_taken_and_changed_count_one_each() {
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("same", "same"), 0);
    }

    #[test]
    fn only_a_near_word_is_offered() {
        assert_eq!(
            nearest("NCCL_IB_HCAS", ["NCCL_IB_HCA", "NCCL_NET"], 2),
            Some("NCCL_IB_HCA")
        );
        assert_eq!(nearest("NCCL_XYZ", ["NCCL_IB_HCA"], 2), None);
    }
}
