//! Merging two sorted slices of records, from both ends at once.
//!
//! Each step takes one record from the front and one from the back. The two chains of comparisons do not wait for each other, and no branch
//! depends on a comparison.

use crate::record::Record;
use core::hint::select_unpredictable;

/// Merges two sorted slices into one of their joint length, stably, by the bits of the keys in `ones`.
///
/// If a slice is not sorted, `merged` gets all records in an unspecified order.
pub(super) fn merge_from_ends<R: Record>(left: &[R], right: &[R], merged: &mut [R], ones: R::Key) {
    let (mut left, mut right, mut merged) = (left, right, merged);
    let left_first = |a: &R, b: &R| a.key() & ones <= b.key() & ones;
    loop {
        // Neither slice runs out in as many steps from either end as the shorter has records.
        let (steps, len) = (left.len().min(right.len()), merged.len());
        if steps == 0 {
            return merged.copy_from_slice(if left.is_empty() { right } else { left });
        }
        let (mut i, mut j, mut i_end, mut j_end) = (0, 0, left.len(), right.len());
        for step in 0..steps {
            let (a, b) = (left[i], right[j]);
            let take_left = left_first(&a, &b);
            merged[step] = select_unpredictable(take_left, a, b);
            i += usize::from(take_left);
            j += usize::from(!take_left);

            let (a, b) = (left[i_end - 1], right[j_end - 1]);
            let take_right = left_first(&a, &b);
            merged[len - 1 - step] = select_unpredictable(take_right, b, a);
            i_end -= usize::from(!take_right);
            j_end -= usize::from(take_right);
        }
        if i > i_end || j > j_end {
            // The ends have taken a record twice, which cannot happen in sorted slices. The order is unspecified, but no record may be lost.
            let (first, second) = merged.split_at_mut(left.len());
            first.copy_from_slice(left);
            return second.copy_from_slice(right);
        }
        (left, right, merged) = (&left[i..i_end], &right[j..j_end], &mut merged[steps..len - steps]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsorted_slices_keep_all_records() {
        for (left, right) in
            [(vec![9_u32, 1], vec![5, 0]), (vec![3, 2, 1, 0], vec![7, 6, 5, 4, 3]), (vec![5, 0, 5, 0], vec![1, 9, 1])]
        {
            let mut merged = vec![77; left.len() + right.len()];
            merge_from_ends(&left, &right, &mut merged, u32::MAX);
            let mut all = [left, right].concat();
            all.sort_unstable();
            merged.sort_unstable();
            assert_eq!(merged, all);
        }
    }
}
