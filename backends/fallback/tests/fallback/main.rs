//! Tests of fallbacks: sorts, and vector search.

mod calls;
mod support;
#[cfg(feature = "vector")]
mod vectors;
