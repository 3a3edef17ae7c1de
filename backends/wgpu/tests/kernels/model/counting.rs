//! Models of a counting sort.

use super::Model;
use crate::run::Contents;
use polysort_shaders::abi;
use polysort_shaders::plan::{Buffer, Digit, VALUE_BLOCK};

/// The first word of the counts of each value in the state of a counting sort.
const VALUES: usize = (abi::STATE_HISTOGRAM + VALUE_BLOCK) as usize;

impl Model<'_> {
    pub(super) fn count_values(&self, on: &mut Contents) {
        let keys: Vec<u128> = (0..self.count).map(|i| self.source_key(on, self.command.bindings[2], i)).collect();
        let state = self.state(on);
        keys.into_iter().for_each(|key| state[VALUES + self.value_of(key)] += 1);
    }

    pub(super) fn scan_values(&self, on: &mut Contents) {
        let values = self.radix();
        let state = self.state(on);
        for (b, block) in (VALUES..VALUES + values).step_by(VALUE_BLOCK as usize).enumerate() {
            let mut before = 0;
            for found in &mut state[block..][..VALUE_BLOCK as usize] {
                (before, *found) = (before + *found, before);
            }
            state[abi::STATE_HISTOGRAM as usize + b] = before;
        }
    }

    pub(super) fn fill(&self, on: &mut Contents) {
        let state = &on[&Buffer::State];
        let blocks = state[abi::STATE_HISTOGRAM as usize..].iter().take(self.radix() / VALUE_BLOCK as usize);
        let mut start = 0;
        let mut starts = vec![];
        for (block, keys) in state[VALUES..].chunks(VALUE_BLOCK as usize).zip(blocks) {
            starts.extend(block.iter().map(|before| start + before));
            start += keys;
        }
        // The raw bits of each value, in the order of the values.
        let mut raws = vec![0; self.radix()];
        let up = 32 - self.plan.request.key_bits;
        (0..self.radix() as u32).for_each(|raw| raws[self.value_of(u128::from(raw << up))] = raw << up);
        for i in 0..self.count {
            let value = starts.partition_point(|&start| start as usize <= i) - 1;
            self.put_packed(on, i, raws[value]);
        }
    }

    /// Returns the ordered bits of a key of 8 or 16 bits, which is in the top of a word.
    pub(super) fn value_of(&self, key: u128) -> usize {
        let bits = self.plan.request.key_bits;
        self.digit_of(key, &Digit { word: 0, shift: 32 - bits, bits })
    }
}
