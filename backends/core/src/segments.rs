//! Many lists in one array.

use crate::Error;
use core::ops::Range;

/// Where the lists of a segmented sort lie in the array of keys.
///
/// Lists may be empty, and are in ascending order without overlap. Keys that no list covers stay where they are.
///
/// ```
/// use polysort_core::Segments;
/// // CSR: list i is offsets[i] .. offsets[i + 1]
/// assert_eq!(Segments::Offsets(&[0, 3, 3, 7]).len(), 3);
/// // with gaps: list i is begins[i] .. ends[i]
/// assert_eq!(Segments::Ranges { begins: &[0, 5], ends: &[3, 7] }.len(), 2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segments<'a> {
    /// Compressed offsets, one more than there are lists: list `i` is `offsets[i] .. offsets[i + 1]`. No offsets are no lists.
    Offsets(&'a [usize]),
    /// One begin and one end for each list, gaps allowed.
    Ranges {
        /// The first position of each list.
        begins: &'a [usize],
        /// The position after the last of each list.
        ends: &'a [usize],
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
    /// The number of lists.
    pub fn len(&self) -> usize {
        match self {
            Segments::Offsets(offsets) => offsets.len().saturating_sub(1),
            Segments::Ranges { begins, .. } => begins.len(),
        }
    }

    /// Whether there are no lists.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The position range of list `index`.
    ///
    /// # Panics
    /// If `index` is not below [`len`](Segments::len).
    pub fn range(&self, index: usize) -> Range<usize> {
        match self {
            Segments::Offsets(offsets) => offsets[index]..offsets[index + 1],
            Segments::Ranges { begins, ends } => begins[index]..ends[index],
        }
    }

    /// The ranges of all lists, in order.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = Range<usize>> + Clone + '_ {
        (0..self.len()).map(|index| self.range(index))
    }

    /// Whether the lists ascend without overlap within `keys` keys.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if begins and ends differ in number; [`Error::InvalidOffsets`] with the index of the first
    /// list that starts before its predecessor's end, ends before its start, or passes the last key.
    pub fn check(&self, keys: usize) -> Result<(), Error> {
        if let Segments::Ranges { begins, ends } = self {
            Error::check_lengths("begins", begins.len(), "ends", ends.len())?;
        }
        let mut covered = 0;
        for (index, range) in self.ranges().enumerate() {
            if range.start < covered || range.end < range.start || range.end > keys {
                return Err(Error::InvalidOffsets { index, begin: range.start, end: range.end, at_least: covered, keys });
            }
            covered = range.end;
        }
        Ok(())
    }
}
