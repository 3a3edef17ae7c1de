//! The shapes of input that sorts go wrong on.

use crate::keys::TestKey;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// How keys are distributed and arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Pattern {
    /// Every bit random.
    Uniform,
    /// Random keys in ascending order.
    Sorted,
    /// Random keys in descending order, with repeats.
    Reversed,
    /// One key.
    Equal,
    /// Sixteen different keys.
    FewUnique,
    /// Up, then down.
    OrganPipe,
    /// In order, then two random keys are swapped, once for each hundred keys.
    NearlySorted,
    /// Two keys that differ in one bit.
    SingleBit,
    /// No bit set, or one of them.
    OneHot,
    /// The top byte nearly always the same.
    SkewedTop,
    /// Only the lowest byte varies, and its small values most.
    SkewedLow,
    /// Extremes of the type.
    Extremes,
    /// Zeros, denormals, infinities and NaNs with payloads for floats, edges for the rest.
    Special,
    /// Ascending runs that interleave: neighbors in the output are far apart in the input.
    Staggered,
    /// `(i << 11) | digit`: every digit of the low bits in a tile is different, the bits above count up.
    DigitBelowIndex,
    /// As many of each top byte as a power law gives.
    PowerLaw,
    /// So many random words, ANDed: of four words, each bit is set in one key of sixteen.
    Sparse(u32),
    /// As many of each key as Zipf's law gives: the `i`th most frequent key is `i` to this power times less frequent than the first. The unit of
    /// the power is a hundredth.
    Zipf(u32),
    /// Half of all keys are equal, half of the others, and so on.
    Halves,
    /// So many different keys, all of them equally frequent.
    Few(u32),
    /// Small numbers: up to a hundred times the binary logarithm of the number of keys.
    Narrow,
    /// Only the lowest bytes vary, so many of them.
    LowBytes(u32),
    /// Distances from 0 with a normal distribution, whose standard deviation is 2 to this power. The largest key stands for all that are larger.
    Normal(u32),
    /// Words from -2^p to 2^p - 1 in two's complement, for a power p below 127. Signed integers of this pattern lie around zero, other keys at both ends of all words.
    AroundZero(u32),
    /// Runs of equal keys, of about as many keys as there are runs.
    Blocks,
    /// Runs in order, of random keys.
    Sawtooth(Teeth),
    /// Runs that are the numbers from 0 on, or down to 0 if `descends`. There are about as many runs as the binary logarithm of the number of keys.
    Ramps {
        /// Whether the numbers of a run descend.
        descends: bool,
    },
    /// Random keys in order, and among them some in no order.
    Disturbed {
        /// Whether the keys in order descend.
        descends: bool,
        /// How many of thousand keys are in no order; at least one key is.
        per_mille: usize,
        /// Where these keys are.
        place: Place,
    },
    /// Random keys in ascending order. The last key is a copy of another one: of the first for 0, of that in the middle for 50.
    Pushed {
        /// The position of that key, in percent of all positions.
        percent: usize,
    },
}

/// The runs of [`Pattern::Sawtooth`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Teeth {
    /// Ascending runs of about as many keys as there are runs.
    Ascending,
    /// Descending runs, about as many as the binary logarithm of the number of keys.
    Descending,
    /// The same number of runs, each of them in a random direction.
    Mixed,
    /// Runs of 20 to 49 keys, each of them in a random direction.
    Short,
}

/// Where the keys in no order of [`Pattern::Disturbed`] are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Place {
    /// Before the others.
    Start,
    /// Behind the others.
    End,
    /// At random positions.
    Scattered,
}

