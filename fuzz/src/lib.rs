//! What the fuzz targets share: an input is a few bytes, which `arbitrary` decodes to a recipe, and the recipe gives keys, options and lists of any size.
//!
//! ```text
//! bytes ── arbitrary ──▶ recipe ── of::<K>() ──▶ keys, options, segments      input.rs
//!                                                  │
//!                        code under test ──────────┴──▶ the same answer as std's stable sort
//! ```
//!
//! So an input of 20 bytes can be a sort of 100 000 keys, and every change of a byte is another sort. The patterns, the key types and the order of the
//! keys are those of `polysort-kit`.
#![forbid(unsafe_code)]

mod backends;
mod input;
mod judge;
mod key;
mod slow;

pub use backends::Threads;
pub use input::{Choice, Keys, Len, Lists, Orders};
pub use judge::{in_order, multiset, partly_sorted, same, same_keys};
pub use key::KeyType;
pub use slow::Slow;
