//! Backends with some numbers of threads, opened once.

use arbitrary::Arbitrary;
use core::array;
use polysort_rayon::RayonBackend;
use std::sync::LazyLock;

/// The sizes of the pools. A pool of one thread is the calling thread.
const SIZES: [usize; 4] = [1, 2, 3, 8];

static POOLS: LazyLock<[RayonBackend; SIZES.len()]> =
    LazyLock::new(|| array::from_fn(|pool| RayonBackend::with_threads(SIZES[pool]).expect("the system gives threads")));

/// A number of threads, and whether keys alone are sorted in place.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub struct Threads(u8);

impl Threads {
    /// Returns the backend.
    pub fn backend(self) -> RayonBackend {
        let backend = POOLS[usize::from(self.0) % SIZES.len()].clone();
        if self.0 >= 192 { backend.in_place() } else { backend }
    }
}