impl Pattern {
    /// Patterns that [`ALL`](Pattern::ALL) lacks: those of the test suites of CUB, of sort-research-rs and of voracious, and integers around zero.
    pub const OTHERS: [Self; 57] = [
        Self::Sparse(2),
        Self::Sparse(4),
        Self::Sparse(10),
        Self::Sparse(16),
        // sort-research-rs
        Self::Zipf(100),
        Self::Zipf(103),
        Self::Zipf(200),
        Self::Few(4),
        Self::Few(8),
        Self::Few(256),
        Self::Few(1024),
        Self::Narrow,
        Self::Sawtooth(Teeth::Ascending),
        Self::Sawtooth(Teeth::Descending),
        Self::Sawtooth(Teeth::Mixed),
        Self::Sawtooth(Teeth::Short),
        Self::disturbed(50, Place::End),
        Self::disturbed(500, Place::End),
        // voracious
        Self::Halves,
        Self::Blocks,
        Self::LowBytes(1),
        Self::LowBytes(2),
        Self::LowBytes(3),
        Self::LowBytes(4),
        Self::LowBytes(5),
        Self::LowBytes(6),
        Self::LowBytes(7),
        Self::Normal(10),
        Self::Normal(20),
        Self::Normal(30),
        Self::Normal(40),
        Self::Normal(51),
        Self::Normal(63),
        Self::Ramps { descends: false },
        Self::Ramps { descends: true },
        Self::Pushed { percent: 0 },
        Self::Pushed { percent: 50 },
        Self::disturbed(1, Place::Start),
        Self::disturbed(1, Place::End),
        Self::disturbed(1, Place::Scattered),
        Self::disturbed(10, Place::Start),
        Self::disturbed(10, Place::End),
        Self::disturbed(10, Place::Scattered),
        Self::disturbed(100, Place::Start),
        Self::disturbed(100, Place::End),
        Self::disturbed(100, Place::Scattered),
        Self::disturbed(1, Place::Start).descending(),
        Self::disturbed(1, Place::End).descending(),
        Self::disturbed(1, Place::Scattered).descending(),
        Self::disturbed(10, Place::Start).descending(),
        Self::disturbed(10, Place::End).descending(),
        Self::disturbed(10, Place::Scattered).descending(),
        Self::disturbed(100, Place::Start).descending(),
        Self::disturbed(100, Place::End).descending(),
        Self::disturbed(100, Place::Scattered).descending(),
        // Ours
        Self::AroundZero(20),
        Self::AroundZero(40),
    ];

    /// The patterns of the conformance suite.
    pub const ALL: [Self; 16] = [
        Self::Uniform,
        Self::Sorted,
        Self::Reversed,
        Self::Equal,
        Self::FewUnique,
        Self::OrganPipe,
        Self::NearlySorted,
        Self::SingleBit,
        Self::OneHot,
        Self::SkewedTop,
        Self::SkewedLow,
        Self::Extremes,
        Self::Special,
        Self::Staggered,
        Self::DigitBelowIndex,
        Self::PowerLaw,
    ];

    const fn disturbed(per_mille: usize, place: Place) -> Self {
        Self::Disturbed { descends: false, per_mille, place }
    }

    /// The same pattern, in descending order.
    const fn descending(self) -> Self {
        match self {
            Self::Disturbed { per_mille, place, .. } => Self::Disturbed { descends: true, per_mille, place },
            other => other,
        }
    }

