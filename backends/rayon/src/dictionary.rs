//! A table of a few values without collisions: one multiplication and one comparison find a value, or show that it is none of them.
//!
//! Multipliers are tried until all values have slots of their own.

use polysort_core::Word;

/// Multipliers that are tried: at least one in a hundred has no collision.
const MULTIPLIERS: u64 = 1000;

/// A few values, each in the slot that it hashes to.
#[derive(Clone, Debug)]
pub(crate) struct Dictionary<W> {
    multiplier: u64,
    shift: u32,
    /// Slots without a value of their own hold one of another slot, which is never looked for there.
    slots: Vec<W>,
    values: Vec<W>,
}

impl<W: Word> Dictionary<W> {
    /// The table of `values`, of which there is one at least, all different; `None` if no multiplier suits them.
    pub(crate) fn of(values: Vec<W>) -> Option<Self> {
        let bits = (values.len() * values.len() / 8).next_power_of_two().ilog2().max(4);
        let multipliers = (1..MULTIPLIERS).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut dictionary = Self { multiplier: 0, shift: 64 - bits, slots: vec![values[0]; 1 << bits], values };
        'next: for multiplier in multipliers {
            dictionary.multiplier = multiplier;
            let mut taken = vec![false; 1 << bits];
            for &value in &dictionary.values {
                if std::mem::replace(&mut taken[dictionary.slot(value)], true) {
                    continue 'next;
                }
            }
            for at in 0..dictionary.values.len() {
                let (value, slot) = (dictionary.values[at], dictionary.slot(dictionary.values[at]));
                dictionary.slots[slot] = value;
            }
            return Some(dictionary);
        }
        None
    }

    /// The values, in the order in which they were given.
    pub(crate) fn values(&self) -> &[W] {
        &self.values
    }

    /// What each slot holds.
    pub(crate) fn slots(&self) -> &[W] {
        &self.slots
    }

    /// The slot that `value` has if it is one of the values.
    #[inline(always)]
    pub(crate) fn slot(&self, value: W) -> usize {
        let (low, high) = (value.widen() as u64, (value.widen() >> 64) as u64);
        // Both halves of a wide value must count, whichever bits they differ in.
        let high = high.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((low ^ high ^ high >> 32).wrapping_mul(self.multiplier) >> self.shift) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_has_a_slot_of_its_own_and_no_other_word_is_found() {
        for count in [1_usize, 2, 11, 12, 100, 256] {
            // Wide words that differ in their upper half only, in their lower half only, and in both.
            for shift in [0, 40, 100] {
                let values = Vec::from_iter((0..count as u128).map(|i| (i * i * 0x9e37 + i) << shift));
                let dictionary = Dictionary::of(values.clone()).expect("few values");
                assert_eq!(dictionary.values(), values);
                assert!(values.iter().all(|&value| dictionary.slots()[dictionary.slot(value)] == value));
                let mut slots = Vec::from_iter(values.iter().map(|&value| dictionary.slot(value)));
                slots.sort_unstable();
                slots.dedup();
                assert_eq!(slots.len(), count, "values share a slot");
                // About an eighth of the square of the number of values, so that few multipliers are tried.
                let len = dictionary.slots().len();
                assert!(
                    len == 16 && count <= 11 || len >= count * count / 8 && len < count * count / 4 + 1,
                    "{len} slots, {count} values"
                );
                for other in (0..1000).map(|i| i << shift).filter(|other| !values.contains(other)) {
                    assert_ne!(dictionary.slots()[dictionary.slot(other)], other);
                }
            }
        }
    }
}
