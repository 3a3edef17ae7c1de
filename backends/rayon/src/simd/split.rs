//! Splitting words at a pivot with AVX-512: the step of a quicksort.
//!
//! A comparison gives a mask of the words below the pivot. One instruction gathers the words of a mask at the start of a register, so each
//! register is split whole: its lower words are stored behind those before them, its upper ones in front of theirs.
//!
//! ```text
//! from   7 2 8 1 | 0 5 4 9      pivot 5
//! to     2 1 0 4 5 9 7 8
//!        low ->  <- high
//! ```
//!
//! A split in place first takes a block of words from either end. From then on it reads a block at the end that has less room for words, and
//! so both ends have room for a block.
//! (Bramas: "A Novel Hybrid Quicksort Algorithm Vectorized using AVX-512 on Intel Skylake", 2017.)
//!
//! Words are gathered in a register, and then stored: the instruction that gathers them in memory is slow on AMD's Zen 4.
#![allow(unsafe_code, reason = "stores of the first lanes")]

use super::avx512::Avx512;
use super::registers::{Map, Registers};
use core::arch::x86_64::{__m512i, _MM_HINT_T0};
use pulp::x86::V4;

/// Registers of a block.
const ROWS: usize = 8;

/// Blocks from one that is read to one that is fetched into the cache then: the processor does not foresee which end is read next. Measured on Zen 4, the
/// median of 2^24 words takes 0.38 × as long as without.
const AHEAD: usize = 4;

/// The arguments of [`SplitWord::split`](super::SplitWord::split), to be used in a function that is compiled for the set.
pub(super) struct Split<'a, W> {
    pub(super) v4: V4,
    pub(super) words: &'a mut [W],
    pub(super) pivot: W,
    pub(super) enter: Map<W>,
}

/// The slice that is split. Words are moved to both ends of `low..high`, where there is room for all words that were read.
struct Target<'a, W> {
    words: &'a mut [W],
    low: usize,
    high: usize,
}

macro_rules! split_words {
    ($($word:ident, $mask:ident, $lanes:literal, $less:ident, $gather:ident, $mask_store:ident;)*) => {$(
        impl pulp::NullaryFnOnce for Split<'_, $word> {
            type Output = usize;

            #[inline(always)]
            fn call(self) -> usize {
                const BLOCK: usize = ROWS * $lanes;
                let Self { v4, words, pivot, enter } = self;
                let (set, len) = (Avx512::<$word>::new(v4), words.len());
                let (pivots, is_ordered) = (set.splat(pivot), enter.is_identity());
                let is_less = |words| {
                    let ordered = if is_ordered { words } else { enter.apply_to(set, words) };
                    v4.avx512f.$less(ordered, pivots)
                };
                // The words of both ends, with those that fill no block; or all of them, if they are few.
                let mut ends = [0; 3 * BLOCK];
                let (mut next, mut end) = if len < 2 * BLOCK { (len, len) } else { (BLOCK, len / BLOCK * BLOCK - BLOCK) };
                let ends = &mut ends[..next + len - end];
                ends[..next].copy_from_slice(&words[..next]);
                ends[next..].copy_from_slice(&words[end..]);
                let mut target = Target { words, low: 0, high: len };
                while next < end {
                    // All of a block is read before any of it is written.
                    let at_low = next - target.low <= target.high - end;
                    let at = if at_low { next } else { end - BLOCK };
                    next += if at_low { BLOCK } else { 0 };
                    end -= if at_low { 0 } else { BLOCK };
                    let block = &target.words[at..at + BLOCK];
                    let ahead = if at_low { at + AHEAD * BLOCK } else { at.saturating_sub(AHEAD * BLOCK) };
                    for line in target.words.get(ahead..ahead + BLOCK).unwrap_or_default().chunks_exact($lanes) {
                        v4.sse._mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
                    }
                    let mut rows = [pivots; ROWS];
                    rows.iter_mut().zip(block.chunks_exact($lanes)).for_each(|(row, words)| *row = set.load(words));
                    for words in rows {
                        target.take(set, v4, words, is_less(words), $mask::MAX);
                    }
                }
                let mut rows = ends.chunks_exact($lanes);
                for row in &mut rows {
                    let words = set.load(row);
                    target.take(set, v4, words, is_less(words), $mask::MAX);
                }
                let words = set.load_some(rows.remainder(), 0);
                let lanes = ((1_u32 << rows.remainder().len()) - 1) as $mask;
                target.take(set, v4, words, is_less(words), lanes);
                target.low
            }
        }

        impl Target<'_, $word> {
            /// Takes the words in `lanes`; those in the lanes of `below` are below the pivot.
            #[inline(always)]
            fn take(&mut self, set: Avx512<$word>, v4: V4, words: __m512i, below: $mask, lanes: $mask) {
                let (below, above) = (below & lanes, !below & lanes);
                let (lower, upper) = (v4.avx512f.$gather(below, words), v4.avx512f.$gather(above, words));
                let (lower_count, upper_count) = (below.count_ones() as usize, above.count_ones() as usize);
                let room = &mut self.words[self.low..self.high];
                match lanes {
                    // What is written behind the lower words is overwritten later, here or by other words.
                    $mask::MAX => set.store(lower, &mut room[..$lanes]),
                    _ => set.store_some(lower, &mut room[..lower_count]),
                }
                let start = room.len() - upper_count;
                let place = &mut room[start..];
                // SAFETY: the mask has the first `upper_count` lanes, as many as `place` has words; no other lane is written.
                unsafe { v4.avx512f.$mask_store(place.as_mut_ptr().cast(), ((1_u32 << upper_count) - 1) as $mask, upper) };
                self.low += lower_count;
                self.high -= upper_count;
            }
        }
    )*};
}
split_words! {
    u32, u16, 16, _mm512_cmplt_epu32_mask, _mm512_maskz_compress_epi32, _mm512_mask_storeu_epi32;
    u64, u8, 8, _mm512_cmplt_epu64_mask, _mm512_maskz_compress_epi64, _mm512_mask_storeu_epi64;
}
