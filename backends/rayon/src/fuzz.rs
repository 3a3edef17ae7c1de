//! Sorts of random slices by every set of instructions, against std's stable sort, for as long as one likes:
//!
//! ```text
//! POLYSORT_FUZZ_SECONDS=3600 cargo test -p polysort-rayon --lib fuzz
//! ```
//!
//! `POLYSORT_FUZZ_SET` names the only set to try ("AVX-512", "AVX2", "NEON" or "portable"), `POLYSORT_FUZZ_SEED` the first case.

use crate::columns::Indices;
use crate::few::Network;
use crate::in_place;
use crate::simd::Set;
use crate::sort::{sort_by, sort_keys_by};
use crate::testing::pairs;
use crate::threads::Threads;
use crate::window::Window;
use polysort_core::{Masks, Spec, Word};
use std::env::var;
use std::time::{Duration, Instant};

/// A pseudo-random walk through 64 bits.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn word<W: Word>(&mut self) -> W {
        W::truncate(u128::from(self.next()) << 64 | u128::from(self.next()))
    }

    /// Lengths of every magnitude are equally frequent.
    fn len(&mut self) -> usize {
        let bits = self.below(18);
        self.below(2 << bits) as usize
    }

    /// Keys of one of many distributions.
    fn keys<W: Word>(&mut self, len: usize) -> Vec<W> {
        let (blank, base) = (self.word::<W>() & self.word(), self.word::<W>());
        let few: Vec<W> = (0..1 + self.below(20)).map(|_| self.word()).collect();
        let (kind, shift) = (self.below(10), self.below(u64::from(W::BITS)) as usize);
        let power = W::one() << self.below(u64::from(W::BITS)) as usize;
        let key = |at: usize| match kind {
            0 => self.word(),
            1 => self.word::<W>() & blank,
            2 => few[self.below(few.len() as u64) as usize],
            3 => self.word::<W>() >> shift,
            4 => base ^ self.word::<W>() >> shift,
            // On both sides of zero.
            5 => (base >> shift).wrapping_sub(&(self.word::<W>() >> shift)),
            // On both sides of a power of two.
            6 => power.wrapping_sub(&(self.word::<W>() >> shift).wrapping_sub(&(W::max_value() >> shift >> 1))),
            7 => W::one() << self.below(u64::from(W::BITS)) as usize,
            8 => W::truncate(at as u128) ^ if self.below(50) == 0 { self.word::<W>() >> shift } else { W::zero() },
            _ => self.word::<W>() >> self.below(u64::from(W::BITS)) as usize,
        };
        (0..len).map(key).collect()
    }
}

fn case<W: Word>(random: &mut Random, set: Set) {
    let len = random.len();
    let keys = random.keys::<W>(len);
    let masks = [Masks::UNSIGNED, Masks::signed(W::BITS), Masks::float(W::BITS)][random.below(3) as usize];
    let masks = if random.below(2) == 0 { masks } else { masks.reversed(W::BITS) };
    let threads = if random.below(4) == 0 { Threads::several(3) } else { Threads::ONE };
    let (a, b) = (random.below(u64::from(W::BITS) + 1) as u32, random.below(u64::from(W::BITS) + 1) as u32);
    let windows = [Window { low: 0, high: W::BITS }, Window { low: a.min(b), high: a.max(b) }];
    for window in windows {
        let ones = window.ones::<W>();
        let mut order: Vec<u32> = (0..len as u32).collect();
        order.sort_by_key(|&at| masks.apply(keys[at as usize]) & ones);
        let is_right = |sorted: &[W]| sorted.iter().zip(&order).all(|(&key, &at)| key == keys[at as usize]);
        let what = format!("{len} keys of {} bits, {masks:x?}, {window:?}, {threads:?}, {}", W::BITS, set.name());

        let mut sorted = keys.clone();
        let network = Network { set, whole: window.width() == W::BITS };
        let spec = Spec::new::<W>(masks, window.low, window.high).expect("a window of the word");
        sort_keys_by(set, &mut sorted, spec, threads);
        assert!(is_right(&sorted), "keys: {what}");
        if network.whole {
            let mut sorted = keys.clone();
            in_place::sort(&mut sorted, masks, threads);
            assert!(is_right(&sorted), "keys in place: {what}");
        }

        let (mut sorted, mut values) = (keys.clone(), Vec::from_iter(0..len as u32));
        let stable = Network { set, whole: false };
        sort_by(stable, pairs(&mut sorted, &mut values, masks), window, threads);
        assert!(is_right(&sorted) && values == order, "pairs: {what}");

        let mut indices = Vec::from_iter(0..len as u32);
        sort_by(stable, Indices::new(&keys, 0, &mut indices, masks), window, threads);
        assert!(indices == order, "indices: {what}");
    }
}

#[test]
fn fuzz() {
    let number = |name: &str, default: u64| var(name).map_or(default, |value| value.parse().expect("a number"));
    let time = Duration::from_secs(number("POLYSORT_FUZZ_SECONDS", 2));
    let name = var("POLYSORT_FUZZ_SET").ok();
    let sets: Vec<Set> = Set::all().into_iter().filter(|set| name.as_ref().is_none_or(|name| name == set.name())).collect();
    assert!(!sets.is_empty(), "this processor has no set {name:?}");
    let (begin, mut seed) = (Instant::now(), number("POLYSORT_FUZZ_SEED", 1));
    while begin.elapsed() < time {
        for &set in &sets {
            let random = &mut Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
            let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match seed % 5 {
                0 => case::<u8>(random, set),
                1 => case::<u16>(random, set),
                2 => case::<u32>(random, set),
                3 => case::<u64>(random, set),
                _ => case::<u128>(random, set),
            }));
            assert!(run.is_ok(), "the case of seed {seed}");
        }
        seed += 1;
    }
    println!("{} cases for each of {} sets", seed, sets.len());
}
