//! Models of selections: by one workgroup for a segment, and by all workgroups together.

use super::Model;
use crate::run::Contents;
use polysort_shaders::abi;
use polysort_shaders::plan::tuning::SELECT_SEGMENT;
use polysort_shaders::plan::{Buffer, KernelShape, LAST_LEVEL};
use std::cmp::Ordering;
use std::collections::HashSet;

/// The first word of a selection by all workgroups in the state: the number of keys still to select, whether the threshold is complete, the
/// threshold, and the mask of its known bits.
const PICK: usize = abi::STATE_TICKETS as usize;

impl Model<'_> {
    /// Selects the indices of the first `k` keys of each segment.
    pub(super) fn top_k(&self, on: &mut Contents) {
        let KernelShape::TopK { segmented, nested, .. } = self.command.variant.shape else { unreachable!("a selection") };
        let k = self.plan.request.top.expect("a selection").k as usize;
        let level = self.number(3);
        let (is_last, level) = (level >= LAST_LEVEL as usize, level % LAST_LEVEL as usize);
        let lists: Vec<Vec<u32>> = if segmented {
            on[&Buffer::Bounds].chunks_exact(2).take(self.count).map(|bounds| (bounds[0]..bounds[1]).collect()).collect()
        } else {
            let mut positions: Vec<u32> = (0..self.count as u32).collect();
            for _ in 0..level {
                let left = positions.chunks(SELECT_SEGMENT as usize).map(|segment| segment.len().min(k)).sum();
                positions.truncate(left);
            }
            if nested {
                positions = on[&self.command.bindings[8]][..positions.len()].to_vec();
            }
            if positions.is_empty() {
                vec![vec![]]
            } else {
                positions.chunks(SELECT_SEGMENT as usize).map(<[u32]>::to_vec).collect()
            }
        };
        let first = if is_last { self.first(self.command.bindings[7]) } else { 0 };
        for (g, candidates) in lists.into_iter().enumerate() {
            let mut list = candidates.clone();
            list.sort_by_cached_key(|&position| self.rank(self.source_key(on, self.command.bindings[6], position as usize)));
            list.truncate(k);
            if is_last {
                list.resize(k, abi::NOTHING);
            } else {
                // The candidates of the next level keep their order.
                let selected: HashSet<u32> = list.into_iter().collect();
                list = candidates.into_iter().filter(|position| selected.contains(position)).collect();
            }
            self.buffer(on, 7)[first + g * k..][..list.len()].copy_from_slice(&list);
        }
    }

    /// Returns the keys that a selection by all workgroups reads, and the comparison of each with the threshold.
    pub(super) fn barred(&self, on: &Contents, binding: usize) -> Vec<(u128, Ordering)> {
        let words = |at: usize| (0..4).rev().fold(0, |wide, i| wide << 32 | u128::from(on[&Buffer::State][at + i]));
        let (bar, known) = (words(PICK + 2), words(PICK + 6));
        let key = |i| self.source_key(on, self.command.bindings[binding], i);
        (0..self.count).map(key).map(|key| (key, (self.ordered(key) & known).cmp(&bar))).collect()
    }

    /// Returns the digit of a level: level 0 has the most significant one.
    pub(super) fn level(&self) -> usize {
        self.plan.digits.len() - 1 - self.number(0)
    }

    pub(super) fn pick_count(&self, on: &mut Contents) {
        if on[&Buffer::State][PICK + 1] == 0 {
            let d = self.level();
            for (key, _) in self.barred(on, 3).into_iter().filter(|(_, order)| order.is_eq()) {
                self.state(on)[self.histogram_of(d) + self.digit_of(key, &self.plan.digits[d])] += 1;
            }
        }
    }

    pub(super) fn pick_digit(&self, on: &mut Contents) {
        let k = self.plan.request.top.expect("a selection").k as usize;
        let there = k.min(self.count);
        let mut wanted = on[&Buffer::State][PICK];
        if self.number(0) == 0 {
            wanted = there as u32;
            self.buffer(on, 4)[0] = wanted;
            let first = self.first(Buffer::Values);
            self.buffer(on, 3)[first + there..first + k].fill(abi::NOTHING);
        } else if on[&Buffer::State][PICK + 1] != 0 {
            return;
        }
        if self.plan.digits.is_empty() {
            self.state(on)[PICK] = wanted;
        } else if wanted > 0 {
            let digit = self.plan.digits[self.level()];
            let histogram = self.histogram_of(self.level());
            let state = self.state(on);
            let mut value = 0;
            while state[histogram + value] < wanted {
                wanted -= state[histogram + value];
                value += 1;
            }
            (state[PICK], state[PICK + 1]) = (wanted, u32::from(wanted == state[histogram + value]));
            state[PICK + 2 + digit.word as usize] |= (value as u32) << digit.shift;
            state[PICK + 6 + digit.word as usize] |= ((1 << digit.bits) - 1) << digit.shift;
        }
    }

    pub(super) fn pick_tally(&self, on: &mut Contents) {
        let keys = self.barred(on, 3);
        for (t, tile) in keys.chunks(32 * self.command.variant.group as usize).enumerate() {
            let counts = [Ordering::Less, Ordering::Equal].map(|order| tile.iter().filter(|key| key.1 == order).count() as u32);
            self.buffer(on, 2)[2 * t..][..2].copy_from_slice(&counts);
        }
    }

    pub(super) fn pick_spine(&self, on: &mut Contents) {
        let tiles = self.count.div_ceil(32 * self.command.variant.group as usize);
        let mut sums = [0; 2];
        for (i, count) in self.buffer(on, 1)[..2 * tiles].iter_mut().enumerate() {
            (*count, sums[i % 2]) = (sums[i % 2], sums[i % 2] + *count);
        }
    }

    pub(super) fn pick(&self, on: &mut Contents) {
        let mut left = on[&Buffer::State][PICK];
        let (first, mut place) = (self.first(Buffer::Values), 0);
        for (i, (key, order)) in self.barred(on, 3).into_iter().enumerate() {
            if order.is_lt() || order.is_eq() && left > 0 {
                left -= u32::from(order.is_eq());
                self.buffer(on, 4)[first + place] = i as u32;
                self.put_key(on, Buffer::Picked, place, key);
                place += 1;
            }
        }
    }

    pub(super) fn widen_indices(&self, on: &mut Contents) {
        let segmented = self.command.variant.shape == KernelShape::WidenIndices { segmented: true };
        let of_each = if segmented { self.plan.request.top.expect("a selection").k as usize } else { 1 };
        let indices = on[&Buffer::Values][..self.launched_count() * of_each].to_vec();
        let first = self.number(3);
        let wide = self.buffer(on, 7)[first..].chunks_exact_mut(2);
        wide.zip(indices).for_each(|(wide, index)| wide.copy_from_slice(&[index, 0]));
    }

    pub(super) fn segment_bounds(&self, on: &mut Contents) {
        let keys = self.state(on)[abi::STATE_COUNT as usize];
        let [begins, ends] =
            [(Buffer::Begins, 3), (Buffer::Ends, 4)].map(|(buffer, number)| on[&buffer][self.number(number)..].to_vec());
        let bounds = self.buffer(on, 10);
        for (i, (begin, end)) in begins.into_iter().zip(ends).take(self.count).enumerate() {
            let begin = begin.min(keys);
            bounds[2 * i..][..2].copy_from_slice(&[begin, end.min(keys).max(begin)]);
        }
    }
}
