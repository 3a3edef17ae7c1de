//! Registers of 256 bits: AVX2, as all x86-64-v3 processors have it.

use super::OnSet;
use super::registers::{Registers, Work};
use core::arch::x86_64::__m256i;
use core::marker::PhantomData;
use pulp::x86::V3;

/// The set for words `W`.
#[derive(Clone, Copy)]
pub(crate) struct Avx2<W> {
    v3: V3,
    words: PhantomData<W>,
}

impl<W> Avx2<W> {
    #[inline(always)]
    pub(crate) fn new(v3: V3) -> Self {
        Self { v3, words: PhantomData }
    }
}

/// What differs between word sizes: names of instructions. `$upper` chooses the lanes of the second register whose index has the top
/// bit of `X`.
macro_rules! registers {
    (
        $word:ident, $lanes:literal, bias $bias:expr,
        sign |$s_a:ident, $s_v3:ident| $sign:expr,
        sort2 |$t_a:ident, $t_b:ident, $t_v3:ident| $sort2:expr,
        exchange |$x:ident, $a:ident, $v3:ident| { $($pattern:pat => $exchange:expr,)* }
        upper |$u_a:ident, $u_b:ident, $u_v3:ident| { $($u_pattern:pat => $upper:expr,)* }
    ) => {
        impl Registers for Avx2<$word> {
            type Word = $word;
            type Register = __m256i;
            const LANES: usize = $lanes;
            const ROWS: usize = 8;
            const BIAS: $word = $bias;

            fn apart(self, work: impl Work) {
                self.v3.vectorize(OnSet(work));
            }

            #[inline(always)]
            fn splat(self, word: $word) -> __m256i {
                bytemuck::cast([word; $lanes])
            }

            #[inline(always)]
            fn load(self, words: &[$word]) -> __m256i {
                let words: &[$word; $lanes] = words.try_into().expect("a register of words");
                bytemuck::cast(*words)
            }

            #[inline(always)]
            fn load_some(self, words: &[$word], rest: $word) -> __m256i {
                if words.len() >= $lanes {
                    return self.load(&words[..$lanes]);
                }
                let mut lanes = [rest; $lanes];
                for (lane, &word) in lanes.iter_mut().zip(words) {
                    *lane = word;
                }
                bytemuck::cast(lanes)
            }

            #[inline(always)]
            fn store(self, register: __m256i, words: &mut [$word]) {
                let words: &mut [$word; $lanes] = words.try_into().expect("a register of words");
                *words = bytemuck::cast(register);
            }

            #[inline(always)]
            fn store_some(self, register: __m256i, words: &mut [$word]) {
                if words.len() >= $lanes {
                    return self.store(register, &mut words[..$lanes]);
                }
                let lanes: [$word; $lanes] = bytemuck::cast(register);
                for (word, lane) in words.iter_mut().zip(lanes) {
                    *word = lane;
                }
            }

            #[inline(always)]
            fn xor(self, a: __m256i, b: __m256i) -> __m256i {
                self.v3.avx2._mm256_xor_si256(a, b)
            }

            #[inline(always)]
            fn and(self, a: __m256i, b: __m256i) -> __m256i {
                self.v3.avx2._mm256_and_si256(a, b)
            }

            #[inline(always)]
            fn spread_sign(self, $s_a: __m256i) -> __m256i {
                let $s_v3 = self.v3;
                $sign
            }

            #[inline(always)]
            fn sort2(self, $t_a: __m256i, $t_b: __m256i) -> (__m256i, __m256i) {
                let $t_v3 = self.v3;
                $sort2
            }

            #[inline(always)]
            fn exchange<const $x: usize>(self, $a: __m256i) -> __m256i {
                let $v3 = self.v3;
                match $x {
                    $($pattern => $exchange,)*
                }
            }

            #[inline(always)]
            fn sort_lanes<const X: usize>(self, a: __m256i) -> __m256i {
                let ($u_a, $u_b) = self.sort2(a, self.exchange::<X>(a));
                let $u_v3 = self.v3;
                match const { 1 << X.ilog2() } {
                    $($u_pattern => $upper,)*
                }
            }
        }
    };
}

