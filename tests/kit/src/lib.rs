//! The conformance suite for backends of [polysort](https://docs.rs/polysort): checks against `std`'s stable sort.
//!
//! The suite is written once, over the trait [`Backend`](polysort_core::Backend). A backend enters it by one line. In your own crate, add this
//! to `Cargo.toml`:
//!
//! ```toml
//! [dev-dependencies]
//! polysort-kit = "0.1"
//!
//! [[test]]
//! name = "conformance"
//! harness = false
//! ```
//!
//! and this file, `tests/conformance.rs`:
//!
//! ```no_run
//! # use polysort_core::{Backend, Error, Limits, Spec, Word};
//! # #[derive(Clone)] struct Mine;
//! # impl Backend for Mine {
//! #     fn open() -> Result<Self, Error> { Ok(Mine) }
//! #     fn name(&self) -> String { "mine".into() }
//! #     fn limits(&self) -> Limits { Limits::default() }
//! #     fn sort_bits<W: Word>(&self, _: &mut [W], _: Spec) -> Result<(), Error> { Ok(()) }
//! #     fn sort_pairs_bits<W: Word, V: bytemuck::Pod>(&self, _: &mut [W], _: &mut [V], _: Spec) -> Result<(), Error> { Ok(()) }
//! # }
//! fn main() {
//!     let mut suite = polysort_kit::Suite::from_args();
//!     suite.enter("mine", Mine::open);
//!     suite.run();
//! }
//! ```
//!
//! A case is a key type, an operation, a [`Pattern`], a length, an order and a range of bits. `--full` runs all combinations. Without it a part runs in
//! which each operation runs with each key type and each pattern, every length with both orders, and every kind of range. At its end the program prints
//! what it did not run, and why.
//!
//! With the feature `vector`, a backend that searches vectors enters by [`enter_vectors`](Suite::enter_vectors) as well. Its distances are compared
//! with double precision, and its nearest vectors with a stable sort of its own distances.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod case;
mod compare;
mod keys;
mod manifest;
mod misuse;
mod ops;
mod oracle;
mod patterns;
mod suite;
mod thorough;
mod unruly;
#[cfg(feature = "vector")]
mod vectors;
mod wide;

pub use case::{Case, Plan, Sample};
pub use keys::{Custom, Scored, TestKey};
pub use ops::{Check, checks, checks_of};
pub use oracle::{Oracle, StdBackend};
pub use patterns::{Pattern, Place, Teeth};
pub use suite::{Suite, Taken};
#[doc(hidden)]
pub use thorough::{is_thorough, step};
#[cfg(feature = "vector")]
pub use vectors::{Exact, StdStore, VectorCheck, vector_checks};
