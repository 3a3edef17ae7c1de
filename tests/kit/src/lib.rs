//! The conformance suite: what a backend must do, checked against `std`'s stable sort.
//!
//! It is written once, over the [`Backend`](polysort_core::Backend) trait. A backend enters by one line of a `harness = false` test:
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
//! A case is a key type, an operation, a [`Pattern`], a length, an order and a bit window. `--full` runs their product; else a part
//! of it in which every pattern meets every operation and key, every length both orders, and every window comes.
//!
//! A backend that searches vectors enters by `suite.enter_vectors` as well: its distances are checked against double precision,
//! what is nearest against a sort of its own distances.
#![forbid(unsafe_code)]

mod case;
mod exact;
mod keys;
mod manifest;
mod ops;
mod oracle;
mod patterns;
mod suite;
mod vectors;

pub use case::{Case, Plan, Sample};
pub use exact::{Exact, StdStore};
pub use keys::{Custom, Scored, TestKey};
pub use ops::{Check, checks, checks_of};
pub use oracle::{Oracle, StdBackend};
pub use patterns::Pattern;
pub use suite::{Suite, Taken};
pub use vectors::{VectorCheck, vector_checks};
