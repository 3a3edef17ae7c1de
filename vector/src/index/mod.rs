//! The index by inverted lists, which only needs a backend that computes distances.

mod error;
mod ivf;
mod kmeans;
mod lists;
mod options;

pub use error::IvfError;
pub use ivf::{IvfIndex, Neighbor};
pub use options::IvfOptions;
