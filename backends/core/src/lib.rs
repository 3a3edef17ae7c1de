//! The contract of [polysort](https://docs.rs/polysort): what a key is, what a backend is, what a caller may ask for.
//!
//! A key is a value whose order is the order of some unsigned bits ([`Sortable`]). For every primitive the map from raw
//! bits to ordered bits is an XOR with one of two constants, chosen by the sign bit ([`MaskKey`], [`Masks`]), so a
//! backend sorts raw words in place and never sees a key type: it is generic over [`Word`] alone, and a [`Spec`]
//! tells it the masks and the bit window. Everything a key type needs on top (mapping, checks, permutation of elements that
//! cannot be moved bit by bit) is written once, in [`Sort`], over any [`Backend`].
//!
//! ```text
//!   user's &mut [f32] ──lend──▶ &mut [u32] + Masks ──▶ Backend::sort_bits     primitives: in place
//!   user's &mut [Key] ──to_bits▶ Vec<u64> + Masks ──▶ Backend::sort_bits ──from_bits──▶ back, once all is well
//! ```
//!
//! Applications use the facade crate `polysort`; depend on this crate to write a backend or a key.
#![forbid(unsafe_code)]

mod backend;
mod compound;
mod error;
mod fallback;
mod global;
mod key;
pub mod laws;
mod masks;
pub mod permutation;
pub mod plan;
mod segments;
mod sort;
mod spec;
pub mod vector;
mod word;
mod words;

pub use backend::{Backend, Limits, sort_pairs_by_argsort};
pub use compound::Join;
pub use error::{Cause, Error};
pub use fallback::{Fallback, Report};
pub use key::{InPlace, MaskKey, Sortable};
pub use masks::Masks;
pub use segments::Segments;
pub use sort::{Sort, TopK};
pub use spec::{Options, Order, Spec};
pub use word::Word;
#[doc(hidden)]
pub use words::{Pairs, Words, shared_words};
