//! What an index refuses.

use polysort_core::Error;

/// Why an index did not do what it was asked for. It is then as it was.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IvfError {
    /// Numbers that are not as many as a number of vectors are.
    #[error("{numbers} numbers are not {vectors} vectors of dimension {dimension}")]
    Dimension {
        /// Numbers that were given.
        numbers: usize,
        /// Vectors that they should be.
        vectors: usize,
        /// Numbers of a vector.
        dimension: usize,
    },
    /// A vector with a number that is infinite or none: it is near to nothing, and no centre could be computed from it.
    #[error("vector {vector} holds {number}; only finite numbers can be trained with or added")]
    NotFinite {
        /// The first such vector.
        vector: usize,
        /// Its number.
        number: f32,
    },
    /// No lists, or more of them than vectors to train with.
    #[error("{lists} lists cannot be trained with {vectors} vectors: there must be at least one list, and a vector for each")]
    TooFewVectors {
        /// Lists asked for.
        lists: usize,
        /// Vectors to train with.
        vectors: usize,
    },
    /// An id that is in the index already, or comes twice.
    #[error("id {id} is there already; remove it first")]
    DuplicateId {
        /// The first such id.
        id: u64,
    },
    /// An id that is not in the index, or comes twice.
    #[error("there is no id {id}, or it was to be removed twice")]
    UnknownId {
        /// The first such id.
        id: u64,
    },
    /// What the backend reports.
    #[error(transparent)]
    Backend(#[from] Error),
}
