//! One stable sort for every primitive key, on any GPU and on the CPU, with one order and one answer everywhere.
//!
//! # In 60 seconds
//! ```
//! use polysort::prelude::*;
//!
//! // Keys: any primitive. The backend is a type; swap it and nothing else changes.
//! let mut depths = vec![2.5_f32, -0.0, f32::NAN, 0.0, -7.25];
//! polysort::sort::<f32, Auto>(&mut depths)?;
//! assert_eq!(format!("{depths:?}"), "[-7.25, -0.0, 0.0, 2.5, NaN]"); // the order of f32::total_cmp
//!
//! // Pairs, argsort, descending, a range of bits, many lists at once, the best k: always stable.
//! let (mut keys, mut values) = (vec![3_u16, 1, 3], vec!["c", "a", "C"].into_iter().map(|s| s.as_bytes()[0]).collect::<Vec<_>>());
//! polysort::sort_pairs_with::<u16, u8, Auto>(&mut keys, &mut values, Options::descending())?;
//! assert_eq!(values, b"cCa");
//! let best = polysort::top_k::<i64, Auto>(&[5, -2, 9, 9], 3)?;
//! assert_eq!((best.keys, best.indices), (vec![9, 9, 5], vec![2, 3, 0]));
//!
//! // Generic code is generic over the backend, and tests itself on another.
//! fn tidy<B: Backend>(readings: &mut [f64]) -> Result<(), Error> {
//!     polysort::sort::<_, B>(readings)
//! }
//! tidy::<RayonBackend>(&mut [1.0, 0.5])?;
//! # Ok::<(), Error>(())
//! ```
//!
//! # Keys
//! | key | order |
//! |---|---|
//! | `u8` … `u128`, `usize`, `i8` … `i128`, `isize` | numeric |
//! | `f16`, `bf16` (of `half`), `f32`, `f64` | `total_cmp`: −NaN < −∞ < … < −0 < +0 < … < +∞ < +NaN; payloads kept bit for bit |
//! | `bool`, `char` | as `Ord` |
//! | [`Reverse<K>`](core::cmp::Reverse) | the opposite of `K` |
//! | `(A, B)`, `(A, B, C)`, `(A, B, C, D)` | lexicographic; up to 128 bits in all, more does not compile |
//! | your own | implement [`Sortable`]: two functions to and from unsigned bits; prove it with [`laws::check`] |
//!
//! # Backends
//! | backend | runs on | feature |
//! |---|---|---|
//! | [`RayonBackend`] | all cores; the reference | `rayon` (default) |
//! | [`MetalBackend`] | a GPU on Apple's systems, by kernels in Metal Shading Language | `metal` (default) |
//! | [`WgpuBackend`] | a GPU, through Vulkan, Metal, DX12 or WebGPU | `wgpu` (default) |
//! | [`Auto`] | what suits the call | `rayon` |
//! | [`AnyBackend`] | the one you name at run time | with any |
//! | [`Fallback<P, S>`] | `P`, and `S` where `P` cannot | always |
//! | your own | implement [`Backend`]: five functions; `examples/own_backend.rs` | always |
//!
//! # What holds
//! * **Stable**, ascending and descending: equal keys keep their input order.
//! * **One answer**: every backend gives the same result, bit for bit.
//! * **Nothing is lost**: on any error, and on a panic in your own key, the slices are as they were. Errors say what to do.
//! * **No hidden work**: a sort never measures, never touches a file.
#![forbid(unsafe_code)]

#[cfg(any(feature = "rayon", feature = "wgpu"))]
mod any;
#[cfg(feature = "rayon")]
mod auto;
#[cfg(feature = "rayon")]
mod calibration;
#[cfg(feature = "rayon")]
mod costs;
mod ops;
#[cfg(feature = "rayon")]
mod stored;

#[cfg(any(feature = "rayon", feature = "wgpu"))]
pub use any::AnyBackend;
#[cfg(feature = "rayon")]
pub use auto::Auto;
#[cfg(feature = "rayon")]
pub use calibration::{Calibration, calibrate};
#[cfg(all(feature = "rayon", feature = "wgpu"))]
pub use calibration::{store_tuned, stored_tuned};
pub use ops::*;
pub use polysort_core::permutation::apply as apply_permutation;
pub use polysort_core::{
    Backend, Cause, Error, Fallback, InPlace, Join, Limits, MaskKey, Masks, Options, Order, Report, Segments, Sort, Sortable,
    Spec, TopK, Word, laws, permutation, sort_pairs_by_argsort,
};
#[cfg(feature = "metal")]
pub use polysort_metal::MetalBackend;
#[cfg(feature = "rayon")]
pub use polysort_rayon::RayonBackend;
#[cfg(feature = "wgpu")]
pub use polysort_wgpu::{self as gpu, WgpuBackend};

/// Vector search: [`VectorSearch`](vector::VectorSearch) for backends that compute distances, [`IvfIndex`](vector::IvfIndex) for an
/// index on any of them.
///
/// ```
/// use polysort::{Backend, RayonBackend, vector::{IvfIndex, IvfOptions}};
///
/// let points = [0.0, 0.0, /**/ 1.0, 0.0, /**/ 9.0, 9.0, /**/ 8.0, 9.0];
/// let index = IvfIndex::build(RayonBackend::global()?, IvfOptions::new(2, 2), &[10, 11, 12, 13], &points)?;
/// let found = index.search(&[1.0, 1.0, /**/ 9.0, 8.0], 1, 1)?;
/// assert_eq!((found[0][0].id, found[1][0].id), (11, 12));
/// # Ok::<(), polysort::vector::IvfError>(())
/// ```
pub mod vector {
    pub use polysort_core::vector::*;
    pub use polysort_vector::*;
}

/// What most programs need: `use polysort::prelude::*;`
pub mod prelude {
    #[cfg(any(feature = "rayon", feature = "wgpu"))]
    pub use crate::AnyBackend;
    #[cfg(feature = "metal")]
    pub use crate::MetalBackend;
    #[cfg(feature = "wgpu")]
    pub use crate::WgpuBackend;
    #[cfg(feature = "rayon")]
    pub use crate::{Auto, RayonBackend};
    pub use crate::{Backend, Error, Fallback, MaskKey, Options, Order, Segments, Sort, Sortable, TopK};
}
