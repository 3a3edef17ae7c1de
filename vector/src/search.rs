//! What a search is given: queries, and the candidates of each query.

use crate::checks::check_below;
use crate::error::VectorError;
use crate::metric::Metric;
use crate::precision::Precision;
use polysort_core::Error;

/// Where a search detects candidates that name no entry, and entries that name no slot. No search reads outside of its arrays either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Check {
    /// The host detects them before anything is computed. The error names the first one.
    #[default]
    Host,
    /// The device detects them while it computes distances. The error contains their number. The host does not read the candidates then.
    Device,
}

/// Queries, and the candidates of each query.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Search<'a> {
    /// The metric of the distances.
    pub metric: Metric,
    /// The queries, row by row: number `d` of query `q` is `queries[q * dimension + d]`.
    pub queries: &'a [f32],
    /// The entries that are candidates: those of the first query, of the second one, and so on.
    pub candidate_indices: &'a [u32],
    /// The candidates of query `q` are `candidate_offsets[q] .. candidate_offsets[q + 1]`: one offset more than there are queries.
    pub candidate_offsets: &'a [u32],
    /// Where wrong candidates are detected.
    pub check: Check,
}

impl<'a> Search<'a> {
    /// A search by squared distance whose candidates the host checks.
    pub fn new(queries: &'a [f32], candidate_indices: &'a [u32], candidate_offsets: &'a [u32]) -> Self {
        Self { metric: Metric::L2, queries, candidate_indices, candidate_offsets, check: Check::Host }
    }

    /// The same search by this metric.
    #[must_use]
    pub fn metric(self, metric: Metric) -> Self {
        Self { metric, ..self }
    }

    /// The same search whose candidates are checked there.
    #[must_use]
    pub fn check(self, check: Check) -> Self {
        Self { check, ..self }
    }

    /// Checks the search, in a store of vectors of that `dimension` with that many `entries`, and returns the number of queries.
    ///
    /// # Errors
    /// * [`Error::LengthMismatch`] if the offsets are not those of as many queries, or do not end at the last candidate,
    /// * [`Error::InvalidOffsets`] with the first query whose candidates end before they begin, or after the last one,
    /// * [`VectorError::OutOfRange`] for a first offset that is not 0 and, with [`Check::Host`], for the first candidate that is no entry,
    /// * [`VectorError::NotFinite`] for a query with a number that is infinite or NaN.
    pub fn queries(&self, dimension: usize, entries: usize) -> Result<usize, VectorError> {
        let (offsets, candidates) = (self.candidate_offsets, self.candidate_indices.len());
        let count = offsets.len().saturating_sub(1);
        Error::check_lengths(
            "the queries",
            self.queries.len(),
            "as many as the offsets are for",
            count.saturating_mul(dimension),
        )?;
        check_below("candidate_offsets", &offsets[..offsets.len().min(1)], 1)?;
        for (index, pair) in offsets.windows(2).enumerate() {
            let (begin, end) = (pair[0] as usize, pair[1] as usize);
            Error::check_segment(index, begin..end, begin, candidates)?;
        }
        let covered = offsets.last().map_or(0, |&last| last as usize);
        Error::check_lengths("candidate_indices", candidates, "what candidate_offsets cover", covered)?;
        Precision::F32.check("the queries", self.queries)?;
        if self.check == Check::Host {
            check_below("candidate_indices", self.candidate_indices, entries)?;
        }
        Ok(count)
    }
}
