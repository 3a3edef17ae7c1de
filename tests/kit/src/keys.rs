//! The key types of the suite. Each has an order that does not come from the code under test.

use core::cmp::{Ordering, Reverse};
use core::fmt::Debug;
use half::{bf16, f16};
use polysort_core::{NoneLast, Sortable};

/// A key that the suite can make and compare.
pub trait TestKey: Sortable + Debug + Send + Sync + 'static {
    /// The type's name in a test's name.
    const NAME: &'static str;

    /// The number of low bits of [`raw`](TestKey::raw) that keys differ in.
    const RAW_WIDTH: u32;

    /// Makes a key of any bits. Every key comes from some bits.
    fn from_raw(raw: u128) -> Self;

    /// The key's memory, so that keys can be compared bit for bit.
    fn raw(self) -> u128;

    /// The order of the keys, written without `to_bits`.
    fn compare(&self, other: &Self) -> Ordering;

    /// Keys at the edges of the type.
    fn specials() -> Vec<Self> {
        let top = 1_u128 << (Self::RAW_WIDTH - 1);
        let raws = [0, 1, 2, top - 1, top, top + 1, top | top >> 1, u128::MAX, u128::MAX - 1, 0x55 << (Self::RAW_WIDTH / 2)];
        raws.map(Self::from_raw).to_vec()
    }
}

macro_rules! integers {
    ($($key:ident)*) => {$(
        impl TestKey for $key {
            const NAME: &'static str = stringify!($key);
            const RAW_WIDTH: u32 = $key::BITS;

            fn from_raw(raw: u128) -> Self {
                raw as $key
            }

            fn raw(self) -> u128 {
                self as u128 & (u128::MAX >> (128 - $key::BITS))
            }

            fn compare(&self, other: &Self) -> Ordering {
                self.cmp(other)
            }
        }
    )*};
}
integers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

macro_rules! floats {
    ($($key:ident: $bits:ident, $infinity:expr, $quiet:expr;)*) => {$(
        impl TestKey for $key {
            const NAME: &'static str = stringify!($key);
            const RAW_WIDTH: u32 = $bits::BITS;

            fn from_raw(raw: u128) -> Self {
                $key::from_bits(raw as $bits)
            }

            fn raw(self) -> u128 {
                u128::from($key::to_bits(self))
            }

            fn compare(&self, other: &Self) -> Ordering {
                self.total_cmp(other)
            }

            /// Both zeros, both infinities, the least and greatest denormals and normals, quiet and signalling NaNs with payloads, both signs of each.
            fn specials() -> Vec<Self> {
                let sign: $bits = 1 << ($bits::BITS - 1);
                let (infinity, quiet): ($bits, $bits) = ($infinity, $quiet);
                let smallest_normal = infinity & infinity.wrapping_neg();
                let positive = [
                    0, 1, smallest_normal - 1, smallest_normal, infinity - 1, infinity,
                    infinity | 1, quiet, quiet | 1, quiet | 5, sign - 1, infinity >> 1,
                ];
                positive.into_iter().flat_map(|bits| [bits, bits | sign]).map($key::from_bits).collect()
            }
        }
    )*};
}
floats! {
    f16: u16, 0x7c00, 0x7e00;
    bf16: u16, 0x7f80, 0x7fc0;
    f32: u32, 0x7f80_0000, 0x7fc0_0000;
    f64: u64, 0x7ff0_0000_0000_0000, 0x7ff8_0000_0000_0000;
}

impl TestKey for bool {
    const NAME: &'static str = "bool";
    const RAW_WIDTH: u32 = 1;

    fn from_raw(raw: u128) -> Self {
        raw & 1 == 1
    }

    fn raw(self) -> u128 {
        u128::from(self)
    }

    fn compare(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }

    fn specials() -> Vec<Self> {
        vec![false, true]
    }
}

impl TestKey for char {
    const NAME: &'static str = "char";
    const RAW_WIDTH: u32 = 21;

    fn from_raw(raw: u128) -> Self {
        char::from_u32((raw % 0x11_0000) as u32).unwrap_or('\u{fffd}')
    }

    fn raw(self) -> u128 {
        u128::from(u32::from(self))
    }

    fn compare(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }

    fn specials() -> Vec<Self> {
        vec!['\0', '\u{1}', 'a', '\u{d7ff}', '\u{e000}', '\u{ffff}', '\u{10000}', char::MAX]
    }
}

impl<K: TestKey> TestKey for Reverse<K>
where
    Reverse<K>: Named,
{
    const NAME: &'static str = <Self as Named>::NAME;
    const RAW_WIDTH: u32 = K::RAW_WIDTH;

    fn from_raw(raw: u128) -> Self {
        Reverse(K::from_raw(raw))
    }

    fn raw(self) -> u128 {
        self.0.raw()
    }

    fn compare(&self, other: &Self) -> Ordering {
        other.0.compare(&self.0)
    }

    fn specials() -> Vec<Self> {
        K::specials().into_iter().map(Reverse).collect()
    }
}

