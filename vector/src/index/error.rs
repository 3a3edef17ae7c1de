//! The error of an index.

use crate::error::VectorError;
use crate::precision::Precision;
use polysort_core::Error;

/// The reason why a call of an index failed. After an error, the index is as before.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IvfError {
    /// The number of numbers is not that of the vectors times the dimension.
    #[error("{numbers} numbers are not {vectors} vectors of dimension {dimension}")]
    #[non_exhaustive]
    Dimension {
        /// The numbers that were given.
        numbers: usize,
        /// The vectors that they should be.
        vectors: usize,
        /// Numbers of a vector.
        dimension: usize,
    },
    /// A number of a vector or query is infinite or NaN, or too large for the precision of the index.
    #[error("vector {vector} has the number {number}, which is not finite in the precision {precision:?}")]
    #[non_exhaustive]
    NotFinite {
        /// The index of the first such vector, or query.
        vector: usize,
        /// Its number.
        number: f32,
        /// The precision that the number must be finite in.
        precision: Precision,
    },
    /// The requested number of lists is 0, or more than the number of training vectors.
    #[error("{lists} lists cannot be trained with {vectors} vectors: there must be at least one list, and a vector for each")]
    #[non_exhaustive]
    TooFewVectors {
        /// The requested number of lists.
        lists: usize,
        /// The number of training vectors.
        vectors: usize,
    },
    /// An id is in the index already, or occurs twice in the call.
    #[error("id {id} is there already; remove it first")]
    #[non_exhaustive]
    DuplicateId {
        /// The first such id.
        id: u64,
    },
    /// An id is not in the index, or occurs twice in the call.
    #[error("there is no id {id}, or it was to be removed twice")]
    #[non_exhaustive]
    UnknownId {
        /// The first such id.
        id: u64,
    },
    /// An error of the backend.
    #[error(transparent)]
    Backend(#[from] VectorError),
}

impl From<Error> for IvfError {
    fn from(error: Error) -> Self {
        Self::Backend(error.into())
    }
}
