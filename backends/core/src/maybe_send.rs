//! `Send`, where devices may move between threads.

use core::pin::Pin;

/// `Send` on every system but in a browser, whose devices belong to one thread.
#[cfg(not(target_family = "wasm"))]
pub trait MaybeSend: Send {}
#[cfg(not(target_family = "wasm"))]
impl<T: Send> MaybeSend for T {}

/// `Send` on every system but in a browser, whose devices belong to one thread.
#[cfg(target_family = "wasm")]
pub trait MaybeSend {}
#[cfg(target_family = "wasm")]
impl<T> MaybeSend for T {}

#[cfg(not(target_family = "wasm"))]
type DynFuture<'a, T> = dyn Future<Output = T> + Send + 'a;
#[cfg(target_family = "wasm")]
type DynFuture<'a, T> = dyn Future<Output = T> + 'a;

/// A future in a box. It is `Send` on every system but in a browser.
///
/// The code of a boxed future is compiled in the crate that makes the box. The code of an async function is compiled again in each crate that awaits it. So
/// a backend boxes the futures of its operations.
pub type BoxFuture<'a, T> = Pin<Box<DynFuture<'a, T>>>;
