//! Registers of 128 bits as arrays: for processors without a set of their own here, and the model that the other sets are tested against.

use super::registers::{Map, Registers, Work};
use core::array::from_fn;
use core::marker::PhantomData;
use polysort_core::Word;

/// The set for words `W`.
#[derive(Clone, Copy)]
pub(crate) struct Portable<W>(PhantomData<W>);

impl<W> Portable<W> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

/// As [`SplitWord::split`](super::SplitWord::split), one word after the other.
pub(super) fn split<W: Word>(words: &mut [W], pivot: W, enter: Map<W>) -> usize {
    let mut low = 0;
    for at in 0..words.len() {
        // All of `low..at` are not below the pivot. A comparison of the word at `low` would wait for the swap to write it.
        let word = words[at];
        words.swap(low, at);
        low += usize::from(enter.apply(word) < pivot);
    }
    low
}

macro_rules! registers {
    ($($word:ident $lanes:literal;)*) => {$(
        impl Registers for Portable<$word> {
            type Word = $word;
            type Register = [$word; $lanes];
            const LANES: usize = $lanes;
            const ROWS: usize = 8;
            const BIAS: $word = 0;

            #[inline(never)]
            fn apart(self, work: impl Work) {
                work.run();
            }

            #[inline(always)]
            fn splat(self, word: $word) -> [$word; $lanes] {
                [word; $lanes]
            }

            #[inline(always)]
            fn load(self, words: &[$word]) -> [$word; $lanes] {
                words.try_into().expect("a register of words")
            }

            #[inline(always)]
            fn load_some(self, words: &[$word], rest: $word) -> [$word; $lanes] {
                from_fn(|lane| words.get(lane).copied().unwrap_or(rest))
            }

            #[inline(always)]
            fn store(self, register: [$word; $lanes], words: &mut [$word]) {
                words.copy_from_slice(&register);
            }

            #[inline(always)]
            fn store_some(self, register: [$word; $lanes], words: &mut [$word]) {
                words.iter_mut().zip(register).for_each(|(word, lane)| *word = lane);
            }

            #[inline(always)]
            fn xor(self, a: [$word; $lanes], b: [$word; $lanes]) -> [$word; $lanes] {
                from_fn(|lane| a[lane] ^ b[lane])
            }

            #[inline(always)]
            fn and(self, a: [$word; $lanes], b: [$word; $lanes]) -> [$word; $lanes] {
                from_fn(|lane| a[lane] & b[lane])
            }

            #[inline(always)]
            fn spread_sign(self, a: [$word; $lanes]) -> [$word; $lanes] {
                a.map(|word| (word >> ($word::BITS - 1)).wrapping_neg())
            }

            #[inline(always)]
            fn sort2(self, a: [$word; $lanes], b: [$word; $lanes]) -> ([$word; $lanes], [$word; $lanes]) {
                (from_fn(|lane| a[lane].min(b[lane])), from_fn(|lane| a[lane].max(b[lane])))
            }

            #[inline(always)]
            fn exchange<const X: usize>(self, a: [$word; $lanes]) -> [$word; $lanes] {
                from_fn(|lane| a[(lane ^ X) % $lanes])
            }

            #[inline(always)]
            fn sort_lanes<const X: usize>(self, a: [$word; $lanes]) -> [$word; $lanes] {
                let (less, greater) = self.sort2(a, self.exchange::<X>(a));
                from_fn(|lane| if lane >> X.ilog2() & 1 == 1 { greater[lane] } else { less[lane] })
            }
        }
    )*};
}
registers! {
    u16 8;
    u32 4;
    u64 2;
}