/// The raw bits of an optional key: one bit above those of the key, 1 if it is there.
macro_rules! optional {
    ($($optional:ty, $name:literal: |$key:ident| $wrap:expr, $none_first:literal;)*) => {$(
        impl<K: TestKey> TestKey for $optional
        where
            Self: Sortable,
        {
            const NAME: &'static str = $name;
            const RAW_WIDTH: u32 = K::RAW_WIDTH + 1;

            fn from_raw(raw: u128) -> Self {
                let $key = (raw >> K::RAW_WIDTH & 1 == 1).then(|| K::from_raw(raw));
                $wrap
            }

            fn raw(self) -> u128 {
                self.optional().map_or(0, |key| 1 << K::RAW_WIDTH | key.raw())
            }

            fn compare(&self, other: &Self) -> Ordering {
                match (self.optional(), other.optional()) {
                    (None, None) => Ordering::Equal,
                    (None, Some(_)) => if $none_first { Ordering::Less } else { Ordering::Greater },
                    (Some(_), None) => if $none_first { Ordering::Greater } else { Ordering::Less },
                    (Some(a), Some(b)) => a.compare(&b),
                }
            }
        }
    )*};
}
optional! {
    Option<K>, "Option": |key| key, true;
    NoneLast<K>, "NoneLast": |key| NoneLast(key), false;
}

trait Optional<K> {
    fn optional(self) -> Option<K>;
}

impl<K> Optional<K> for Option<K> {
    fn optional(self) -> Option<K> {
        self
    }
}

impl<K> Optional<K> for NoneLast<K> {
    fn optional(self) -> Option<K> {
        self.0
    }
}

/// The name of a compound type, which `const` code cannot join.
pub trait Named {
    /// The name.
    const NAME: &'static str;
}

macro_rules! named {
    ($($key:ty = $name:literal;)*) => {$(
        impl Named for $key {
            const NAME: &'static str = $name;
        }
    )*};
}
named! {
    Reverse<f32> = "Reverse<f32>";
    Reverse<char> = "Reverse<char>";
    Reverse<u16> = "Reverse<u16>";
    (u16, i32) = "(u16,i32)";
    (bool, f32) = "(bool,f32)";
    (i8, char, Reverse<u16>) = "(i8,char,Reverse<u16>)";
    (Option<i8>, NoneLast<u16>) = "(Option<i8>,NoneLast<u16>)";
}

macro_rules! tuples {
    ($($($key:ident)+;)*) => {$(
        #[allow(non_snake_case, reason = "the macro names fields after their types")]
        impl<$($key: TestKey),+> TestKey for ($($key,)+)
        where
            ($($key,)+): Sortable + Named,
        {
            const NAME: &'static str = <Self as Named>::NAME;
            const RAW_WIDTH: u32 = 0 $(+ $key::RAW_WIDTH)+;

            fn from_raw(raw: u128) -> Self {
                let mut rest = raw;
                $(
                    let $key = $key::from_raw(rest);
                    rest = rest.checked_shr($key::RAW_WIDTH).unwrap_or(0);
                )+
                let _ = rest;
                ($($key,)+)
            }

            fn raw(self) -> u128 {
                let ($($key,)+) = self;
                let (mut raw, mut at) = (0, 0);
                $(
                    raw |= $key.raw() << at;
                    at += $key::RAW_WIDTH;
                )+
                let _ = at;
                raw
            }

            fn compare(&self, other: &Self) -> Ordering {
                let ($($key,)+) = self;
                let mine = ($($key,)+);
                tuples!(@compare mine, other, $($key)+)
            }
        }
    )*};
    (@compare $mine:ident, $other:ident, $a:ident $b:ident) => {
        $mine.0.compare(&$other.0).then_with(|| $mine.1.compare(&$other.1))
    };
    (@compare $mine:ident, $other:ident, $a:ident $b:ident $c:ident) => {
        $mine.0.compare(&$other.0).then_with(|| $mine.1.compare(&$other.1)).then_with(|| $mine.2.compare(&$other.2))
    };
}
tuples! {
    A B;
    A B C;
}

/// A user's own key: a signed priority before a 24-bit number, high priorities first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Custom {
    /// Larger comes first.
    pub priority: i8,
    /// Below 2²⁴.
    pub number: u32,
}

impl Sortable for Custom {
    type Bits = u32;
    const IDENTICAL: Option<fn(Self, Self) -> bool> = Some(|a, b| a == b);

    fn to_bits(self) -> u32 {
        u32::from((i16::from(self.priority) + 128) as u8 ^ 0xff) << 24 | self.number
    }

    fn from_bits(bits: u32) -> Self {
        Custom { priority: (i16::from((bits >> 24) as u8 ^ 0xff) - 128) as i8, number: bits & 0xff_ffff }
    }
}

impl TestKey for Custom {
    const NAME: &'static str = "Custom";
    const RAW_WIDTH: u32 = 32;

    fn from_raw(raw: u128) -> Self {
        Custom { priority: (raw >> 24) as i8, number: raw as u32 & 0xff_ffff }
    }

    fn raw(self) -> u128 {
        u128::from(self.priority as u8) << 24 | u128::from(self.number)
    }

    fn compare(&self, other: &Self) -> Ordering {
        other.priority.cmp(&self.priority).then(self.number.cmp(&other.number))
    }
}

/// A user's key that is larger than its bits: a score that the sort compares, and an id that moves with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scored {
    /// The sort compares this.
    pub score: i16,
    /// The bits do not hold this.
    pub id: u32,
}

impl Sortable for Scored {
    type Bits = u16;

    fn to_bits(self) -> u16 {
        self.score.cast_unsigned() ^ 1 << 15
    }

    fn from_bits(bits: u16) -> Self {
        panic!("the bits {bits} do not hold a key, and a sort must not rebuild one from them")
    }
}

impl TestKey for Scored {
    const NAME: &'static str = "Scored";
    const RAW_WIDTH: u32 = 48;

    fn from_raw(raw: u128) -> Self {
        Scored { score: (raw >> 32) as i16, id: raw as u32 }
    }

    fn raw(self) -> u128 {
        u128::from(self.score.cast_unsigned()) << 32 | u128::from(self.id)
    }

    fn compare(&self, other: &Self) -> Ordering {
        self.score.cmp(&other.score)
    }
}
