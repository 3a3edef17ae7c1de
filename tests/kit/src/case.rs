//! Which cases run.

use crate::keys::TestKey;
use crate::patterns::Pattern;
use polysort_core::{Options, Order};

/// One input and what is asked of it.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The shape of the keys.
    pub pattern: Pattern,
    /// Their number.
    pub len: usize,
    /// The direction and bit window.
    pub options: Options,
    /// Seed of the keys and of everything else that is chosen.
    pub seed: u64,
}

/// The cases of each check.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Lengths at and around every boundary.
    pub lengths: Vec<usize>,
    /// All combinations, or a part that covers.
    pub full: bool,
}

impl Plan {
    /// Lengths around powers of two up to `longest`, tile sizes, primes, and `longest` itself.
    pub fn up_to(longest: usize, full: bool) -> Self {
        let mut lengths = vec![0, 1, 2, 3, 7, 31, 33, 63, 64, 65, 100, 255, 257, 1000];
        let powers = (7..usize::BITS).map(|k| 1_usize << k).take_while(|&power| power <= longest);
        lengths.extend(powers.flat_map(|power| [power - 1, power, power + 1, power + power / 3]));
        lengths.extend([3 * 4096, 10_007, 65_521, 1_000_003, longest]);
        lengths.retain(|&len| len <= longest);
        lengths.sort_unstable();
        lengths.dedup();
        Self { lengths, full }
    }

    /// Adds the neighbourhood of boundaries of one backend: `boundary − 1`, itself and `+ 1`, and twice it plus 3.
    #[must_use]
    pub fn around(mut self, boundaries: &[usize]) -> Self {
        let longest = self.lengths.last().copied().unwrap_or(0);
        self.lengths.extend(boundaries.iter().flat_map(|&b| [b - 1, b, b + 1, 2 * b + 3]).filter(|&len| len <= longest));
        self.lengths.sort_unstable();
        self.lengths.dedup();
        self
    }

    /// The cases for keys `K`; `salt` tells operations apart, so that each meets other combinations.
    pub fn cases<K: TestKey>(&self, salt: u64) -> Vec<Case> {
        let windows = windows(K::WIDTH);
        let mut cases = vec![];
        for (l, &len) in self.lengths.iter().enumerate() {
            for (p, &pattern) in Pattern::ALL.iter().enumerate() {
                for (o, order) in [Order::Ascending, Order::Descending].into_iter().enumerate() {
                    for (w, &window) in windows.iter().enumerate() {
                        let turn = l + 3 * p + 5 * o + 7 * salt as usize;
                        // The part: at each length each order meets some of the patterns, fewer the longer, and every other time with a window.
                        let share = match len {
                            0..2_000 => 4,
                            2_000..20_000 => 8,
                            _ => 16,
                        };
                        let window_turn =
                            w == 0 || (turn / share).is_multiple_of(2) && w == 1 + turn / share / 2 % (windows.len() - 1).max(1);
                        if self.full || turn.is_multiple_of(share) && window_turn {
                            let mut options = Options::ordered(order);
                            options.window = window;
                            let seed = mix(len as u64, (p * 64 + o * 32 + w) as u64 ^ salt << 32);
                            cases.push(Case { pattern, len, options, seed });
                        }
                    }
                }
            }
        }
        cases
    }
}

/// Bit windows of a key of `width` bits: all of it first; then its ends, its middle, one bit, none, and ones across byte boundaries.
fn windows(width: u32) -> Vec<Option<(u32, u32)>> {
    let half = width / 2;
    let mut windows =
        vec![(0, half), (half, width), (width / 4, width - width / 4), (0, 0), (half, half + 1), (0, 1), (width - 1, width)];
    if width > 13 {
        windows.extend([(3, 13), (width - 13, width), (8, width)]);
    }
    windows.retain(|&(begin, end)| end <= width && (begin, end) != (0, width));
    windows.sort_unstable();
    windows.dedup();
    std::iter::once(None).chain(windows.into_iter().map(Some)).collect()
}

/// A seed of two numbers (the finalizer of SplitMix64).
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let mut z = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
