//! The interface of rdst, a radix sort for the CPU, over `RayonBackend`: for programs that use rdst and want to try polysort without a change of
//! their code.
//!
//! What rdst calls the levels of a key are its bytes, the lowest first. Keys have up to 16 of them here. Sorts are stable, which rdst's are not.
#![forbid(unsafe_code)]

use polysort_core::{Backend, Error, Sort, Sortable};
use polysort_rayon::RayonBackend;
use rayon::prelude::*;
use std::sync::LazyLock;

/// A value that is sorted by some bytes.
pub trait RadixKey {
    /// The number of bytes.
    const LEVELS: usize;

    /// Returns one byte. The highest one has the number `LEVELS - 1`.
    fn get_level(&self, level: usize) -> u8;
}

macro_rules! unsigned {
    ($($key:ty)*) => {$(
        impl RadixKey for $key {
            const LEVELS: usize = size_of::<$key>();

            #[inline(always)]
            fn get_level(&self, level: usize) -> u8 {
                (self >> (8 * level)) as u8
            }
        }
    )*};
}
unsigned!(u8 u16 u32 u64 u128 usize);

/// Slices that can be sorted.
pub trait RadixSort<T> {
    /// Sorts by the bytes of the elements, stably.
    fn radix_sort_unstable(&mut self);

    /// Returns a sort whose settings can be changed.
    fn radix_sort_builder(&mut self) -> RadixSortBuilder<'_, T>;
}

impl<T: RadixKey + Copy + Send + Sync> RadixSort<T> for [T] {
    fn radix_sort_unstable(&mut self) {
        self.radix_sort_builder().sort();
    }

    fn radix_sort_builder(&mut self) -> RadixSortBuilder<'_, T> {
        RadixSortBuilder { data: self, is_parallel: cfg!(feature = "multi-threaded") }
    }
}

impl<T: RadixKey + Copy + Send + Sync> RadixSort<T> for Vec<T> {
    fn radix_sort_unstable(&mut self) {
        self.as_mut_slice().radix_sort_unstable();
    }

    fn radix_sort_builder(&mut self) -> RadixSortBuilder<'_, T> {
        self.as_mut_slice().radix_sort_builder()
    }
}

/// A sort that has not begun.
#[must_use = "`sort` sorts"]
pub struct RadixSortBuilder<'a, T> {
    data: &'a mut [T],
    is_parallel: bool,
}

/// The backend of sorts on one thread.
static ONE: LazyLock<RayonBackend> = LazyLock::new(|| RayonBackend::with_threads(1).expect("one thread can be started"));

impl<T: RadixKey + Copy + Send + Sync> RadixSortBuilder<'_, T> {
    /// Sorts in the current rayon pool, or on one thread.
    pub fn with_parallel(self, is_parallel: bool) -> Self {
        Self { is_parallel, ..self }
    }

    /// Changes nothing: one sort suits all lengths.
    pub fn with_low_mem_tuner(self) -> Self {
        self
    }

    /// Sorts on one thread.
    pub fn with_single_threaded_tuner(self) -> Self {
        self.with_parallel(false)
    }

    /// Sorts by the bytes of the elements, stably: an argsort of the keys, and a gather of the elements.
    ///
    /// # Panics
    /// If there is not enough memory for the keys and a copy of the elements.
    pub fn sort(self) {
        const { assert!(T::LEVELS <= 16, "a key has up to 16 bytes") };
        match T::LEVELS {
            0..=4 => self.sort_as(|element| bytes(element) as u32),
            5..=8 => self.sort_as(|element| bytes(element) as u64),
            _ => self.sort_as(bytes),
        }
    }

    fn sort_as<K: Sortable + Send>(self, key: impl Fn(&T) -> K + Sync) {
        let (data, all) = (self.data, |result: Result<Vec<u32>, Error>| result.expect("there is memory for the permutation"));
        if self.is_parallel {
            let keys: Vec<K> = data.par_iter().map(&key).collect();
            let order = all(RayonBackend::global().expect("the CPU backend opens always").argsort(&keys));
            let sorted: Vec<T> = order.par_iter().map(|&at| data[at as usize]).collect();
            data.par_chunks_mut(1 << 16).zip(sorted.par_chunks(1 << 16)).for_each(|(data, sorted)| data.copy_from_slice(sorted));
        } else {
            let keys: Vec<K> = data.iter().map(key).collect();
            let order = all(ONE.argsort(&keys));
            let sorted: Vec<T> = order.iter().map(|&at| data[at as usize]).collect();
            data.copy_from_slice(&sorted);
        }
    }
}

/// Returns all bytes of a key as a number.
#[inline(always)]
fn bytes<T: RadixKey>(element: &T) -> u128 {
    (0..T::LEVELS).fold(0, |bytes, level| bytes | u128::from(element.get_level(level)) << (8 * level))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Arc {
        to: u64,
        from: u64,
        label: usize,
    }

    impl RadixKey for Arc {
        const LEVELS: usize = 16;

        fn get_level(&self, level: usize) -> u8 {
            if level < 8 { self.to.get_level(level) } else { self.from.get_level(level - 8) }
        }
    }

    #[test]
    fn elements_are_sorted_by_all_of_their_bytes() {
        let mix = |i: u64| (i ^ i >> 7).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50;
        let arcs: Vec<Arc> = (0..100_000).map(|i| Arc { to: mix(i), from: mix(i + 1) << 40, label: i as usize }).collect();
        let mut expected = arcs.clone();
        expected.sort_by_key(|arc| (arc.from, arc.to));
        for is_parallel in [false, true] {
            let mut sorted = arcs.clone();
            sorted.radix_sort_builder().with_parallel(is_parallel).sort();
            assert!(sorted == expected, "parallel: {is_parallel}");
        }
        let mut words: Vec<u16> = (0..1000).map(|i| mix(i) as u16).collect();
        let mut expected = words.clone();
        expected.sort_unstable();
        words.radix_sort_unstable();
        assert_eq!(words, expected);
    }
}
