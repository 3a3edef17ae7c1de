//! Parts of slices.

use core::ops::Range;

/// The parts of a slice at `ranges`, which ascend and do not overlap.
pub(crate) fn parts_mut<T>(slice: &mut [T], ranges: impl Iterator<Item = Range<usize>>) -> Vec<&mut [T]> {
    let (mut rest, mut start) = (slice, 0);
    let part = |range: Range<usize>| {
        let (_, from) = core::mem::take(&mut rest).split_at_mut(range.start - start);
        let (part, behind) = from.split_at_mut(range.len());
        (rest, start) = (behind, range.end);
        part
    };
    ranges.map(part).collect()
}

/// The values of a payload of `N` bytes each.
pub(crate) fn arrays<const N: usize>(bytes: &[u8]) -> &[[u8; N]] {
    bytes.as_chunks().0
}
