//! The cases of a check.

use crate::keys::TestKey;
use crate::patterns::Pattern;
use crate::thorough::step;
use polysort_core::{Options, Order, Window, Word};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// One input and the options of its sort.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The pattern of the keys.
    pub pattern: Pattern,
    /// The number of keys.
    pub len: usize,
    /// The direction and bit window.
    pub options: Options,
    /// The seed of the keys and of all other choices.
    pub seed: u64,
}

/// Which cases of each check run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Lengths at and around every boundary.
    pub lengths: Vec<usize>,
    /// Further lengths, for keys of so many bits only.
    pub lengths_of: BTreeMap<u32, Vec<usize>>,
    /// Whether all combinations run. Otherwise a part runs in which every pattern, length, order and window occurs.
    pub full: bool,
    /// How many of these cases are drawn, if not all are to run.
    pub sample: Option<Sample>,
    /// The longest input that is sorted in segments, in keys.
    pub longest_segmented: usize,
    /// The longest input of keys that are sorted as the words of others: all but `u8` to `u128`, `i32` and `f64`.
    pub longest_mapped: usize,
}

/// The keys with long inputs: each word that backends sort, and each kind of masks.
const LONG_KEYS: [&str; 7] = ["u8", "u16", "u32", "u64", "u128", "i32", "f64"];

/// A part of the cases of each check, drawn at random: for backends on which all cases would take too long.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Cases of a check.
    pub cases: usize,
    /// The seed: each seed draws other cases.
    pub seed: u64,
}

/// What a plan asks of a type of keys.
#[derive(Clone, Copy)]
struct Facts {
    name: &'static str,
    width: u32,
    word_bits: u32,
}

