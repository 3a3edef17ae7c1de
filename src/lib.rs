//! One stable sort for every primitive key, on any GPU and on the CPU, with one order and one answer everywhere.
//!
//! # In 60 seconds
//! ```
//! # #[cfg(feature = "rayon")] {
//! use polysort::prelude::*;
//!
//! // Keys: any primitive. The backend is a type; replace it and nothing else changes.
//! let mut depths = vec![2.5_f32, -0.0, f32::NAN, 0.0, -7.25];
//! polysort::sort::<f32, Auto>(&mut depths)?;
//! assert_eq!(format!("{depths:?}"), "[-7.25, -0.0, 0.0, 2.5, NaN]"); // the order of f32::total_cmp
//!
//! // Pairs, argsort, descending, a range of bits, many segments at once, the largest k: always stable.
//! let (mut keys, mut values) = (vec![3_u16, 1, 3], b"caC".to_vec());
//! polysort::sort_pairs_with::<u16, u8, Auto>(&mut keys, &mut values, Options::descending())?;
//! assert_eq!(values, b"cCa");
//! let best = polysort::top_k::<i64, Auto>(&[5, -2, 9, 9], 3)?;
//! assert_eq!((best.keys, best.indices), (vec![9, 9, 5], vec![2, 3, 0]));
//!
//! // Generic code is generic over the backend, and its tests run on another one.
//! fn tidy<B: Backend>(readings: &mut [f64]) -> Result<(), Error> {
//!     polysort::sort::<_, B>(readings)
//! }
//! tidy::<RayonBackend>(&mut [1.0, 0.5])?;
//! # }
//! # Ok::<(), polysort::Error>(())
//! ```
//!
//! # Keys
//! | key | order |
//! |---|---|
//! | `u8` … `u128`, `usize`, `i8` … `i128`, `isize` | numeric |
//! | `f16`, `bf16` (of `half`), `f32`, `f64` | `total_cmp`: −NaN < −∞ < … < −0 < +0 < … < +∞ < +NaN; payloads kept bit for bit |
//! | `bool`, `char` | as `Ord` |
//! | [`Reverse<K>`](core::cmp::Reverse) | the opposite of `K` |
//! | `Option<K>`, [`NoneLast<K>`](NoneLast) | `None` first, or last; `K` to 127 bits |
//! | `(A,)`, `(A, B)`, `(A, B, C)`, `(A, B, C, D)` | lexicographic; up to 128 bits in all, more do not compile |
//! | `[K; N]`, [`Wide`] tuples | lexicographic, of any number of bits: [`sort_wide`], [`argsort_wide`] |
//! | your own | `#[derive(Sortable)]` on a struct or an enum, or implement [`Sortable`]: two functions to and from unsigned bits; test it with [`laws::check`] |
//!
//! ```
//! # #[cfg(all(feature = "derive", feature = "rayon"))] {
//! use polysort::{RayonBackend, Sort, Sortable};
//! /// 41 bits: sorted by sensor, invalid readings first, and the largest values first.
//! #[derive(Clone, Copy, Debug, PartialEq, Sortable)]
//! struct Reading {
//!     sensor: u8,
//!     is_valid: bool,
//!     #[sortable(desc)]
//!     value: f32,
//! }
//! let of = |sensor, is_valid, value| Reading { sensor, is_valid, value };
//! let mut readings = [of(2, true, 0.5), of(1, true, 3.0), of(1, true, 7.5), of(1, false, 9.0)];
//! RayonBackend::default().sort(&mut readings)?;
//! assert_eq!(readings.map(|reading| reading.value), [9.0, 7.5, 3.0, 0.5]);
//! # }
//! # Ok::<(), polysort::Error>(())
//! ```
//!
//! # Backends
//! | backend | runs on | feature |
//! |---|---|---|
//! | `RayonBackend` | all cores; the reference | `rayon` |
//! | `WgpuBackend` | a GPU, through Vulkan, Metal, DX12 or WebGPU | `wgpu`, and the API's |
//! | `MetalBackend` | a GPU, with kernels in Metal Shading Language; the type exists on Apple's systems only | `metal` |
//! | `Auto` | the CPU or the GPU, whichever is faster for the call | `rayon` |
//! | `MultiBackend` | several open backends at once: GPUs, pools of CPU threads | `multi` |
//! | `AnyBackend` | one of these or your own, selected at run time | `rayon` or `wgpu` |
//! | [`Fallback<P, S>`] | `P`, and `S` if `P` fails | none |
//! | your own | implement [`Backend`]: five functions; `examples/own_backend.rs` is a whole one; the crate `polysort-kit` tests it | none |
//!
//! # Features
//! Features add backends and functions; none of them changes a result. All are in the default set.
//!
//! | feature | adds | and depends on |
//! |---|---|---|
//! | `rayon` | `RayonBackend`, `Auto` | `rayon` |
//! | `calibration` | `calibrate`: measures this machine for `Auto` and stores the costs in the user's cache folder | `rayon`, `dirs` |
//! | `wgpu` | `WgpuBackend`, the module `gpu`. `DeviceSorter` sorts on your own device. `WgpuBackend` opens devices of the APIs below | `wgpu` |
//! | `vulkan`, `dx12`, `webgpu` | a graphics API, on the systems that have it | wgpu's feature of this name |
//! | `metal` | Metal and `MetalBackend`, on Apple's systems; nothing on others | wgpu's feature of this name |
//! | `multi` | `MultiBackend`, the module `multi`: one sort on several devices at once | `rayon` |
//! | `derive` | `#[derive(Sortable)]` | `syn`, when it compiles |
//! | `vector` | the module `vector`: vector search on each backend, and `IvfIndex`, an index of vectors | `rand` |
//!
//! # Guarantees
//! * **Stable**, ascending and descending: equal keys keep their input order.
//! * **One answer**: every backend gives the same result, bit for bit. Only a partial sort leaves the order of its other keys open.
//! * **Nothing is lost**: on any error, and on a panic in your own key, the slices stay as they were. Errors say what to do.
//! * **No hidden work**: no sort measures, and none writes a file. `Auto` reads one file, of stored costs, when it opens.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(any(feature = "rayon", feature = "wgpu"))]
mod any;
#[cfg(feature = "rayon")]
mod auto;
#[cfg(feature = "calibration")]
mod calibration;
#[cfg(feature = "rayon")]
mod costs;
#[cfg(all(doctest, feature = "calibration", feature = "derive", feature = "multi", feature = "vector", feature = "wgpu"))]
mod guide;
pub mod laws;
mod ops;
#[cfg(feature = "rayon")]
mod stored;

