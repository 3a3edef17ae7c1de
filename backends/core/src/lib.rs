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
//! line.
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
mod retry;
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
#[doc(hidden)]
pub use retry::{Opened, Retry};
pub use segments::Segments;
pub use sort::{Sort, TopK};
pub use spec::{Options, Order, Spec, Window};
pub use word::Word;
#[doc(hidden)]
pub use words::{Pairs, Words, shared_words};
