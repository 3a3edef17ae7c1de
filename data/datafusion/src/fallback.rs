//! Sorts that DataFusion's kernel did instead of the backend.

use std::sync::{Arc, Mutex, PoisonError};

/// Rows that the backend did not sort.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fallback {
    /// The number of rows.
    pub rows: usize,
    /// The reason, for people to read.
    pub why: String,
}

/// The fallbacks of one operator.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fallbacks(Arc<Mutex<Vec<Fallback>>>);

impl Fallbacks {
    pub(crate) fn add(&self, fallback: Fallback) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(fallback);
    }

    pub(crate) fn all(&self) -> Vec<Fallback> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
