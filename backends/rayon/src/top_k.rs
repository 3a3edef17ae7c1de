//! Selection: the first `k` of the sorted order without sorting the rest.
//!
//! ```text
//! each core: for each key of its stretch
//!     below the k-th best so far?  keep it        (nearly never, after the first few keys: the test is vector code)
//!     2k kept?                     drop all but the best k, which sharpens the test
//! together: the best k of what the cores kept, sorted
//! ```
//!
//! Time is one read of the keys, plus a selection among `2k` for each `k` that pass the test. No order of the input is worse than a
//! constant for each key.

use crate::columns::Indices;
use crate::sort::{sort, threads_for};
use crate::tuning::{SELECT_FRACTION, TASK};
use crate::window::Window;
use core::ops::Range;
use polysort_core::{Segments, Spec, Word};
use rayon::prelude::*;

/// Keys that are tested at once.
const BLOCK: usize = 64;

/// The indices of the first `k` keys in the order of `spec`, equal ones by index. There are at most 2³² keys, and `k` is
/// from 1 to their number.
pub(crate) fn top_k<W: Word>(keys: &[W], k: usize, spec: Spec) -> Vec<u32> {
    let threads = threads_for(size_of_val(keys));
    let share = keys.len().div_ceil(threads);
    let stretch = |index: usize| index * share..((index + 1) * share).min(keys.len());
    let best = match threads {
        1 => Best::of(keys, stretch(0), k, spec),
        _ => (0..threads).into_par_iter().map(|i| Best::of(keys, stretch(i), k, spec)).reduce(|| Best::none(k), Best::join),
    };
    best.sorted().into_iter().map(|(_, index)| index).collect()
}

/// The indices of the first `k` keys of each of `segments`, which have been checked, one segment after the other: what `found` has
/// room for. There are at most 2³² keys.
pub(crate) fn top_k_segments<W: Word>(keys: &[W], k: usize, segments: Segments<'_>, spec: Spec, found: &mut [u32]) {
    let tasks = Tasks { keys, k, segments, spec };
    if threads_for(size_of_val(keys)) == 1 {
        tasks.run_all(0..segments.len(), found);
    } else {
        rayon::scope(|_| tasks.split(0..segments.len(), found));
    }
}

#[derive(Clone, Copy)]
struct Tasks<'a, W> {
    keys: &'a [W],
    k: usize,
    segments: Segments<'a>,
    spec: Spec,
}

impl<W: Word> Tasks<'_, W> {
    /// Halves a range of segments until it is one task; a long segment is one by itself, and all threads take part.
    fn split(self, range: Range<usize>, found: &mut [u32]) {
        if range.len() <= 1 {
            return self.run_all(range, found);
        }
        let (begin, end) = (self.segments.range(range.start).start, self.segments.range(range.end - 1).end);
        if end - begin <= TASK {
            return self.run_all(range, found);
        }
        // Cut where half of the keys lie on each side, but leave both a segment.
        let middle = begin + (end - begin) / 2;
        let (mut low, mut high) = (range.start + 1, range.end - 1);
        while low < high {
            let at = (low + high) / 2;
            if self.segments.range(at).start < middle { low = at + 1 } else { high = at }
        }
        let (left, right) = (range.start..low, low..range.end);
        let (first, second) = found.split_at_mut(left.clone().map(|segment| self.found_in(segment)).sum());
        rayon::join(|| self.split(left, first), || self.split(right, second));
    }

    /// How many keys a segment gives.
    fn found_in(self, segment: usize) -> usize {
        self.segments.range(segment).len().min(self.k)
    }

    fn run_all(self, range: Range<usize>, found: &mut [u32]) {
        let mut rest = found;
        let mut order = vec![];
        for segment in range {
            let (place, others) = rest.split_at_mut(self.found_in(segment));
            self.run(self.segments.range(segment), place, &mut order);
            rest = others;
        }
    }

    /// Selects from one segment, or sorts it if that is most of it; `order` is scratch.
    fn run(self, range: Range<usize>, place: &mut [u32], order: &mut Vec<u32>) {
        if place.is_empty() {
            return;
        }
        let (keys, start) = (&self.keys[range.clone()], range.start as u32);
        if place.len() < keys.len() / SELECT_FRACTION {
            let selected = top_k(keys, place.len(), self.spec);
            for (index, selected) in place.iter_mut().zip(selected) {
                *index = start + selected;
            }
            return;
        }
        order.clear();
        order.extend((0..keys.len() as u64).map(|index| (range.start as u64 + index) as u32));
        sort(Indices { keys, indices: order, masks: self.spec.masks }, Window::of(self.spec), false);
        place.copy_from_slice(&order[..place.len()]);
    }
}

/// The best of the keys seen so far, and up to `k` more.
pub(crate) struct Best<W> {
    k: usize,
    /// Rank and index: the order of the pairs is the stable order of the keys.
    kept: Vec<(W, u32)>,
    /// What a rank must be below to be among the best, once `k` are kept.
    bar: Option<W>,
}

impl<W: Word> Best<W> {
    /// Room for `k`, 1 or more.
    pub(crate) fn none(k: usize) -> Self {
        Self { k, kept: Vec::new(), bar: None }
    }

    fn of(keys: &[W], range: Range<usize>, k: usize, spec: Spec) -> Self {
        let mut best = Self::none(k);
        for start in range.clone().step_by(BLOCK) {
            let block = &keys[start..(start + BLOCK).min(range.end)];
            best.offer(start, block.iter().map(|&raw| spec.rank(raw)));
        }
        best
    }

    /// Looks at some more ranks, those from index `start` on. All earlier ones have lower indices.
    #[inline]
    pub(crate) fn offer(&mut self, start: usize, ranks: impl Iterator<Item = W> + Clone) {
        if let Some(bar) = self.bar {
            // Later keys lose ties, so only a lower rank can enter.
            if !ranks.clone().fold(false, |any, rank| any | (rank < bar)) {
                return;
            }
        }
        for (index, rank) in (start..).zip(ranks) {
            if self.bar.is_none_or(|bar| rank < bar) {
                self.kept.push((rank, index as u32));
            }
        }
        if self.kept.len() >= 2 * self.k.max(BLOCK) {
            self.prune();
        }
    }

    /// Drops all but the best `k`.
    fn prune(&mut self) {
        if self.kept.len() > self.k {
            let (_, &mut (last, _), _) = self.kept.select_nth_unstable(self.k - 1);
            self.bar = Some(last);
            self.kept.truncate(self.k);
        }
    }

    /// The best of both, whatever their indices.
    pub(crate) fn join(mut self, other: Self) -> Self {
        self.kept.extend(other.kept);
        self.prune();
        self
    }

    /// The best `k`, in order.
    pub(crate) fn sorted(mut self) -> Vec<(W, u32)> {
        self.prune();
        self.kept.sort_unstable();
        self.kept
    }
}
