//! `Block`: a part of the output of a long sort, which the device writes, or else the host.
//!
//! The runs stay as they are until all blocks are written. So each block can be written at any time and by either.

use crate::copy::Copiers;
use crate::data::Data;
use crate::heap_merge;
use core::ops::Range;
use polysort_core::{SortedRuns, Word};
use std::sync::atomic::{AtomicBool, Ordering};

/// Keys that a thread of the host merges at a time.
const PART: usize = 1 << 16;

/// The merge of sorted runs.
pub(crate) struct Merge<'a, W> {
    runs: SortedRuns<'a, W>,
    /// The values of each run.
    values: Vec<&'a [u8]>,
    value_bytes: usize,
    copiers: &'a Copiers,
    /// Whether the host writes the blocks that the device has not written, once it has written one.
    finishes: bool,
    /// Whether the device has written a block.
    is_begun: AtomicBool,
}

impl<'a, W: Word> Merge<'a, W> {
    pub(crate) fn new(
        runs: SortedRuns<'a, W>,
        values: Vec<&'a [u8]>,
        value_bytes: usize,
        copiers: &'a Copiers,
        finishes: bool,
    ) -> Self {
        Self { runs, values, value_bytes, copiers, finishes, is_begun: AtomicBool::new(false) }
    }

    /// Whether the device has written a block, and the host the others, or will.
    pub(crate) fn is_begun(&self) -> bool {
        self.finishes && self.is_begun.load(Ordering::Relaxed)
    }

    /// Returns where each of `blocks` of the output begins and ends in each run. Computes the cuts with several threads.
    pub(crate) fn cuts(&self, blocks: &[Range<usize>]) -> Vec<(Vec<usize>, Vec<usize>, Range<usize>)> {
        let _span = tracing::trace_span!("cut").entered();
        let none = vec![0; self.runs.keys().len()];
        let mut ends: Vec<Vec<usize>> = vec![vec![]; blocks.len()];
        self.copiers.each(ends.iter_mut().zip(blocks).collect(), |(end, block)| *end = self.runs.cut(&none, block.end));
        let begins: Vec<_> = core::iter::once(none).chain(ends.iter().cloned()).collect();
        begins.into_iter().zip(ends).zip(blocks).map(|((from, to), block)| (from, to, block.clone())).collect()
    }
}

/// A block of the output. Dropping it writes it, if it is not written and another block is.
pub(crate) struct Block<'a, W: Word> {
    merge: &'a Merge<'a, W>,
    /// Where the block begins and ends in each run.
    from: Vec<usize>,
    to: Vec<usize>,
    keys: Option<&'a mut [u8]>,
    values: &'a mut [u8],
    is_written: bool,
}

impl<'a, W: Word> Block<'a, W> {
    pub(crate) fn new(
        merge: &'a Merge<'a, W>,
        from: Vec<usize>,
        to: Vec<usize>,
        keys: Option<&'a mut [u8]>,
        values: &'a mut [u8],
    ) -> Self {
        Self { merge, from, to, keys, values, is_written: false }
    }

    /// The number of keys.
    pub(crate) fn len(&self) -> usize {
        self.from.iter().zip(&self.to).map(|(from, to)| to - from).sum()
    }

    /// The parts of the runs, and the slices to write.
    pub(crate) fn data(&mut self) -> Data<'_> {
        let Merge { runs, values, value_bytes, .. } = self.merge;
        let ranges = || self.from.iter().zip(&self.to);
        let keys = runs.keys().iter().zip(ranges()).map(|(keys, (&from, &to))| bytemuck::cast_slice(&keys[from..to]));
        let values = values.iter().zip(ranges()).map(|(values, (from, to))| &values[from * value_bytes..to * value_bytes]);
        Data::Parts(keys.collect(), values.collect(), self.keys.as_deref_mut(), self.values)
    }

    /// Records that the device has written the block.
    pub(crate) fn is_written(&mut self) {
        self.is_written = true;
        self.merge.is_begun.store(true, Ordering::Relaxed);
    }

    /// Writes the block on the host, with several threads.
    fn merge(&mut self) {
        let _span = tracing::trace_span!("merge on the host").entered();
        let (count, size) = (self.len(), self.merge.value_bytes);
        let Merge { runs, values, copiers, .. } = self.merge;
        let starts = (0..count).step_by(PART);
        let mut keys = self.keys.iter_mut().flat_map(|keys| keys.chunks_mut(PART * size_of::<W>()));
        let mut moved = self.values.chunks_mut((PART * size).max(1));
        let parts = starts.map(|start| (start, keys.next(), moved.next().unwrap_or_default()));
        let from = &self.from;
        copiers.each(parts.collect(), |(start, mut keys, moved)| {
            let from = runs.cut(from, start);
            let to = runs.cut(&from, PART.min(count - start));
            let mut at = 0;
            heap_merge::merge(*runs, &from, &to, |run, index| {
                if let Some(keys) = keys.as_deref_mut() {
                    let key = bytemuck::bytes_of(&runs.keys()[run][index]);
                    keys[at * key.len()..][..key.len()].copy_from_slice(key);
                }
                moved[at * size..][..size].copy_from_slice(&values[run][index * size..][..size]);
                at += 1;
            });
        });
    }
}

impl<W: Word> Drop for Block<'_, W> {
    fn drop(&mut self) {
        if !self.is_written && self.merge.is_begun() {
            self.merge();
        }
    }
}
