//! Segments: many short arrays in one.

use crate::Error;
use core::ops::Range;

/// The segments of an array of keys that a sort sorts by themselves.
///
/// Segments may be empty. They are in ascending order and do not overlap. Keys outside of all segments stay where they are.
///
/// ```
/// use polysort_core::Segments;
/// // compressed offsets: segment i is offsets[i] .. offsets[i + 1]
/// assert_eq!(Segments::Offsets(&[0, 3, 3, 7]).len(), 3);
/// // with gaps: segment i is begins[i] .. ends[i]
/// assert_eq!(Segments::Ranges { begins: &[0, 5], ends: &[3, 7] }.len(), 2);
/// // the first 3 of every 4 keys: segment i is 4 * i .. 4 * i + 3
/// assert_eq!(Segments::Rows { rows: 2, len: 3, stride: 4 }.range(1), 4..7);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segments<'a> {
    /// Compressed offsets, one more than there are segments: segment `i` is `offsets[i] .. offsets[i + 1]`. No offsets are no segments.
    Offsets(&'a [usize]),
    /// One begin and one end for each segment, gaps allowed.
    Ranges {
        /// The first position of each segment.
        begins: &'a [usize],
        /// The position after the last one of each segment.
        ends: &'a [usize],
    },
    /// The rows of a matrix: segment `i` is `i * stride .. i * stride + len`. The keys may end with those of the last row.
    /// Rows without keys are no segments.
    Rows {
        /// The number of rows.
        rows: usize,
        /// The number of keys of a row.
        len: usize,
        /// The number of keys from the start of a row to the start of the next one: at least `len` if there are several rows.
        stride: usize,
    },
}

impl<'a> From<&'a [usize]> for Segments<'a> {
    fn from(offsets: &'a [usize]) -> Self {
        Segments::Offsets(offsets)
    }
}

impl<'a> From<&'a Vec<usize>> for Segments<'a> {
    fn from(offsets: &'a Vec<usize>) -> Self {
        Segments::Offsets(offsets)
    }
}

impl<'a, const N: usize> From<&'a [usize; N]> for Segments<'a> {
    fn from(offsets: &'a [usize; N]) -> Self {
        Segments::Offsets(offsets)
    }
}

impl Segments<'_> {
    /// The number of segments.
    pub fn len(&self) -> usize {
        match self {
            Segments::Offsets(offsets) => offsets.len().saturating_sub(1),
            Segments::Ranges { begins, .. } => begins.len(),
            Segments::Rows { len: 0, .. } => 0,
            Segments::Rows { rows, .. } => *rows,
        }
    }

    /// Whether there are no segments.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The range of the elements of segment `index`.
    ///
    /// # Panics
    /// If `index` is not below [`len`](Segments::len).
    pub fn range(&self, index: usize) -> Range<usize> {
        match self {
            Segments::Offsets(offsets) => offsets[index]..offsets[index + 1],
            Segments::Ranges { begins, ends } => begins[index]..ends[index],
            Segments::Rows { rows, len, stride } => {
                assert!(index < self.len(), "row {index} of {rows}");
                // A position that saturates lies in no slice: `check` refuses it.
                let begin = stride.saturating_mul(index);
                begin..begin.saturating_add(*len)
            }
        }
    }

    /// The positions of all segments, in order.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = Range<usize>> + Clone + '_ {
        (0..self.len()).map(|index| self.range(index))
    }

    /// Checks that the segments ascend, that they do not overlap, and that they lie in a slice of length `keys`.
    ///
    /// # Errors
    /// - [`Error::LengthMismatch`] if the number of begins is not that of ends.
    /// - [`Error::InvalidOffsets`] if a segment starts before the end of the previous segment, has an end that is less than its start, or an end
    ///   that is greater than `keys`. The error has the index of the first such segment.
    pub fn check(&self, keys: usize) -> Result<(), Error> {
        if let Segments::Ranges { begins, ends } = self {
            Error::check_lengths("begins", begins.len(), "ends", ends.len())?;
        }
        let mut covered = 0;
        for (index, range) in self.ranges().enumerate() {
            let end = range.end;
            Error::check_segment(index, range, covered, keys)?;
            covered = end;
        }
        Ok(())
    }
}
