//! Registers of 128 bits: NEON, which every aarch64 processor has.

use super::registers::{Registers, Work};
use core::arch::aarch64::{uint8x16_t, uint16x8_t, uint32x4_t, uint64x2_t};
use core::marker::PhantomData;
use pulp::aarch64::Neon as Token;

/// The set for words `W`.
#[derive(Clone, Copy)]
pub(crate) struct Neon<W> {
    token: Token,
    words: PhantomData<W>,
}

impl<W> Neon<W> {
    #[inline(always)]
    pub(crate) fn new(token: Token) -> Self {
        Self { token, words: PhantomData }
    }
}

/// What differs between word sizes: types, and names of instructions.
macro_rules! registers {
    (
        $word:ident, $register:ident, $lanes:literal,
        $xor:ident, $and:ident, $select:ident, $shift:ident, $signed:ty, $bits:literal,
        sort2 |$t_a:ident, $t_b:ident, $t_neon:ident| $sort2:expr,
        exchange |$x:ident, $a:ident, $neon:ident| { $($pattern:pat => $exchange:expr,)* }
    ) => {
        impl Registers for Neon<$word> {
            type Word = $word;
            type Register = $register;
            const LANES: usize = $lanes;
            const ROWS: usize = 16;
            const BIAS: $word = 0;

            #[inline(never)]
            fn apart(self, work: impl Work) {
                work.run();
            }

            #[inline(always)]
            fn splat(self, word: $word) -> $register {
                bytemuck::cast([word; $lanes])
            }

            #[inline(always)]
            fn load(self, words: &[$word]) -> $register {
                let words: &[$word; $lanes] = words.try_into().expect("a register of words");
                bytemuck::cast(*words)
            }

            #[inline(always)]
            fn load_some(self, words: &[$word], rest: $word) -> $register {
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
            fn store(self, register: $register, words: &mut [$word]) {
                let words: &mut [$word; $lanes] = words.try_into().expect("a register of words");
                *words = bytemuck::cast(register);
            }

            #[inline(always)]
            fn store_some(self, register: $register, words: &mut [$word]) {
                if words.len() >= $lanes {
                    return self.store(register, &mut words[..$lanes]);
                }
                let lanes: [$word; $lanes] = bytemuck::cast(register);
                for (word, lane) in words.iter_mut().zip(lanes) {
                    *word = lane;
                }
            }

            #[inline(always)]
            fn xor(self, a: $register, b: $register) -> $register {
                self.token.neon.$xor(a, b)
            }

            #[inline(always)]
            fn and(self, a: $register, b: $register) -> $register {
                self.token.neon.$and(a, b)
            }

            #[inline(always)]
            fn spread_sign(self, a: $register) -> $register {
                let a: $signed = bytemuck::cast(a);
                bytemuck::cast(self.token.neon.$shift::<$bits>(a))
            }

            #[inline(always)]
            fn sort2(self, $t_a: $register, $t_b: $register) -> ($register, $register) {
                let $t_neon = self.token.neon;
                $sort2
            }

            #[inline(always)]
            fn exchange<const $x: usize>(self, $a: $register) -> $register {
                let $neon = self.token.neon;
                match $x {
                    $($pattern => $exchange,)*
                }
            }

            #[inline(always)]
            fn sort_lanes<const X: usize>(self, a: $register) -> $register {
                let (less, greater) = self.sort2(a, self.exchange::<X>(a));
                let upper = core::array::from_fn::<$word, $lanes, _>(|lane| if lane >> X.ilog2() & 1 == 1 { $word::MAX } else { 0 });
                self.token.neon.$select(bytemuck::cast(upper), greater, less)
            }
        }
    };
}

registers! {
    u16, uint16x8_t, 8, veorq_u16, vandq_u16, vbslq_u16, vshrq_n_s16, core::arch::aarch64::int16x8_t, 15,
    sort2 |a, b, neon| (neon.vminq_u16(a, b), neon.vmaxq_u16(a, b)),
    exchange |X, a, neon| {
        1 => neon.vrev32q_u16(a),
        3 => neon.vrev64q_u16(a),
        4 => neon.vextq_u16::<4>(a, a),
        _ => {
            let bytes: uint8x16_t = bytemuck::cast(a);
            let met = core::array::from_fn::<u8, 16, _>(|byte| (byte ^ (2 * (X % 8))) as u8);
            bytemuck::cast(neon.vqtbl1q_u8(bytes, bytemuck::cast(met)))
        },
    }
}
registers! {
    u32, uint32x4_t, 4, veorq_u32, vandq_u32, vbslq_u32, vshrq_n_s32, core::arch::aarch64::int32x4_t, 31,
    sort2 |a, b, neon| (neon.vminq_u32(a, b), neon.vmaxq_u32(a, b)),
    exchange |X, a, neon| {
        1 => neon.vrev64q_u32(a),
        2 => neon.vextq_u32::<2>(a, a),
        _ => {
            let pairs = neon.vrev64q_u32(a);
            neon.vextq_u32::<2>(pairs, pairs)
        },
    }
}
registers! {
    u64, uint64x2_t, 2, veorq_u64, vandq_u64, vbslq_u64, vshrq_n_s64, core::arch::aarch64::int64x2_t, 63,
    sort2 |a, b, neon| {
        let greater = neon.vcgtq_u64(a, b);
        (neon.vbslq_u64(greater, b, a), neon.vbslq_u64(greater, a, b))
    },
    exchange |X, a, neon| {
        _ => neon.vextq_u64::<1>(a, a),
    }
}
