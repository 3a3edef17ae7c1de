//! The contract of [polysort](https://docs.rs/polysort): keys, backends, operations and errors.
//!
//! A key is a value whose order is the order of some unsigned bits ([`Sortable`]). For every primitive number the map from raw bits to
//! ordered bits is an XOR with one of two constants, selected by the sign bit ([`MaskKey`], [`Masks`]). So a backend sorts raw words in place and
//! needs no key types: it is generic over [`Word`], and a [`Spec`] gives it the masks and the range of bits. Everything that a key type needs
//! besides (mapping, checks, permutations of elements that cannot be moved bit by bit) is written once, in [`Sort`], for every
//! [`Backend`].
//!
//! ```text
//!   user's &mut [f32] ──lend──▶ &mut [u32] + Spec ──▶ Backend::sort_bits      primitives: in place
//!   user's &mut [Key] ──to_bits, checks──▶ Vec<u64> + Spec ──▶ Backend::sort_bits ──from_bits──▶ back to the user's slice
//! ```
//!
//! Applications use the crate `polysort`. Depend on this crate to write a backend or a key. The crate `polysort-kit` tests a backend with one
//! line, and the module `laws` of `polysort` tests a key.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod backend;
mod checks;
mod compound;
#[doc(hidden)]
pub mod derived;
mod dynamic;
mod error;
mod flow;
mod global;
mod key;
mod limits;
mod masks;
mod maybe_send;
mod memory;
mod operation;
mod optional;
mod parts;
pub mod permutation;
mod provided;
mod runs;
mod segments;
mod sort;
mod sort_async;
mod sorted_runs;
mod spec;
mod sync;
mod top_k;
mod values;
mod wide;
mod word;
mod words;

pub use backend::Backend;
#[doc(hidden)]
pub use bytemuck::Pod;
pub use compound::Join;
pub use dynamic::DynBackend;
pub use error::{Cause, Error};
pub use key::{InPlace, MaskKey, Sortable};
pub use limits::Limits;
pub use masks::Masks;
pub use maybe_send::{BoxFuture, MaybeSend};
pub use operation::{AnyOperation, Operation, selected_len};
pub use optional::NoneLast;
#[cfg(feature = "derive")]
pub use polysort_derive::Sortable;
pub use provided::{first_of_each, pairs_by_argsort};
pub use runs::Runs;
pub use segments::Segments;
pub use sort::Sort;
pub use sort_async::{SortAsync, SortFuture};
pub use sorted_runs::SortedRuns;
pub use spec::{Options, Order, Spec, Window};
pub use top_k::TopK;
pub use values::{Values, ValuesMut};
pub use wide::{Wide, WideKey};
pub use word::Word;
pub use words::shared_words;
