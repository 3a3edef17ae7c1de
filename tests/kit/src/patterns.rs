//! The shapes of input that sorts go wrong on.

use crate::keys::TestKey;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// How keys are distributed and arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// Each bit is set in one key of sixteen: the AND of four random keys, a test of CUB's for digits of little entropy.
    Sparse,
    /// As many of each key as Zipf's law gives: the `i`th most frequent key is `1/i` times as frequent as the first.
    Zipf,
    /// Ascending runs of about as many keys as there are runs.
    Sawtooth,
    /// Sorted keys, and behind them as many random ones as a twentieth of all.
    Appended,
}

impl Pattern {
    /// The patterns of other sorts' test suites that [`ALL`](Pattern::ALL) lacks.
    pub const OTHERS: [Self; 4] = [Self::Sparse, Self::Zipf, Self::Sawtooth, Self::Appended];

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
            Self::FewUnique => {
                let mut rng = SmallRng::seed_from_u64(seed ^ 1);
                let few: [u128; 16] = core::array::from_fn(|_| rng.random());
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
            Self::Sparse => raws(&mut |_, rng| any(rng) & any(rng) & any(rng) & any(rng)),
            Self::Zipf => {
                // The distribution function of 1/i is close to a logarithm. The odd factor spreads the ranks over all bits.
                let most = (len.max(2) as f64).ln();
                raws(&mut |_, rng| {
                    ((rng.random::<f64>() * most).exp() as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
                })
            }
            Self::Sawtooth => {
                let mut keys: Vec<K> = raws(&mut |_, rng| any(rng));
                let tooth = (len as f64).sqrt() as usize + 1;
                let mut rest = &mut keys[..];
                for run in 0.. {
                    if rest.is_empty() {
                        break;
                    }
                    let (run, others) = rest.split_at_mut((tooth + usize::from(run % 4 == 0)).min(rest.len()));
                    run.sort_by(K::compare);
                    rest = others;
                }
                keys
            }
            Self::Appended => {
                let mut keys: Vec<K> = raws(&mut |_, rng| any(rng));
                keys[..len - len / 20].sort_by(K::compare);
                keys
            }
        }
    }
}

fn sorted<K: TestKey>(mut keys: Vec<K>) -> Vec<K> {
    keys.sort_by(K::compare);
    keys
}