registers! {
    u16, 16, bias 0,
    sign |a, v3| v3.avx2._mm256_srai_epi16::<15>(a),
    sort2 |a, b, v3| (v3.avx2._mm256_min_epu16(a, b), v3.avx2._mm256_max_epu16(a, b)),
    exchange |X, a, v3| {
        1..=7 => v3.avx2._mm256_shuffle_epi8(a, bytemuck::cast(const { bytes_met(X) })),
        8 => v3.avx2._mm256_permute4x64_epi64::<0x4e>(a),
        _ => {
            let halves = v3.avx2._mm256_permute4x64_epi64::<0x4e>(a);
            v3.avx2._mm256_shuffle_epi8(halves, bytemuck::cast(const { bytes_met(X) }))
        },
    }
    upper |a, b, v3| {
        1 => v3.avx2._mm256_blend_epi16::<0b1010_1010>(a, b),
        2 => v3.avx2._mm256_blend_epi16::<0b1100_1100>(a, b),
        4 => v3.avx2._mm256_blend_epi16::<0b1111_0000>(a, b),
        _ => v3.avx2._mm256_blend_epi32::<0b1111_0000>(a, b),
    }
}
registers! {
    u32, 8, bias 0,
    sign |a, v3| v3.avx2._mm256_srai_epi32::<31>(a),
    sort2 |a, b, v3| (v3.avx2._mm256_min_epu32(a, b), v3.avx2._mm256_max_epu32(a, b)),
    exchange |X, a, v3| {
        1 => v3.avx2._mm256_shuffle_epi32::<0xb1>(a),
        2 => v3.avx2._mm256_shuffle_epi32::<0x4e>(a),
        3 => v3.avx2._mm256_shuffle_epi32::<0x1b>(a),
        4 => v3.avx2._mm256_permute4x64_epi64::<0x4e>(a),
        _ => v3.avx2._mm256_permutevar8x32_epi32(a, bytemuck::cast(const { doubles_met(X) })),
    }
    upper |a, b, v3| {
        1 => v3.avx2._mm256_blend_epi32::<0b1010_1010>(a, b),
        2 => v3.avx2._mm256_blend_epi32::<0b1100_1100>(a, b),
        _ => v3.avx2._mm256_blend_epi32::<0b1111_0000>(a, b),
    }
}
// There is no minimum of 64 bits, and only a signed comparison.
registers! {
    u64, 4, bias 1 << 63,
    sign |a, v3| v3.avx2._mm256_cmpgt_epi64(v3.avx._mm256_setzero_si256(), a),
    sort2 |a, b, v3| {
        let greater = v3.avx2._mm256_cmpgt_epi64(a, b);
        (v3.avx2._mm256_blendv_epi8(a, b, greater), v3.avx2._mm256_blendv_epi8(b, a, greater))
    },
    exchange |X, a, v3| {
        1 => v3.avx2._mm256_shuffle_epi32::<0x4e>(a),
        2 => v3.avx2._mm256_permute4x64_epi64::<0x4e>(a),
        _ => v3.avx2._mm256_permute4x64_epi64::<0x1b>(a),
    }
    upper |a, b, v3| {
        1 => v3.avx2._mm256_blend_epi32::<0b1100_1100>(a, b),
        _ => v3.avx2._mm256_blend_epi32::<0b1111_0000>(a, b),
    }
}

/// For each byte of a register of words of 16 bits, the byte in its group of 16 that comes there if lanes meet by `x`.
const fn bytes_met(x: usize) -> [u8; 32] {
    let (mut bytes, mut at) = ([0; 32], 0);
    while at < 32 {
        bytes[at] = ((at % 16) ^ (2 * (x % 8))) as u8;
        at += 1;
    }
    bytes
}

/// For each lane the one that it meets by `x`.
const fn doubles_met(x: usize) -> [u32; 8] {
    let (mut lanes, mut at) = ([0; 8], 0);
    while at < 8 {
        lanes[at] = (at ^ x) as u32;
        at += 1;
    }
    lanes
}
