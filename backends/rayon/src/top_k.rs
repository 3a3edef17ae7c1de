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

use crate::sort::threads_for;
use core::ops::Range;
use polysort_core::{Spec, Word};
use rayon::prelude::*;

/// Keys that are tested at once.
const BLOCK: usize = 64;

/// The indices of the first `k` keys in the order of `spec`, equal ones by index. There are at most 2³² keys, and `k` is
/// from 1 to their number.
pub(crate) fn top_k<W: Word>(keys: &[W], k: usize, spec: Spec) -> Vec<u32> {
    let threads = threads_for(size_of_val(keys));
    let share = keys.len().div_ceil(threads);
    let stretch = |index: usize| index * share..((index + 1) * share).min(keys.len());
    let mut best = match threads {
        1 => Best::of(keys, stretch(0), k, spec),
        _ => (0..threads).into_par_iter().map(|i| Best::of(keys, stretch(i), k, spec)).reduce(|| Best::none(k), Best::join),
    };
    best.prune();
    best.kept.sort_unstable();
    best.kept.into_iter().map(|(_, index)| index).collect()
}

/// The best of the keys seen so far, and up to `k` more.
struct Best<W> {
    k: usize,
    /// Rank and index: the order of the pairs is the stable order of the keys.
    kept: Vec<(W, u32)>,
    /// What a rank must be below to be among the best, once `k` are kept.
    bar: Option<W>,
}

impl<W: Word> Best<W> {
    fn none(k: usize) -> Self {
        Self { k, kept: Vec::new(), bar: None }
    }

    fn of(keys: &[W], range: Range<usize>, k: usize, spec: Spec) -> Self {
        let mut best = Self::none(k);
        for start in range.clone().step_by(BLOCK) {
            let block = &keys[start..(start + BLOCK).min(range.end)];
            if let Some(bar) = best.bar {
                // Later keys lose ties, so only a lower rank can enter.
                if !block.iter().fold(false, |any, &raw| any | (spec.rank(raw) < bar)) {
                    continue;
                }
            }
            for (offset, &raw) in block.iter().enumerate() {
                let rank = spec.rank(raw);
                if best.bar.is_none_or(|bar| rank < bar) {
                    best.kept.push((rank, (start + offset) as u32));
                }
            }
            if best.kept.len() >= 2 * k.max(BLOCK) {
                best.prune();
            }
        }
        best
    }

    /// Drops all but the best `k`.
    fn prune(&mut self) {
        if self.kept.len() > self.k {
            let (_, &mut (last, _), _) = self.kept.select_nth_unstable(self.k - 1);
            self.bar = Some(last);
            self.kept.truncate(self.k);
        }
    }

    fn join(mut self, other: Self) -> Self {
        self.kept.extend(other.kept);
        self.prune();
        self
    }
}
