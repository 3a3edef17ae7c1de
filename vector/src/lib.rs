//! Vector search of [polysort](https://docs.rs/polysort): its contract, and an index by inverted lists on any backend that keeps the contract.
//!
//! # The contract
//! ```text
//! query q ──candidate_offsets──▶ its candidates ──candidate_indices──▶ entries ──set_entries──▶ slots ──▶ vectors
//!                                     │
//!                                     └──▶ a distance and a slot for each ──▶ the k nearest of each query
//! ```
//!
//! A store keeps each vector in the slot into which it was written; slots may be unused. An entry names a slot, and an index groups its entries
//! into lists. So a list can grow, shrink and move, and no vector is copied. A backend implements [`VectorSearch`], and its store [`VectorStore`].
//!
//! # The index
//! ```text
//! train     k-means finds a center for each list
//! add       a vector goes into a free slot, and its slot into the list of the nearest center
//! search    query ──▶ the nprobe nearest centers ──▶ all of their lists ──▶ distances ──▶ the k nearest
//! ```
//!
//! The backend keeps the vectors. The index keeps ids and lists, and selects the candidates of each query. It is there with the feature `index`,
//! which is on by default and adds the crate `rand`.
//!
//! ```
//! # #[cfg(feature = "index")] {
//! use polysort_core::Backend;
//! use polysort_rayon::RayonBackend;
//! use polysort_vector::{IvfIndex, IvfOptions};
//!
//! let points: Vec<f32> = (0..100).flat_map(|i| [i as f32, (i * i % 100) as f32]).collect();
//! let mut index = IvfIndex::train(RayonBackend::global()?, IvfOptions::new(2, 8), &points)?;
//! index.add_all(&(1000..1100).collect::<Vec<u64>>(), &points)?;
//! index.remove(1003)?;
//!
//! // The two vectors nearest to (3, 9), from all lists, without the removed vector.
//! let found = index.search(&[3.0, 9.0], 2, index.lists())?;
//! assert_eq!((found[0][0].id, found[0][0].distance), (1002, 26.0));
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod backend;
mod checks;
mod dynamic;
mod error;
mod found;
#[cfg(feature = "index")]
mod index;
mod ivf_distance;
mod metric;
mod precision;
mod search;
mod select;
mod shape;

pub use backend::{VectorSearch, VectorStore};
pub use dynamic::DynStore;
pub use error::VectorError;
pub use found::{Distances, NO_SLOT, Nearest};
#[cfg(feature = "index")]
pub use index::{IvfError, IvfIndex, IvfOptions, Neighbor};
pub use ivf_distance::ivf_distance;
pub use metric::Metric;
pub use precision::Precision;
pub use search::{Check, Search};
pub use select::{BY_DISTANCE, nearest_by, nearest_of};
pub use shape::Shape;
