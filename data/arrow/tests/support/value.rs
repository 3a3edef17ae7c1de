//! Random values of fixed width.

use super::Draw;
use arrow_buffer::{IntervalDayTime, IntervalMonthDayNano, i256};
use half::f16;
use rand::RngExt;
use rand::rngs::SmallRng;

/// A value of an array of fixed width.
pub(crate) trait Value: Sized {
    fn of(bits: u128) -> Self;

    fn small(number: i8) -> Self;

    fn special() -> Vec<Self>;

    fn draw(rng: &mut SmallRng, draw: Draw) -> Self {
        match draw {
            Draw::Any | Draw::Few => Self::of(rng.random()),
            Draw::Narrow => Self::small(rng.random_range(-20..20)),
            Draw::Special => {
                let special = Self::special();
                let at = rng.random_range(0..special.len());
                special.into_iter().nth(at).unwrap()
            }
        }
    }
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Value for $type {
            fn of(bits: u128) -> Self {
                bits as $type
            }

            fn small(number: i8) -> Self {
                number as $type
            }

            fn special() -> Vec<Self> {
                vec![0, 1, <$type>::MIN, <$type>::MIN + 1, <$type>::MAX, <$type>::MAX - 1, <$type>::MAX / 2]
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 i128 u8 u16 u32 u64);

macro_rules! floats {
    ($($type:ident $bits:ty;)*) => {$(
        impl Value for $type {
            fn of(bits: u128) -> Self {
                Self::from_bits(bits as $bits)
            }

            fn small(number: i8) -> Self {
                Self::from(number) * Self::from(-1_i8)
            }

            fn special() -> Vec<Self> {
                let payload = |value: Self| Self::from_bits(value.to_bits() ^ 1);
                let (zero, nan) = (Self::from(0_i8), Self::NAN);
                vec![zero, -zero, nan, -nan, payload(nan), payload(-nan), Self::INFINITY, Self::NEG_INFINITY, payload(zero), Self::MAX]
            }
        }
    )*};
}
floats!(f16 u16; f32 u32; f64 u64;);

impl Value for i256 {
    fn of(bits: u128) -> Self {
        i256::from_parts(bits.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835), bits as i128)
    }

    fn small(number: i8) -> Self {
        i256::from_i128(number.into())
    }

    fn special() -> Vec<Self> {
        let parts = [(0, 0), (1, 0), (u128::MAX, 0), (u128::MAX, -1), (1 << 64, 0), (1 << 64, -1), (0, i128::MIN), (0, 1 << 64)];
        parts.map(|(low, high)| i256::from_parts(low, high)).to_vec()
    }
}

impl Value for IntervalDayTime {
    fn of(bits: u128) -> Self {
        IntervalDayTime::new(bits as i32, (bits >> 32) as i32)
    }

    fn small(number: i8) -> Self {
        IntervalDayTime::new((number / 9).into(), (number % 9).into())
    }

    fn special() -> Vec<Self> {
        [(0, 0), (0, i32::MIN), (0, i32::MAX), (i32::MIN, 1), (i32::MAX, -1)]
            .map(|(days, ms)| IntervalDayTime::new(days, ms))
            .to_vec()
    }
}

impl Value for IntervalMonthDayNano {
    fn of(bits: u128) -> Self {
        IntervalMonthDayNano::new(bits as i32, (bits >> 32) as i32, (bits >> 64) as i64)
    }

    fn small(number: i8) -> Self {
        IntervalMonthDayNano::new((number / 9).into(), (number / 3 % 3).into(), (number % 3).into())
    }

    fn special() -> Vec<Self> {
        let parts = [(0, 0, 0), (0, 0, i64::MIN), (0, 0, i64::MAX), (0, -1, i64::MIN), (i32::MIN, 1, 1), (i32::MAX, -1, -1)];
        parts.map(|(months, days, ns)| IntervalMonthDayNano::new(months, days, ns)).to_vec()
    }
}
