//! Registers of 512 bits: AVX-512 with words of 8 and 16 bits, as all x86-64-v4 processors have it.
#![allow(unsafe_code, reason = "loads and stores of the first lanes")]

use super::OnSet;
use super::registers::{Registers, Work};
use core::arch::x86_64::__m512i;
use core::marker::PhantomData;
use pulp::x86::V4;

/// The set for words `W`.
#[derive(Clone, Copy)]
pub(crate) struct Avx512<W> {
    v4: V4,
    /// For `X` = 1, 2, 4, …: the lanes whose index has that bit. Their values are hidden from the compiler, which otherwise makes
    /// two instructions of a masked one.
    upper: [u32; 5],
    words: PhantomData<W>,
}

impl<W> Avx512<W> {
    #[inline(always)]
    pub(crate) fn new(v4: V4) -> Self {
        let upper = [0xaaaa_aaaa, 0xcccc_cccc, 0xf0f0_f0f0, 0xff00_ff00, 0xffff_0000];
        Self { v4, upper: core::hint::black_box(upper), words: PhantomData }
    }
}

/// What differs between word sizes: the type of masks, and the names of instructions.
macro_rules! registers {
    (
        $word:ident, $mask:ident, $lanes:literal,
        $part:ident.$mask_load:ident, $mask_store:ident, $min:ident, $max:ident, |$a:ident, $v4:ident| $sign:expr,
        |$l_a:ident, $l_b:ident, $upper:ident, $l_v4:ident| $lanes_sorted:expr,
        |$x:ident| { $($pattern:pat => $exchange:expr,)* }
    ) => {
        impl Registers for Avx512<$word> {
            type Word = $word;
            type Register = __m512i;
            const LANES: usize = $lanes;
            const ROWS: usize = 16;
            const BIAS: $word = 0;

            fn apart(self, work: impl Work) {
                self.v4.vectorize(OnSet(work));
            }

            #[inline(always)]
            fn splat(self, word: $word) -> __m512i {
                bytemuck::cast([word; $lanes])
            }

            #[inline(always)]
            fn load(self, words: &[$word]) -> __m512i {
                let words: &[$word; $lanes] = words.try_into().expect("a register of words");
                bytemuck::cast(*words)
            }

            #[inline(always)]
            fn load_some(self, words: &[$word], rest: $word) -> __m512i {
                let (rest, lanes) = (self.splat(rest), first_lanes(words.len()) as $mask);
                // SAFETY: `lanes` are the first `words.len()` lanes, or all if there are as many words; no other lane is read from memory.
                unsafe { self.v4.$part.$mask_load(rest, lanes, words.as_ptr().cast()) }
            }

            #[inline(always)]
            fn store(self, register: __m512i, words: &mut [$word]) {
                let words: &mut [$word; $lanes] = words.try_into().expect("a register of words");
                *words = bytemuck::cast(register);
            }

            #[inline(always)]
            fn store_some(self, register: __m512i, words: &mut [$word]) {
                let lanes = first_lanes(words.len()) as $mask;
                // SAFETY: `lanes` are the first `words.len()` lanes, or all if there are as many words; no other lane is written.
                unsafe { self.v4.$part.$mask_store(words.as_mut_ptr().cast(), lanes, register) }
            }

            #[inline(always)]
            fn xor(self, a: __m512i, b: __m512i) -> __m512i {
                self.v4.avx512f._mm512_xor_si512(a, b)
            }

            #[inline(always)]
            fn and(self, a: __m512i, b: __m512i) -> __m512i {
                self.v4.avx512f._mm512_and_si512(a, b)
            }

            #[inline(always)]
            fn spread_sign(self, $a: __m512i) -> __m512i {
                let $v4 = self.v4;
                $sign
            }

            #[inline(always)]
            fn sort2(self, a: __m512i, b: __m512i) -> (__m512i, __m512i) {
                (self.v4.$part.$min(a, b), self.v4.$part.$max(a, b))
            }

            #[inline(always)]
            fn exchange<const $x: usize>(self, $a: __m512i) -> __m512i {
                let $v4 = self.v4;
                match $x {
                    $($pattern => $exchange,)*
                }
            }

            #[inline(always)]
            fn sort_lanes<const X: usize>(self, a: __m512i) -> __m512i {
                let ($l_a, $l_b, $l_v4) = (a, self.exchange::<X>(a), self.v4);
                let $upper = self.upper[const { X.ilog2() as usize }] as $mask;
                $lanes_sorted
            }
        }
    };
}

