//! Merging two sorted slices: words of 16, 32 and 64 bits in registers, other records one by one.

use super::ends::merge_from_ends;
use super::path::taken_from_left;
use crate::record::{Record, are_words};
use crate::simd::{MergePart, MergeWord, Set};
use crate::tuning::MERGE_BY_REGISTERS;
use bytemuck::{cast_slice, cast_slice_mut};

/// Merges two sorted slices into one of their joint length, stably, by the bits of the keys in `ones`.
///
/// If a slice is not sorted, `merged` gets all records in an unspecified order.
pub(crate) fn merge_two<R: Record>(left: &[R], right: &[R], merged: &mut [R], ones: R::Key) {
    match size_of::<R>() {
        _ if !are_words::<R>(ones) || merged.len() < MERGE_BY_REGISTERS => merge_from_ends(left, right, merged, ones),
        2 => merge_words_of_16_bits(cast_slice(left), cast_slice(right), cast_slice_mut(merged)),
        4 => merge_words_of_32_bits(cast_slice(left), cast_slice(right), cast_slice_mut(merged)),
        8 => merge_words_of_64_bits(cast_slice(left), cast_slice(right), cast_slice_mut(merged)),
        _ => merge_from_ends(left, right, merged, ones),
    }
}

/// Cuts the output into two halves, whose merges do not depend on each other, so that the processor works on both at once.
fn merge_words<W: MergeWord + Record<Key = W>>(left: &[W], right: &[W], merged: &mut [W]) {
    let middle = merged.len() / 2;
    let cut = taken_from_left(left, right, middle, W::max_value());
    let ((left, left_rest), (right, right_rest)) = (left.split_at(cut), right.split_at(middle - cut));
    let (merged, merged_rest) = merged.split_at_mut(middle);
    let parts = [MergePart { left, right, merged }, MergePart { left: left_rest, right: right_rest, merged: merged_rest }];
    W::merge(Set::widest(), parts, |part| merge_from_ends(part.left, part.right, part.merged, W::max_value()));
}

// The types are written out, so that the crates of callers, which compile generic merges, do not compile the registers again.

fn merge_words_of_16_bits(left: &[u16], right: &[u16], merged: &mut [u16]) {
    merge_words(left, right, merged);
}

fn merge_words_of_32_bits(left: &[u32], right: &[u32], merged: &mut [u32]) {
    merge_words(left, right, merged);
}

fn merge_words_of_64_bits(left: &[u64], right: &[u64], merged: &mut [u64]) {
    merge_words(left, right, merged);
}
