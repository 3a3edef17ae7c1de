//! The slices of one cell, and their right answer.

use crate::key::BenchKey;
use polysort_kit::Pattern;
use polysort_measure::batch;
use rayon::prelude::*;
use std::sync::OnceLock;

/// Slices of the same length, one after the other, and their answer by std's sort.
#[derive(Clone, Debug)]
pub struct Input<K> {
    /// Keys of a slice.
    pub len: usize,
    /// All slices.
    pub keys: Vec<K>,
    /// All slices, each sorted.
    pub sorted: Vec<K>,
    /// The stable sorting permutation of each slice.
    pub order: Vec<u32>,
}

impl<K: BenchKey> Input<K> {
    /// Slices of `len` keys each, of `pattern`, drawn from `seed`.
    pub fn new(pattern: Pattern, len: usize, seed: u64) -> Self {
        let slices = batch(len);
        let slice = |index: usize| pattern.keys::<K>(len, seed.wrapping_add(index as u64)).into_iter().map(K::tamed);
        let keys: Vec<K> = (0..slices).flat_map(slice).collect();
        let mut ranked: Vec<(u128, u32)> = keys.iter().enumerate().map(|(at, key)| (key.ordered(), (at % len) as u32)).collect();
        // All different, so that an unstable sort gives the stable order.
        pool().install(|| {
            if slices > 1 {
                ranked.par_chunks_mut(len).for_each(<[_]>::sort_unstable);
            } else {
                ranked.par_sort_unstable();
            }
        });
        let order: Vec<u32> = ranked.into_iter().map(|(_, at)| at).collect();
        let sorted = order.chunks(len).zip(keys.chunks(len)).flat_map(|(order, keys)| order.iter().map(|&at| keys[at as usize]));
        Self { len, sorted: sorted.collect(), keys, order }
    }

    /// The number of slices.
    pub fn slices(&self) -> usize {
        self.keys.len() / self.len
    }
}

/// Threads for what is not measured, whatever the number of those that are.
fn pool() -> &'static rayon::ThreadPool {
    static POOL: OnceLock<rayon::ThreadPool> = OnceLock::new();
    POOL.get_or_init(|| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads to prepare inputs with")
    })
}
