//! The error of a vector search.

use crate::precision::Precision;
use polysort_core::Error;

/// Why a call of vector search failed. The store is as it was before the call.
///
/// [`is_misuse`](VectorError::is_misuse) separates the caller's mistakes from the failures of a device.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VectorError {
    /// A number of a vector or query is infinite or NaN, or too large for the precision of the store.
    #[error("{what}: number {index} is {value}, which is not finite in the precision {precision:?}")]
    #[non_exhaustive]
    NotFinite {
        /// The list that holds the number.
        what: &'static str,
        /// The position of the first such number in the list.
        index: usize,
        /// The number.
        value: f32,
        /// The precision that it must be finite in.
        precision: Precision,
    },
    /// An index names nothing.
    #[error("{what}: number {index} is {value}, but must be below {limit}")]
    #[non_exhaustive]
    OutOfRange {
        /// The list that holds the index.
        what: &'static str,
        /// Its position in the list.
        index: usize,
        /// The index.
        value: u64,
        /// The number of things that can be named.
        limit: u64,
    },
    /// Candidates of a vector search name entries that do not exist, or entries name slots that do not exist.
    #[error(
        "{count} candidates name entries that do not exist, or entries name slots that do not exist; `Check::Host` names the first"
    )]
    BadCandidates {
        /// The number of such candidates.
        count: u64,
    },
    /// An error that sorts have too: too little memory, a lost device, slices that differ in length, and others.
    #[error(transparent)]
    General(#[from] Error),
}

impl VectorError {
    /// Checks the number of wrong candidates that a device has counted: candidates that name no entry, or an entry that names no slot.
    ///
    /// # Errors
    /// [`VectorError::BadCandidates`] with that number unless it is 0.
    pub fn check_candidates(wrong: u64) -> Result<(), Self> {
        if wrong == 0 { Ok(()) } else { Err(Self::BadCandidates { count: wrong }) }
    }

    /// Whether the call itself is wrong, so that no backend could answer it.
    pub fn is_misuse(&self) -> bool {
        match self {
            Self::NotFinite { .. } | Self::OutOfRange { .. } | Self::BadCandidates { .. } => true,
            Self::General(error) => error.is_misuse(),
        }
    }
}
