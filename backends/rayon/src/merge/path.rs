//! Where a part of the output of a merge begins in both inputs.
//!
//! This follows from the number of records before the part. Of the first `k` records of the merge, `i` come from the left slice: `i` is the largest number for
//! which record `i` of the left slice does not sort after record `k − i + 1` of the right one, both counted from 1. Bisection finds it (merge path: Odeh,
//! Green et al., "Merge Path", IPDPSW 2012).

use crate::record::Record;

/// Returns how many of the first `taken` records of the merge come from the left.
pub(super) fn taken_from_left<R: Record>(left: &[R], right: &[R], taken: usize, ones: R::Key) -> usize {
    let (mut low, mut high) = (taken.saturating_sub(right.len()), taken.min(left.len()));
    while low < high {
        let middle = (low + high) / 2;
        // The left one comes first if they are equal.
        if left[middle].key() & ones <= right[taken - middle - 1].key() & ones { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::two::merge_two;
    use crate::record::Pair;

    #[test]
    fn merges_are_stable_wherever_they_are_cut() {
        let run = |len: u32, step: u32, first: u32| -> Vec<Pair<u32, u32>> {
            (0..len).map(|i| Pair { key: (i / step) | (0x8000_0000 * (i & 1)), value: first + i }).collect()
        };
        for (left, right) in [(run(10, 3, 0), run(13, 2, 100)), (run(0, 1, 0), run(5, 2, 100)), (run(40, 9, 0), run(2, 1, 100))] {
            // The top bit is not to be sorted by.
            let ones = 0x7fff_ffff;
            let mut expected: Vec<_> = left.iter().chain(&right).copied().collect();
            expected.sort_by_key(|pair| pair.key & ones);
            for cut in 0..=expected.len() {
                let from_left = taken_from_left(&left, &right, cut, ones);
                let mut merged = expected.clone();
                let (low, high) = merged.split_at_mut(cut);
                merge_two(&left[..from_left], &right[..cut - from_left], low, ones);
                merge_two(&left[from_left..], &right[cut - from_left..], high, ones);
                assert!(merged.iter().zip(&expected).all(|(a, b)| { a.value } == { b.value }), "cut at {cut}");
            }
        }
    }
}
