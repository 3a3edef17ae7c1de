//! `Joined`: slices of the host that are copied one after another, to one buffer.

use core::ops::Range;

/// Slices that are copied one after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Joined<'a> {
    slices: Vec<&'a [u8]>,
    len: usize,
}

impl<'a> Joined<'a> {
    /// The bytes of all slices together.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The slices, one after another.
    pub(crate) fn slices(&self) -> impl Iterator<Item = &'a [u8]> {
        self.slices.iter().copied()
    }

    /// Returns the bytes of `range`, which must lie within all bytes.
    pub(crate) fn range(&self, range: Range<usize>) -> Self {
        let mut start = 0;
        let overlaps = self.slices.iter().map(|slice| {
            let own = range.start.clamp(start, start + slice.len()) - start..range.end.clamp(start, start + slice.len()) - start;
            start += slice.len();
            &slice[own]
        });
        overlaps.collect()
    }
}

impl<'a> FromIterator<&'a [u8]> for Joined<'a> {
    fn from_iter<I: IntoIterator<Item = &'a [u8]>>(slices: I) -> Self {
        let slices: Vec<&[u8]> = slices.into_iter().filter(|slice| !slice.is_empty()).collect();
        Self { len: slices.iter().map(|slice| slice.len()).sum(), slices }
    }
}

impl<'a> From<&'a [u8]> for Joined<'a> {
    fn from(slice: &'a [u8]) -> Self {
        [slice].into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_joined_slices_are_ranges_of_all_bytes() {
        let all: Vec<u8> = (0..20).collect();
        let joined: Joined<'_> = [&all[..3], &[], &all[3..4], &all[4..17], &all[17..]].into_iter().collect();
        assert_eq!(joined.len(), 20);
        for start in 0..=20 {
            for end in start..=20 {
                let part = joined.range(start..end);
                assert_eq!(part.slices().collect::<Vec<_>>().concat(), all[start..end], "{start}..{end}");
                assert_eq!((part.len(), part.is_empty()), (end - start, start == end));
            }
        }
    }
}