impl Facts {
    fn of<K: TestKey>() -> Self {
        Self { name: K::NAME, width: K::WIDTH, word_bits: K::Bits::BITS }
    }
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
        let longest_mapped = if full { usize::MAX } else { 20_000 };
        Self { lengths, lengths_of: BTreeMap::new(), full, sample: None, longest_segmented: usize::MAX, longest_mapped }
    }

    /// Adds lengths around boundaries that only keys of `bits` bits have.
    #[must_use]
    pub fn around_of(mut self, bits: u32, boundaries: &[usize]) -> Self {
        let around = self.around(boundaries);
        self.lengths_of.entry(bits).or_default().extend(around);
        self
    }

    fn around(&self, boundaries: &[usize]) -> Vec<usize> {
        let longest = self.lengths.last().copied().unwrap_or(0);
        boundaries.iter().flat_map(|&b| [b - 1, b, b + 1, 2 * b + 3]).filter(|&len| len <= longest).collect()
    }

    /// The same plan, of which only `cases` cases of each check are drawn.
    #[must_use]
    pub fn sampled(self, cases: usize, seed: u64) -> Self {
        Self { sample: Some(Sample { cases, seed }), ..self }
    }

    /// The same plan, with at most `longest` keys where segments are sorted.
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

    /// The same plan, with those of `lengths` that are not longer than its own.
    pub(crate) fn of_lengths(&self, lengths: &[usize]) -> Self {
        let longest = self.lengths.last().copied().unwrap_or(0);
        let lengths = lengths.iter().copied().filter(|&len| len <= longest).collect();
        Self { lengths, lengths_of: BTreeMap::new(), ..self.clone() }
    }

    /// Why not all cases of [`all`](Plan::all) run.
    pub(crate) fn why_not_all(&self) -> String {
        match self.sample {
            Some(Sample { cases, .. }) => format!("the plan draws {cases} cases of each check"),
            None if self.full => "the plan has no length for these".into(),
            None => "the plan takes a part of the combinations; `--full` takes all".into(),
        }
    }

    /// The number of all combinations for keys `K`.
    pub(crate) fn all<K: TestKey>(&self) -> usize {
        self.lengths_for(Facts::of::<K>()).len() * Pattern::ALL.len() * 2 * windows(K::WIDTH).len()
    }

    fn lengths_for(&self, key: Facts) -> BTreeSet<usize> {
        let own = self.lengths_of.get(&key.word_bits).into_iter().flatten();
        let is_short = |len: &usize| *len <= self.longest_mapped || LONG_KEYS.contains(&key.name);
        self.lengths.iter().chain(own).copied().filter(is_short).collect()
    }

    /// The cases for keys `K`. `salt` is another number for each operation, so that each operation gets other combinations.
    pub fn cases<K: TestKey>(&self, salt: u64) -> Vec<Case> {
        self.cases_for(Facts::of::<K>(), salt)
    }

    fn cases_for(&self, key: Facts, salt: u64) -> Vec<Case> {
        let windows = windows(key.width);
        let own: BTreeSet<usize> = self.lengths_of.get(&key.word_bits).into_iter().flatten().copied().collect();
        let lengths = self.lengths_for(key);
        // Half as many long inputs, if the test is not thorough.
        let rarer = step(2);
        let mut cases = vec![];
        for (l, &len) in lengths.iter().enumerate() {
            for (p, &pattern) in Pattern::ALL.iter().enumerate() {
                for (o, order) in [Order::Ascending, Order::Descending].into_iter().enumerate() {
                    for (w, &window) in windows.iter().enumerate() {
                        let turn = l + 3 * p + 5 * o + 7 * salt as usize;
                        // The part: each length and order occurs with some of the patterns, fewer for long inputs, and every other time with a window. The longest
                        // inputs occur in a part of the operations only.
                        let share = match len {
                            0..2_000 => 4,
                            2_000..20_000 => 8,
                            20_000..100_000 => 16 * rarer,
                            _ => 32 * rarer,
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
        let name = key.name.bytes().fold(mix(seed, salt), |name, byte| mix(name, byte.into()));
        // Half of them at the boundaries of these keys, if there are any.
        let (at, elsewhere): (Vec<Case>, Vec<Case>) = cases.into_iter().partition(|case| own.contains(&case.len));
        let from_own = (most / 2).min(at.len());
        let mut drawn = drawn(at, from_own, name);
        drawn.extend(self::drawn(elsewhere, most - from_own, name));
        drawn.sort_by_key(|case| case.len);
        drawn
    }
}

/// Draws `most` of the cases: one of each length, in a random order, before any length occurs again.
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

/// Bit windows of a key of `width` bits: first all bits; then its ends, its middle, one bit, no bit at either end, and windows across byte boundaries.
fn windows(width: u32) -> Vec<Option<Window>> {
    let half = width / 2;
    let mut windows = vec![
        (0, half),
        (half, width),
        (width / 4, width - width / 4),
        (0, 0),
        (width, width),
        (half, half + 1),
        (0, 1),
        (width - 1, width),
    ];
    if width > 13 {
        windows.extend([(3, 13), (width - 13, width), (8, width)]);
    }
    windows.retain(|&(begin, end)| end <= width && (begin, end) != (0, width));
    windows.sort_unstable();
    windows.dedup();
    std::iter::once(None).chain(windows.into_iter().map(|(begin, end)| Some(Window::of(begin..end)))).collect()
}

/// Mixes two numbers to a seed (the finalizer of SplitMix64).
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let mut z = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks_of;
    use polysort_core::Order;

    /// The part of the combinations that runs without `--full`, over all operations of a key: every length with both orders, and every kind of range.
    #[test]
    fn every_length_occurs_in_both_orders() {
        let plan = Plan::up_to(300_000, false);
        // The operations, by the salts of their checks.
        let salts: Vec<u64> = checks_of::<u8>().iter().map(|check| check.salt).collect();
        type Cases = fn(&Plan, u64) -> Vec<Case>;
        let keys = [("u8", Plan::cases::<u8> as Cases), ("u128", Plan::cases::<u128>), ("i64", Plan::cases::<i64>)];
        for (key, cases) in keys {
            let (mut lengths, mut ranges) = (BTreeSet::new(), BTreeSet::new());
            for &salt in &salts {
                for Case { len, options, .. } in cases(&plan, salt) {
                    lengths.insert((len, options.order == Order::Ascending));
                    ranges.insert(format!("{:?}", options.window));
                }
            }
            let longest = if LONG_KEYS.contains(&key) { usize::MAX } else { plan.longest_mapped };
            let asked = plan.lengths.iter().filter(|&&len| len <= longest).flat_map(|&len| [(len, false), (len, true)]);
            assert!(lengths.into_iter().eq(asked), "{key}");
            let width = key[1..].parse().expect("the bits of the key");
            assert_eq!(ranges.len(), windows(width).len(), "{key}");
        }
    }
}
