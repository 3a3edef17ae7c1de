//! Which cases run.

use crate::keys::TestKey;
use crate::patterns::Pattern;
use polysort_core::{Options, Order, Word};
use std::collections::{BTreeMap, BTreeSet, HashMap};

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
    /// Further ones for keys of so many bits alone.
    pub lengths_of: BTreeMap<u32, Vec<usize>>,
    /// All combinations, or a part that covers.
    pub full: bool,
    /// What is drawn of them, if not all are to run.
    pub sample: Option<Sample>,
    /// The most keys that are sorted in segments.
    pub longest_segmented: usize,
}

/// A part of the cases of each check, drawn at random: for backends on which all of them would take too long.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Cases of a check.
    pub cases: usize,
    /// Seed: another one draws others.
    pub seed: u64,
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
        Self { lengths, lengths_of: BTreeMap::new(), full, sample: None, longest_segmented: usize::MAX }
    }

    /// Adds the neighbourhood of boundaries that only keys of `bits` bits have.
    #[must_use]
    pub fn around_of(mut self, bits: u32, boundaries: &[usize]) -> Self {
        let neighbours = self.neighbours(boundaries);
        self.lengths_of.entry(bits).or_default().extend(neighbours);
        self
    }

    fn neighbours(&self, boundaries: &[usize]) -> Vec<usize> {
        let longest = self.lengths.last().copied().unwrap_or(0);
        boundaries.iter().flat_map(|&b| [b - 1, b, b + 1, 2 * b + 3]).filter(|&len| len <= longest).collect()
    }

    /// Draws `cases` cases of each check.
    #[must_use]
    pub fn sampled(self, cases: usize, seed: u64) -> Self {
        Self { sample: Some(Sample { cases, seed }), ..self }
    }

    /// Sorts at most `longest` keys in segments.
    #[must_use]
    pub fn segmented_up_to(self, longest: usize) -> Self {
        Self { longest_segmented: longest, ..self }
    }

    /// The part of the plan that is short enough to be sorted in segments.
    pub(crate) fn segmented(&self) -> Self {
        let mut plan = self.clone();
        plan.lengths.retain(|&len| len <= self.longest_segmented);
        plan.lengths_of.values_mut().for_each(|lengths| lengths.retain(|&len| len <= self.longest_segmented));
        plan
    }

    /// The cases for keys `K`; `salt` tells operations apart, so that each meets other combinations.
    pub fn cases<K: TestKey>(&self, salt: u64) -> Vec<Case> {
        let windows = windows(K::WIDTH);
        let own: BTreeSet<usize> = self.lengths_of.get(&K::Bits::BITS).into_iter().flatten().copied().collect();
        let lengths: BTreeSet<usize> = self.lengths.iter().copied().chain(own.iter().copied()).collect();
        let mut cases = vec![];
        for (l, &len) in lengths.iter().enumerate() {
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
        let Some(Sample { cases: most, seed }) = self.sample else { return cases };
        let name = K::NAME.bytes().fold(mix(seed, salt), |name, byte| mix(name, byte.into()));
        // Half of them at the boundaries of these very keys, if there are any.
        let (at, elsewhere): (Vec<Case>, Vec<Case>) = cases.into_iter().partition(|case| own.contains(&case.len));
        let from_own = (most / 2).min(at.len());
        let mut drawn = drawn(at, from_own, name);
        drawn.extend(self::drawn(elsewhere, most - from_own, name));
        drawn.sort_by_key(|case| case.len);
        drawn
    }
}

/// `most` of the cases: of each length one, in a random order, before any length comes again.
fn drawn(cases: Vec<Case>, most: usize, seed: u64) -> Vec<Case> {
    let mut shuffled: Vec<(u64, Case)> = (0..).zip(cases).map(|(i, case)| (mix(seed, i), case)).collect();
    shuffled.sort_by_key(|&(random, _)| random);
    let mut rounds = HashMap::new();
    let mut dealt: Vec<(usize, Case)> = vec![];
    for (_, case) in shuffled {
        let round = rounds.entry(case.len).and_modify(|round| *round += 1).or_insert(0_usize);
        dealt.push((*round, case));
    }
    dealt.sort_by_key(|&(round, _)| round);
    dealt.into_iter().take(most).map(|(_, case)| case).collect()
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