registers! {
    u16, u32, 32, avx512bw._mm512_mask_loadu_epi16, _mm512_mask_storeu_epi16,
    _mm512_min_epu16, _mm512_max_epu16, |a, v4| v4.avx512bw._mm512_srai_epi16::<15>(a),
    |a, b, upper, v4| v4.avx512bw._mm512_mask_max_epu16(v4.avx512bw._mm512_min_epu16(a, b), upper, a, b),
    |X| {
        1..=7 => v4.avx512bw._mm512_shuffle_epi8(a, bytemuck::cast(const { bytes_met(X) })),
        8 => v4.avx512f._mm512_shuffle_i32x4::<0xb1>(a, a),
        16 => v4.avx512f._mm512_shuffle_i32x4::<0x4e>(a, a),
        _ => v4.avx512bw._mm512_permutexvar_epi16(bytemuck::cast(const { words_met(X) }), a),
    }
}
registers! {
    u32, u16, 16, avx512f._mm512_mask_loadu_epi32, _mm512_mask_storeu_epi32,
    _mm512_min_epu32, _mm512_max_epu32, |a, v4| v4.avx512f._mm512_srai_epi32::<31>(a),
    |a, b, upper, v4| v4.avx512f._mm512_mask_max_epu32(v4.avx512f._mm512_min_epu32(a, b), upper, a, b),
    |X| {
        1 => v4.avx512f._mm512_shuffle_epi32::<0xb1>(a),
        2 => v4.avx512f._mm512_shuffle_epi32::<0x4e>(a),
        3 => v4.avx512f._mm512_shuffle_epi32::<0x1b>(a),
        4 => v4.avx512f._mm512_shuffle_i32x4::<0xb1>(a, a),
        8 => v4.avx512f._mm512_shuffle_i32x4::<0x4e>(a, a),
        _ => v4.avx512f._mm512_permutexvar_epi32(bytemuck::cast(const { doubles_met(X) }), a),
    }
}
// Minima of 64 bits keep one port of the processor busy; a comparison and a blend are spread over more.
registers! {
    u64, u8, 8, avx512f._mm512_mask_loadu_epi64, _mm512_mask_storeu_epi64,
    _mm512_min_epu64, _mm512_max_epu64, |a, v4| v4.avx512f._mm512_srai_epi64::<63>(a),
    |a, b, upper, v4| v4.avx512f._mm512_mask_blend_epi64(v4.avx512f._mm512_cmpgt_epu64_mask(a, b) ^ upper, a, b),
    |X| {
        1 => v4.avx512f._mm512_shuffle_epi32::<0x4e>(a),
        2 => v4.avx512f._mm512_permutex_epi64::<0x4e>(a),
        3 => v4.avx512f._mm512_permutex_epi64::<0x1b>(a),
        4 => v4.avx512f._mm512_shuffle_i64x2::<0x4e>(a, a),
        _ => v4.avx512f._mm512_permutexvar_epi64(bytemuck::cast(const { quads_met(X) }), a),
    }
}

/// A mask of the first `len` lanes, of all of them if there are fewer.
#[inline(always)]
fn first_lanes(len: usize) -> u32 {
    if len >= 32 { u32::MAX } else { (1 << len) - 1 }
}

/// For each byte of a register of words of 16 bits, the byte in its group of 16 that comes there if lanes meet by `x`.
const fn bytes_met(x: usize) -> [u8; 64] {
    let (mut bytes, mut at) = ([0; 64], 0);
    while at < 64 {
        bytes[at] = ((at % 16) ^ (2 * x)) as u8;
        at += 1;
    }
    bytes
}

/// For each lane the one that it meets by `x`.
macro_rules! lanes_met {
    ($name:ident, $word:ident, $lanes:literal) => {
        const fn $name(x: usize) -> [$word; $lanes] {
            let (mut lanes, mut at) = ([0; $lanes], 0);
            while at < $lanes {
                lanes[at] = (at ^ x) as $word;
                at += 1;
            }
            lanes
        }
    };
}
lanes_met!(words_met, u16, 32);
lanes_met!(doubles_met, u32, 16);
lanes_met!(quads_met, u64, 8);
