//! The sorts of the web page in this folder, compiled to WebAssembly. `scripts/web-page.sh` builds the page and serves it.
//!
//! JavaScript writes keys to the memory of a `Keys` object, calls a sort, and reads the sorted keys from the same memory. On
//! targets other than `wasm32` this crate is empty.

#[cfg(target_arch = "wasm32")]
pub mod sorts;