#[cfg(any(feature = "rayon", feature = "wgpu"))]
pub use any::AnyBackend;
#[cfg(feature = "rayon")]
pub use auto::Auto;
#[cfg(feature = "calibration")]
pub use calibration::{Calibration, calibrate};
#[cfg(all(feature = "calibration", feature = "wgpu"))]
pub use calibration::{store_tuned, stored_tuned};
pub use ops::*;
#[cfg(feature = "derive")]
#[doc(hidden)]
pub use polysort_core::derived;
pub use polysort_core::permutation::apply as apply_permutation;
pub use polysort_core::{
    AnyOperation, Backend, Cause, DynBackend, Error, InPlace, Join, Limits, MaskKey, Masks, MaybeSend, NoneLast, Operation,
    Options, Order, Runs, Segments, Sort, SortAsync, SortFuture, Sortable, Spec, TopK, Values, ValuesMut, Wide, WideKey, Window,
    Word, first_of_each, pairs_by_argsort, permutation, selected_len, sorts_by_run, with_word,
};
pub use polysort_fallback::{Fallback, Report};
#[cfg(all(feature = "metal", target_vendor = "apple"))]
pub use polysort_metal::MetalBackend;
#[cfg(feature = "multi")]
pub use polysort_multi::{self as multi, MultiBackend};
#[cfg(feature = "rayon")]
pub use polysort_rayon::RayonBackend;
#[cfg(feature = "wgpu")]
pub use polysort_wgpu::{self as gpu, WgpuBackend};

/// Vector search: [`VectorSearch`](vector::VectorSearch) for backends that compute distances, and [`IvfIndex`](vector::IvfIndex), an index on any of
/// them.
///
/// ```
/// # #[cfg(feature = "rayon")]
/// # fn main() -> Result<(), polysort::vector::IvfError> {
/// use polysort::{Backend, RayonBackend, vector::{IvfIndex, IvfOptions}};
///
/// let points = [0.0, 0.0, /**/ 1.0, 0.0, /**/ 9.0, 9.0, /**/ 8.0, 9.0];
/// let index = IvfIndex::build(RayonBackend::global()?, IvfOptions::new(2, 2), &[10, 11, 12, 13], &points)?;
/// let found = index.search(&[1.0, 1.0, /**/ 9.0, 8.0], 1, 1)?;
/// assert_eq!((found[0][0].id, found[1][0].id), (11, 12));
/// # Ok(()) }
/// # #[cfg(not(feature = "rayon"))]
/// # fn main() {}
/// ```
#[cfg(feature = "vector")]
pub mod vector {
    pub use polysort_fallback::FallbackStore;
    pub use polysort_vector::*;
}

/// The names that most programs need: `use polysort::prelude::*;`
pub mod prelude {
    #[cfg(any(feature = "rayon", feature = "wgpu"))]
    pub use crate::AnyBackend;
    #[cfg(all(feature = "metal", target_vendor = "apple"))]
    pub use crate::MetalBackend;
    #[cfg(feature = "multi")]
    pub use crate::MultiBackend;
    #[cfg(feature = "wgpu")]
    pub use crate::WgpuBackend;
    #[cfg(feature = "rayon")]
    pub use crate::{Auto, RayonBackend};
    pub use crate::{Backend, Error, Fallback, MaskKey, Options, Order, Segments, Sort, SortAsync, Sortable, TopK};
}

/// The code in the README runs as it is printed there.
#[cfg(all(doctest, feature = "rayon"))]
#[doc = include_str!("../README.md")]
struct ReadMe;

/// The code in the page about other sorts is compiled.
#[cfg(all(doctest, feature = "rayon"))]
#[doc = include_str!("../docs/migration.md")]
struct Migration;
