//! Digits of keys most of which have one of a few values.
//!
//! Each such value has a digit of its own, and so have the keys between two neighbors among the values:
//!
//! ```text
//! values             3         7              90
//! ranks   |  0 1 2   3  4 5 6  7  8   …   89  90  91   …
//! digits  |    0     1    2    3       4       5       6
//! ```
//!
//! What makes it fast: whatever bits the values differ in, one partition is the whole sort of their keys.

use crate::classify::Classify;
use crate::dictionary::Dictionary;
use polysort_core::Word;

/// Values, at most: with the keys between them, they give fewer digits than a partition has buckets.
pub(crate) const MOST_VALUES: usize = 192;

/// Samples of which a value must be at least one: rarer values are not worth a digit.
const RARE: usize = 512;

/// The least share of the samples that must have one of the values.
const COVERED: (usize, usize) = (7, 8);

/// A few values that most keys have, and which digit each key has.
#[derive(Clone, Debug)]
pub(crate) struct Frequent<W> {
    /// The bits of a key that count.
    ones: W,
    /// The values, in ascending order.
    dictionary: Dictionary<W>,
    /// The digit of the value in each slot of the dictionary.
    digits: Vec<u16>,
}

impl<W: Word> Frequent<W> {
    /// The values that most of the samples have, which are sorted `ranks` with no bit outside of `ones`; `None` if there are no such values,
    /// or too many.
    pub(crate) fn of(ranks: &[W], ones: W) -> Option<Self> {
        let least = (ranks.len() / RARE).max(2);
        let (mut values, mut covered) = (vec![], 0);
        for equal in ranks.chunk_by(|a, b| a == b).filter(|equal| equal.len() >= least) {
            values.push(equal[0]);
            covered += equal.len();
        }
        if values.is_empty() || values.len() > MOST_VALUES || covered * COVERED.1 < ranks.len() * COVERED.0 {
            return None;
        }
        let dictionary = Dictionary::of(values)?;
        let digit = |value: &W| 2 * dictionary.values().partition_point(|other| other < value) as u16 + 1;
        let digits = dictionary.slots().iter().map(digit).collect();
        Some(Self { ones, dictionary, digits })
    }

    /// The number of digits.
    pub(crate) fn count(&self) -> usize {
        2 * self.dictionary.values().len() + 1
    }

    /// Whether all keys of `digit` are equal.
    pub(crate) fn is_value(digit: usize) -> bool {
        digit % 2 == 1
    }

    /// The digit of a rank that is none of the values.
    #[cold]
    fn between(&self, rank: W) -> usize {
        2 * self.dictionary.values().partition_point(|&value| value < rank)
    }
}

impl<W: Word> Classify<W> for &Frequent<W> {
    #[inline(always)]
    fn class(self, key: W) -> usize {
        let rank = key & self.ones;
        let slot = self.dictionary.slot(rank);
        match (self.dictionary.slots().get(slot), self.digits.get(slot)) {
            (Some(&value), Some(&digit)) if value == rank => digit.into(),
            _ => self.between(rank),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values and the keys next to them, with a bit that does not count.
    #[test]
    fn digits_are_in_the_order_of_the_ranks() {
        let ones = !0x100_u32;
        for count in [1, 2, 7, 33, 100, MOST_VALUES as u32] {
            let mut ranks: Vec<u32> = (0..count).flat_map(|i| [(i * 0x0123_4567) & ones; 4]).collect();
            ranks.sort_unstable();
            let frequent = Frequent::of(&ranks, ones).expect("few values");
            assert_eq!(frequent.count(), 2 * count as usize + 1);
            let mut keys: Vec<u32> =
                ranks.iter().flat_map(|rank| [rank.wrapping_sub(1), *rank, rank + 1, rank | 0x100]).collect();
            keys.extend([0, u32::MAX]);
            keys.sort_unstable_by_key(|key| key & ones);
            let mut last = (0, 0);
            for key in keys {
                let (rank, digit) = (key & ones, (&frequent).class(key));
                assert_eq!(Frequent::<u32>::is_value(digit), ranks.contains(&rank), "{key:x}");
                assert!(digit < frequent.count() && digit >= last.1, "{key:x}");
                // Different values have different digits.
                assert!(rank == last.0 || digit > last.1 || !Frequent::<u32>::is_value(digit), "{key:x}");
                last = (rank, digit);
            }
        }
    }

    /// Ranks in ascending order, of each value so many.
    fn ranks(counts: impl IntoIterator<Item = usize>) -> Vec<u32> {
        counts.into_iter().zip(1..).flat_map(|(count, value)| std::iter::repeat_n(value * 0x0101_0101, count)).collect()
    }

    /// How many values of these ranks are frequent.
    fn values(ranks: &[u32]) -> Option<usize> {
        Frequent::of(ranks, u32::MAX).map(|frequent| frequent.dictionary.values().len())
    }

    #[test]
    fn frequent_values_cover_seven_eighths_of_the_samples() {
        assert_eq!(values(&ranks([56, 1, 1, 1, 1, 1, 1, 1, 1])), Some(1));
        assert_eq!(values(&ranks([55, 1, 1, 1, 1, 1, 1, 1, 1, 1])), None);
        assert_eq!(values(&ranks([1, 28, 1, 1, 1, 28, 1, 1, 1, 1])), Some(2));
        assert_eq!(values(&ranks([64])), Some(1));
    }

    #[test]
    fn a_value_that_is_less_than_one_sample_in_512_is_rare() {
        // Two are the least.
        assert_eq!(values(&ranks([2; 32])), Some(32));
        assert_eq!(values(&ranks([1; 64])), None);
        // Of 2048 samples, four: 300 samples of rare values are too many.
        assert_eq!(values(&ranks([1748].into_iter().chain([4; 75]))), Some(76));
        assert_eq!(values(&ranks([1748].into_iter().chain([3; 100]))), None);
    }

    #[test]
    fn values_are_a_limited_number() {
        assert_eq!(values(&ranks([5; MOST_VALUES])), Some(MOST_VALUES));
        assert_eq!(values(&ranks([5; MOST_VALUES + 1])), None);
    }

    #[test]
    fn keys_between_two_values_have_the_digit_between_theirs() {
        let ranks = [10, 10, 20, 20, 30, 30_u32];
        let frequent = Frequent::of(&ranks, u32::MAX).expect("three values");
        let digits = [0, 9, 10, 11, 19, 20, 21, 30, 31, u32::MAX].map(|key| (&frequent).class(key));
        assert_eq!(digits, [0, 0, 1, 2, 2, 3, 4, 5, 6, 6]);
        assert_eq!((0..7).filter(|&digit| Frequent::<u32>::is_value(digit)).collect::<Vec<_>>(), [1, 3, 5]);
    }

    #[test]
    fn many_values_are_not_frequent() {
        let different: Vec<u32> = (0..1024).collect();
        assert!(Frequent::of(&different, u32::MAX).is_none());
        let too_many: Vec<u32> = (0..1024).map(|i| i / 4).collect();
        assert!(Frequent::of(&too_many, u32::MAX).is_none());
        // Nearly half of the samples are of no frequent value.
        let half: Vec<u32> = (0..1024).map(|i: u32| i.saturating_sub(512)).collect();
        assert!(Frequent::of(&half, u32::MAX).is_none());
    }
}
