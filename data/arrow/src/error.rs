//! Errors of polysort as errors of arrow.

use arrow_schema::ArrowError;

/// An error of polysort, as one of arrow.
pub(crate) fn external(error: polysort_core::Error) -> ArrowError {
    ArrowError::ExternalError(Box::new(error))
}
