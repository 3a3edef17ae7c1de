//! The checks of an operation: all that a backend relies on.

use crate::{AnyOperation, Error, Operation, Segments, Spec, Word, permutation, selected_len, with_word};

impl<W: Word> Operation<'_, W> {
    /// Checks all that a backend relies on: `spec`, and the lengths of the slices and the segments of this operation.
    ///
    /// # Errors
    /// Those of [`Spec::check`] and [`Segments::check`]; [`Error::LengthMismatch`] for slices of wrong lengths; [`Error::TooLong`] for more keys
    /// than `u32` indices can name, if the operation returns indices.
    pub fn check(&self, spec: Spec) -> Result<(), Error> {
        spec.check::<W>()?;
        let len = self.keys().len();
        match self {
            Self::Sort { segments, .. } | Self::PartialSort { segments, .. } => check_segments(*segments, len),
            Self::SortPairs { values, segments, .. } => {
                Error::check_lengths("keys", len, "values", values.len())?;
                check_segments(*segments, len)
            }
            Self::SortInto { sorted, .. } => Error::check_lengths("keys", len, "sorted", sorted.len()),
            Self::SortPairsInto { values, sorted_keys, sorted_values, .. } => {
                check_pairs_into(len, values.len(), sorted_keys.len(), sorted_values.len())?;
                let (size, sorted_size) = (values.size(), sorted_values.size());
                if size == sorted_size {
                    return Ok(());
                }
                Err(Error::Unsupported { what: format!("values of {size} bytes each, sorted into values of {sorted_size}") })
            }
            Self::Argsort { segments, indices, .. } => {
                permutation::check_len(len)?;
                Error::check_lengths("keys", len, "indices", indices.len())?;
                check_segments(*segments, len)
            }
            Self::TopK { k, segments, indices, .. } => {
                permutation::check_len(len)?;
                check_segments(*segments, len)?;
                Error::check_lengths("selected keys", selected_len(*k, *segments, len), "indices", indices.len())
            }
            Self::Runs { .. } => Ok(()),
        }
    }
}

impl AnyOperation<'_> {
    /// Checks all that a backend relies on.
    ///
    /// # Errors
    /// As [`Operation::check`].
    pub fn check(&self, spec: Spec) -> Result<(), Error> {
        with_word!(self, operation => operation.check(spec))
    }
}

#[inline]
pub(crate) fn check_segments(segments: Option<Segments<'_>>, keys: usize) -> Result<(), Error> {
    segments.map_or(Ok(()), |segments| segments.check(keys))
}

/// Checks that both inputs and both outputs of a sort of pairs have one length.
pub(crate) fn check_pairs_into(keys: usize, values: usize, sorted_keys: usize, sorted_values: usize) -> Result<(), Error> {
    Error::check_lengths("keys", keys, "values", values)?;
    Error::check_lengths("keys", keys, "sorted_keys", sorted_keys)?;
    Error::check_lengths("keys", keys, "sorted_values", sorted_values)
}
