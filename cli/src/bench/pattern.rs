//! Patterns: how keys are distributed and arranged.

use super::compare::by;
use crate::dtype::Key;
use clap::ValueEnum;
use polysort::Word;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// A pattern of input keys. "Ascending" is the order of the key type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pattern {
    /// every bit is random
    Uniform,
    /// random keys, ascending
    Sorted,
    /// random keys, descending
    Reversed,
    /// all keys are the same
    Equal,
    /// sixteen different keys
    FewUnique,
    /// a half ascending, then a half descending
    OrganPipe,
    /// ascending, then two random keys are swapped, once for each 100 keys
    NearlySorted,
    /// the most significant byte is zero in 63 of 64 keys
    SkewedTop,
    /// the r-th most frequent key is r times as rare as the most frequent one
    Zipf,
}

impl Pattern {
    /// Returns `len` keys, which `seed` determines.
    pub(crate) fn keys<K: Key>(self, len: usize, seed: u64) -> Vec<K> {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut random = |len: usize| -> Vec<K> { (0..len).map(|_| K::from_raw(rng.random())).collect() };
        match self {
            Self::Uniform => random(len),
            Self::Sorted => sorted(random(len)),
            Self::Reversed => {
                let mut keys = sorted(random(len));
                keys.reverse();
                keys
            }
            Self::Equal => vec![random(1)[0]; len],
            Self::FewUnique => {
                let few = random(16);
                (0..len).map(|_| few[rng.random_range(0..few.len())]).collect()
            }
            Self::OrganPipe => {
                // Both halves have the same distribution, so that a merge has to interleave them.
                let (up, mut down) = (sorted(random(len / 2)), sorted(random(len - len / 2)));
                down.reverse();
                [up, down].concat()
            }
            Self::NearlySorted => {
                let mut keys = sorted(random(len));
                for _ in 0..len / 100 {
                    keys.swap(rng.random_range(0..len), rng.random_range(0..len));
                }
                keys
            }
            Self::SkewedTop => {
                let below_top = u128::MAX >> (128 - K::Bits::BITS) >> 8;
                let mut skewed = || if rng.random_range(0..64) == 0 { rng.random() } else { rng.random::<u128>() & below_top };
                (0..len).map(|_| K::from_raw(skewed())).collect()
            }
            Self::Zipf => {
                // The logarithm of the rank is uniform. The multiplication is a bijection that spreads the rank over all bits.
                let most = (len as f64).ln();
                let mut rank = || (rng.random::<f64>() * most).exp() as u128;
                (0..len).map(|_| K::from_raw(rank().wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))).collect()
            }
        }
    }
}

fn sorted<K: Key>(mut keys: Vec<K>) -> Vec<K> {
    keys.sort_unstable_by(by::<K, false>);
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    const LEN: usize = 2000;

    fn keys(pattern: Pattern) -> Vec<u32> {
        pattern.keys(LEN, 3)
    }

    fn counts(pattern: Pattern) -> HashMap<u32, usize> {
        keys(pattern).into_iter().fold(HashMap::new(), |mut counts, key| {
            *counts.entry(key).or_default() += 1;
            counts
        })
    }

    #[test]
    fn every_pattern_is_what_its_name_says() {
        assert!(counts(Pattern::Uniform).len() > LEN - 5 && !keys(Pattern::Uniform).is_sorted());
        assert!(keys(Pattern::Sorted).is_sorted() && counts(Pattern::Sorted).len() > LEN - 5);
        assert!(keys(Pattern::Reversed).is_sorted_by(|a, b| a >= b));
        assert_eq!(counts(Pattern::Equal).len(), 1);
        assert_eq!(counts(Pattern::FewUnique).len(), 16);
        let (up, down) = (&keys(Pattern::OrganPipe)[..LEN / 2], &keys(Pattern::OrganPipe)[LEN / 2..]);
        assert!(up.is_sorted() && down.is_sorted_by(|a, b| a >= b) && down[LEN / 2 - 1] < up[LEN / 4]);
        let descents = keys(Pattern::NearlySorted).windows(2).filter(|pair| pair[0] > pair[1]).count();
        assert!((1..=LEN * 4 / 100).contains(&descents));
        let small = keys(Pattern::SkewedTop).iter().filter(|&&key| key < 1 << 24).count();
        assert!((LEN * 95 / 100..LEN).contains(&small));
        let mut zipf: Vec<usize> = counts(Pattern::Zipf).into_values().collect();
        zipf.sort_unstable_by(|a, b| b.cmp(a));
        assert!(zipf[0] > LEN / 20 && zipf[1] < zipf[0] && zipf.len() > LEN / 10);
    }

    #[test]
    fn floats_are_sorted_by_total_order_and_seeds_differ() {
        assert!(Pattern::Sorted.keys::<f32>(LEN, 1).is_sorted_by(|a, b| a.total_cmp(b).is_le()));
        assert_eq!(Pattern::Zipf.keys::<u64>(LEN, 1), Pattern::Zipf.keys::<u64>(LEN, 1));
        assert_ne!(Pattern::Zipf.keys::<u64>(LEN, 1), Pattern::Zipf.keys::<u64>(LEN, 2));
    }
}
