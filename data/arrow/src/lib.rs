//! Stable sorts of Arrow arrays and record batches on any backend of [polysort](https://docs.rs/polysort).
//!
//! The functions have the names of arrow's sort kernels and return what these return. A sort here is stable, and its first argument is
//! the [`Backend`](polysort_core::Backend) that sorts. The module [`cpu`] has the same functions for the CPU, with exactly the arguments of arrow.
//!
//! ```
//! use arrow_array::{Array, Int64Array};
//! use arrow_schema::SortOptions;
//! use polysort_arrow::sort_to_indices;
//! # use polysort_core::Backend;
//! # use polysort_rayon::RayonBackend;
//!
//! let fares = Int64Array::from(vec![Some(12), None, Some(7), Some(12)]);
//! let options = SortOptions { descending: true, nulls_first: false };
//! let order = sort_to_indices(&RayonBackend::global()?, &fares, Some(options), None)?;
//! assert_eq!(order.values(), &[0, 3, 2, 1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How a sort works
//! A sort makes one key of all columns. The key of a row is a string of bits: for each column a bit for null, then the value.
//!
//! * The first piece of the key and the number of the row make a word of 64 bits. The backend sorts these words, and nothing else.
//! * Rows whose pieces are equal are sorted by the next piece, as segments, and so on.
//! * A number has only as many bits as the range of its column needs, so the first piece often has several columns.
//! * A string gives its first eight bytes, with as many bits for each as the bytes of the column need. Rows that are still equal continue with
//!   the next bytes. Few such rows are compared instead.
//!
//! The backend's threads sort words. The calling thread makes the words and finds equal pieces; with [`lexsort_to_indices_on_threads`], other threads make
//! most words. Words and rows take 12 bytes for each row, beside the backend's scratch.
//!
//! # Types
//!
//! | type | sorted by |
//! |---|---|
//! | integers, floats, decimals, dates, times, timestamps, durations, intervals, booleans | their bits; floats in the order of `total_cmp` |
//! | `Utf8`, `LargeUtf8`, `Utf8View`, `Binary`, `LargeBinary`, `BinaryView`, `FixedSizeBinary` | their bytes |
//! | `Dictionary` of any of these | the rank of the value |
//! | any other, as one of several columns | comparisons with arrow's comparator, stably |
//! | any other, alone | arrow's own function, which is not stable |
//!
//! All nulls of a column are equal. This includes the null values of a dictionary: arrow's `sort_to_indices` puts them beside the null keys, but
//! apart.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]

mod batch;
mod column;
#[cfg(feature = "rayon")]
pub mod cpu;
mod error;
mod field;
mod gather;
mod key;
mod lexsort;
mod native;
mod order;
mod packed;
mod rank;
mod rows;
mod sort;
mod text;
mod threads;
mod views;

pub use arrow_ord::sort::SortColumn;
pub use arrow_schema::SortOptions;
pub use batch::{SortBy, sort_batch, sort_batches};
pub use column::is_sorted_by_bits;
pub use lexsort::{lexsort, lexsort_to_indices, lexsort_to_indices_on_threads};
pub use rank::rank;
pub use rows::NumberedRows;
pub use sort::{sort, sort_limit, sort_to_indices};

/// Compiles and runs the code in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