    /// `len` keys of this pattern; the same ones for the same seed.
    pub fn keys<K: TestKey>(self, len: usize, seed: u64) -> Vec<K> {
        let mut rng = SmallRng::seed_from_u64(seed);
        let width = K::RAW_WIDTH;
        let ones = u128::MAX >> (128 - width);
        let mut raws = |f: &mut dyn FnMut(usize, &mut SmallRng) -> u128| -> Vec<K> {
            (0..len).map(|i| K::from_raw(f(i, &mut rng) & ones)).collect()
        };
        let any = |rng: &mut SmallRng| rng.random::<u128>();
        match self {
            Self::Uniform => raws(&mut |_, rng| any(rng)),
            Self::Sorted => sorted(raws(&mut |_, rng| any(rng))),
            Self::Reversed => {
                // About one key in eight comes twice.
                let mut keys = sorted(raws(&mut |_, rng| any(rng)));
                (1..keys.len()).filter(|i| i % 8 == 0).for_each(|i| keys[i] = keys[i - 1]);
                keys.reverse();
                keys
            }
            Self::Equal => {
                let one = SmallRng::seed_from_u64(seed ^ 1).random();
                raws(&mut |_, _| one)
            }
            Self::FewUnique => Self::Few(16).keys(len, seed),
            Self::Few(few) => {
                let mut rng = SmallRng::seed_from_u64(seed ^ 1);
                let few: Vec<u128> = (0..few).map(|_| rng.random()).collect();
                raws(&mut |_, rng| few[rng.random_range(0..few.len())])
            }
            Self::OrganPipe => {
                // Every other key on the way up, the rest on the way down: the two interleave in the output.
                let keys = sorted(raws(&mut |_, rng| any(rng)));
                let (up, down) = (keys.iter().step_by(2), keys.iter().skip(1).step_by(2).rev());
                up.chain(down).copied().collect()
            }
            Self::NearlySorted => {
                let mut keys = sorted(raws(&mut |_, rng| any(rng)));
                let mut rng = SmallRng::seed_from_u64(seed ^ 1);
                for _ in 0..len / 100 {
                    keys.swap(rng.random_range(0..len), rng.random_range(0..len));
                }
                keys
            }
            Self::SingleBit => {
                let bit = seed as u32 % width;
                raws(&mut |_, rng| u128::from(rng.random::<bool>()) << bit)
            }
            Self::OneHot => raws(&mut |_, rng| 1_u128.checked_shl(rng.random_range(0..=width)).unwrap_or(0)),
            Self::SkewedTop => {
                raws(&mut |_, rng| if rng.random_range(0..64) == 0 { any(rng) } else { any(rng) & ones >> 8.min(width) })
            }
            Self::SkewedLow => raws(&mut |_, rng| u128::from(rng.random::<u8>() & rng.random::<u8>() & rng.random::<u8>())),
            Self::Extremes => {
                let top = 1_u128 << (width - 1);
                let extremes = [0, 1, top - 1, top, top + 1, ones - 1, ones];
                raws(&mut |_, rng| extremes[rng.random_range(0..extremes.len())])
            }
            Self::Special => {
                let specials = K::specials();
                (0..len).map(|_| specials[rng.random_range(0..specials.len())]).collect()
            }
            Self::Staggered => {
                let runs = (len as u64).isqrt().max(1) as u128;
                raws(&mut |i, _| (i as u128 % runs) * runs + i as u128 / runs)
            }
            Self::DigitBelowIndex => raws(&mut |i, rng| (i as u128) << 11 | u128::from(rng.random_range(0..2048_u32))),
            Self::PowerLaw => raws(&mut |_, rng| {
                let top = (rng.random::<f64>() * 8.0).exp2() as u128 - 1;
                if width > 8 { top << (width - 8) | any(rng) & ones >> 8 } else { top }
            }),
            Self::Sparse(words) => raws(&mut |_, rng| (0..words).fold(ones, |bits, _| bits & any(rng))),
            Self::Zipf(hundredths) => {
                // The distribution function of 1/i^s is close to that of a density which has a simple inverse: a logarithm for s = 1.
                let (rest, most) = (1.0 - f64::from(hundredths) / 100.0, len.max(2) as f64);
                let rank = |random: f64| match hundredths {
                    100 => (random * most.ln()).exp(),
                    _ => (1.0 + random * (most.powf(rest) - 1.0)).powf(1.0 / rest),
                };
                raws(&mut |_, rng| spread(rank(rng.random()) as u128))
            }
            Self::Halves => raws(&mut |_, rng| spread(u128::from(rng.random::<u64>().trailing_zeros()))),
            Self::Narrow => {
                let largest = 100 * (len.max(1) as f64).log2().round() as u32;
                raws(&mut |_, rng| rng.random_range(0..=largest).into())
            }
            Self::LowBytes(bytes) => raws(&mut |_, rng| any(rng) & ((1 << (8 * bytes)) - 1)),
            Self::Normal(power) => raws(&mut |_, rng| {
                let deviation = f64::from(power).exp2();
                // By Box and Muller.
                let (radius, angle) =
                    ((-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt(), core::f64::consts::TAU * rng.random::<f64>());
                ((radius * angle.cos()).abs() * deviation).min(ones as f64) as u128
            }),
            Self::AroundZero(power) => raws(&mut |_, rng| (any(rng) & ((2 << power) - 1)).wrapping_sub(1 << power)),
            Self::Blocks => {
                let (root, mut key) = (len.isqrt().max(1), 0);
                raws(&mut |i, rng| {
                    if i % root == 0 {
                        key = any(rng);
                    }
                    key
                })
            }
            Self::Sawtooth(teeth) => {
                let mut keys: Vec<K> = raws(&mut |_, rng| any(rng));
                let mut rng = SmallRng::seed_from_u64(seed ^ 1);
                let (root, long) = (len.isqrt() + 1, len / log2(len) + 1);
                let lens = match teeth {
                    Teeth::Ascending => root..root + 2,
                    Teeth::Descending | Teeth::Mixed => long..long + 1,
                    Teeth::Short => 20..50,
                };
                let mut rest = &mut keys[..];
                while !rest.is_empty() {
                    let (run, others) = rest.split_at_mut(rng.random_range(lens.clone()).min(rest.len()));
                    run.sort_by(K::compare);
                    let descends = match teeth {
                        Teeth::Ascending => false,
                        Teeth::Descending => true,
                        Teeth::Mixed | Teeth::Short => rng.random(),
                    };
                    if descends {
                        run.reverse();
                    }
                    rest = others;
                }
                keys
            }
            Self::Ramps { descends } => {
                let long = len / log2(len) + 1;
                raws(&mut |i, _| (if descends { len - 1 - i } else { i } % long) as u128)
            }
            Self::Disturbed { descends, per_mille, place } => {
                let mut keys = sorted(raws(&mut |_, rng| any(rng)));
                if descends {
                    keys.reverse();
                }
                let mut rng = SmallRng::seed_from_u64(seed ^ 1);
                let count = (len * per_mille).div_ceil(1000);
                for i in 0..count {
                    let at = match place {
                        Place::Start => i,
                        Place::End => len - 1 - i,
                        Place::Scattered => rng.random_range(0..len),
                    };
                    keys[at] = K::from_raw(any(&mut rng) & ones);
                }
                keys
            }
            Self::Pushed { percent } => {
                let mut keys = sorted(raws(&mut |_, rng| any(rng)));
                if let Some(last) = len.checked_sub(1) {
                    keys[last] = keys[last * percent / 100];
                }
                keys
            }
        }
    }
}

/// Spreads small numbers over all bits, by an odd factor.
fn spread(number: u128) -> u128 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
}

/// The binary logarithm of a length, at least 1.
fn log2(len: usize) -> usize {
    (len.max(2) as f64).log2().round() as usize
}

fn sorted<K: TestKey>(mut keys: Vec<K>) -> Vec<K> {
    keys.sort_by(K::compare);
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn no_two_patterns_make_the_same_keys() {
        let mut patterns = BTreeMap::new();
        for pattern in Pattern::ALL.into_iter().chain(Pattern::OTHERS) {
            let keys: Vec<u64> = pattern.keys(5000, 1);
            assert_eq!(keys, pattern.keys::<u64>(5000, 1), "{pattern:?}");
            assert_eq!(patterns.insert(keys, pattern), None, "{pattern:?}");
        }
    }
}
