//! Runs of equal neighboring keys.

use crate::{Segments, Spec, Word};

/// The runs of equal neighboring keys of an array: the result of [`Sort::runs`](crate::Sort::runs). In a sorted array, all equal keys are one run.
///
/// ```
/// # use polysort_core::*;
/// # fn demo<B: Backend>(backend: B) -> Result<(), Error> {
/// let keys = [2, 2, 5, 9, 9, 9];
/// let runs = backend.runs(&keys)?;
/// assert_eq!(runs.offsets, [0, 2, 3, 6]);
/// assert_eq!(runs.unique(&keys), [2, 5, 9]);
/// assert_eq!(runs.lengths().collect::<Vec<_>>(), [2, 1, 3]);
/// // Sorts a second column within the runs of the first one.
/// let mut seconds = [7, 3, 1, 6, 4, 5];
/// backend.sort_segments(&mut seconds, &runs)?;
/// assert_eq!(seconds, [3, 7, 1, 4, 5, 6]);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runs {
    /// The index of the first key of each run, and at the end the number of keys. Run `i` is the keys from `offsets[i]` to before `offsets[i + 1]`.
    pub offsets: Vec<usize>,
}

impl Runs {
    /// Returns the number of runs.
    pub fn len(&self) -> usize {
        self.segments().len()
    }

    /// Returns whether there are no runs. That is so if there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the runs as the segments of an array.
    pub fn segments(&self) -> Segments<'_> {
        Segments::Offsets(&self.offsets)
    }

    /// Returns the number of keys of each run.
    pub fn lengths(&self) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        self.offsets.windows(2).map(|ends| ends[1] - ends[0])
    }

    /// Returns the first key of each run. `keys` are the keys in which the runs were found.
    ///
    /// # Panics
    /// If `keys` has fewer keys than the runs.
    pub fn unique<K: Copy>(&self, keys: &[K]) -> Vec<K> {
        self.offsets.windows(2).map(|ends| keys[ends[0]]).collect()
    }
}

impl<'a> From<&'a Runs> for Segments<'a> {
    fn from(runs: &'a Runs) -> Self {
        runs.segments()
    }
}

/// Returns the offsets of the runs of `keys`, as [`Runs`] has them.
pub(crate) fn offsets<W: Word>(keys: &[W], spec: Spec) -> Vec<usize> {
    let begins = (1..keys.len()).filter(|&at| !spec.is_same(keys[at - 1], keys[at]));
    let first = if keys.is_empty() { None } else { Some(0) };
    first.into_iter().chain(begins).chain([keys.len()]).collect()
}
