//! `Fallback` of [polysort](https://docs.rs/polysort): sorts on one backend, and on another one if the first fails.
//!
//! [`Fallback`] sends each call to one of its two backends. [`Retry`] decides which calls open a device again that failed; `Auto` and `MultiBackend`
//! open their devices by it, too.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod fallback;
mod retry;
mod sync;
#[cfg(feature = "vector")]
mod vectors;

pub use fallback::{Fallback, Report};
#[doc(hidden)]
pub use retry::{Opened, Retry};
#[cfg(feature = "vector")]
pub use vectors::FallbackStore;
