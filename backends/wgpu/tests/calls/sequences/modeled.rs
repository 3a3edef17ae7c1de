//! A buffer on the device, and its model.

use super::Site;
use crate::support::{ensure, failed};
use bytemuck::Pod;
use libtest_mimic::Failed;
use polysort_core::Options;
use polysort_kit::{Case, Oracle, Pattern, TestKey};
use polysort_wgpu::SortBuffer;
use std::ops::Range;

pub(super) struct Modeled<T> {
    pub(super) name: String,
    /// `None` if it was dropped. Recorded sorts may still use its memory, so the model stays.
    pub(super) buffer: Option<SortBuffer<T>>,
    /// What the elements up to the capacity must be.
    pub(super) all: Vec<T>,
    /// The number of elements that the buffer must report.
    pub(super) len: usize,
}

impl<T: Pod> Modeled<T> {
    pub(super) fn new(site: &Site, name: String, all: Vec<T>) -> Result<Self, Failed> {
        let buffer = SortBuffer::from_slice(&site.backend, &all).map_err(failed)?;
        Ok(Self { name, buffer: Some(buffer), len: all.len(), all })
    }

    pub(super) fn capacity(&self) -> usize {
        self.all.len()
    }

    /// The elements that the buffer must have.
    pub(super) fn elements(&self) -> &[T] {
        &self.all[..self.len]
    }

    pub(super) fn buffer(&self) -> &SortBuffer<T> {
        self.buffer.as_ref().expect("calls use live buffers")
    }

    pub(super) fn buffer_mut(&mut self) -> &mut SortBuffer<T> {
        self.buffer.as_mut().expect("calls use live buffers")
    }

    /// Replaces the elements in the model, after a call has replaced those of the buffer. Such a call writes whole words of 4 bytes, so the
    /// model takes what the last word then has behind the elements.
    pub(super) fn replace(&mut self, elements: &[T]) -> Result<(), Failed> {
        self.write(0, elements);
        self.len = elements.len();
        let in_word = (4 / size_of::<T>()).max(1);
        let rest = self.len..self.len.next_multiple_of(in_word).min(self.capacity());
        if !rest.is_empty() {
            let (len, capacity) = (self.len, self.capacity());
            self.buffer_mut().set_len(capacity).map_err(failed)?;
            let found = self.buffer().read().map_err(failed)?[rest.clone()].to_vec();
            self.write(rest.start, &found);
            self.buffer_mut().set_len(len).map_err(failed)?;
        }
        Ok(())
    }

    /// Writes elements to the model, from index `first` on.
    pub(super) fn write(&mut self, first: usize, elements: &[T]) {
        self.all[first..first + elements.len()].copy_from_slice(elements);
    }

    /// Compares the buffer with the model, up to its capacity.
    pub(super) fn check(&mut self) -> Result<(), Failed> {
        let Self { name, buffer: Some(buffer), all, len } = self else { return Ok(()) };
        ensure(buffer.len() == *len, || format!("{name} has {} elements instead of {len}", buffer.len()))?;
        buffer.set_len(all.len()).map_err(failed)?;
        let different = {
            let found = buffer.read().map_err(failed)?;
            let differs = |i: &usize| bytemuck::bytes_of(&found[*i]) != bytemuck::bytes_of(&all[*i]);
            (0..all.len()).filter(differs).collect::<Vec<_>>()
        };
        buffer.set_len(*len).map_err(failed)?;
        let (first, last) = (different.first(), different.last());
        ensure(different.is_empty(), || {
            let (count, of) = (different.len(), all.len());
            format!("{name} differs from the model in {count} of {of} elements, between {first:?} and {last:?}; {len} are in use")
        })
    }
}

/// Returns the elements in an order.
pub(super) fn gathered<T: Copy>(elements: &[T], order: &[u32]) -> Vec<T> {
    order.iter().map(|&i| elements[i as usize]).collect()
}

/// Returns the permutation by which std's stable sort sorts keys.
pub(super) fn order<K: TestKey>(keys: &[K], options: Options) -> Vec<u32> {
    oracle(keys, options).permutation()
}

/// Returns the permutation by which std's stable sort sorts some ranges of keys, each by itself.
pub(super) fn order_in<K: TestKey>(ranges: &[Range<usize>], keys: &[K], options: Options) -> Vec<u32> {
    oracle(keys, options).segments_permutation(ranges)
}

/// Returns the indices at which runs of equal keys begin, and the number of keys.
pub(super) fn runs<K: TestKey>(keys: &[K], options: Options) -> Vec<u32> {
    let oracle = oracle(keys, options);
    let begins = (0..keys.len()).filter(|&i| i == 0 || !oracle.are_equal(i - 1, i));
    begins.chain([keys.len()]).map(|i| i as u32).collect()
}

/// Whether keys are sorted by `options`.
pub(super) fn is_sorted<K: TestKey>(keys: &[K], options: Options) -> bool {
    order(keys, options).is_sorted()
}

fn oracle<K: TestKey>(keys: &[K], options: Options) -> Oracle<'_, K> {
    // The oracle takes the keys as they are: the pattern and the seed do not matter.
    Oracle::new(keys, Case { pattern: Pattern::Uniform, len: keys.len(), options, seed: 0 })
}
