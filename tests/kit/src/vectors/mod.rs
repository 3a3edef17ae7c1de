//! The checks of vector search.

mod checks;
mod exact;
mod suite;

pub use checks::{VectorCheck, vector_checks};
pub use exact::{Exact, StdStore};
