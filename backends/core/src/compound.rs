//! Keys that are mapped to words and back: `bool`, `char`, [`Reverse`], tuples, and types of one value.

use crate::key::is_identical;
use crate::masks::low_bits;
use crate::parts::{fits, pop, push};
use crate::{Sortable, Word};
use core::cmp::Reverse;
use core::marker::PhantomData;

/// Keys with a function to bits and one back.
macro_rules! mapped {
    ($([$($parameter:ident)?] $key:ty: $bits:ty, $width:literal, $to_bits:expr, $from_bits:expr;)*) => {$(
        impl$(<$parameter: ?Sized>)? Sortable for $key {
            type Bits = $bits;
            const WIDTH: u32 = $width;
            const IDENTICAL: Option<fn(Self, Self) -> bool> = Some(|a, b| a == b);

            #[inline]
            fn to_bits(self) -> $bits {
                $to_bits(self)
            }

            #[inline]
            fn from_bits(bits: $bits) -> Self {
                $from_bits(bits)
            }
        }
    )*};
}
mapped! {
    [] bool: u8, 1, u8::from, |bits| bits != 0;
    [] char: u32, 21, u32::from, |bits| char::from_u32(bits).expect("the bits of a char");
    // Types of one value: all keys are equal, and a key of no bits adds none to a tuple.
    [] (): u8, 0, |_| 0, |_| ();
    [T] PhantomData<T>: u8, 0, |_| 0, |_| PhantomData;
}

/// A key around another one, which has the bits of that key, with those of a mask flipped.
macro_rules! flipped {
    ($($(#[$doc:meta])* $key:ty: $inner:ty, $around:expr, $mask:expr;)*) => {$(
        $(#[$doc])*
        impl<K: Sortable> Sortable for $key
        where
            $inner: Sortable,
        {
            type Bits = <$inner as Sortable>::Bits;
            const WIDTH: u32 = <$inner>::WIDTH;
            const IS_REBUILT: bool = <$inner>::IS_REBUILT;
            const IDENTICAL: Option<fn(Self, Self) -> bool> =
                if Self::IS_REBUILT { Some(|a, b| $crate::key::is_identical(a.0, b.0)) } else { None };

            #[inline]
            fn to_bits(self) -> Self::Bits {
                self.0.to_bits() ^ Self::Bits::truncate($mask)
            }

            #[inline]
            fn from_bits(bits: Self::Bits) -> Self {
                $around(<$inner>::from_bits(bits ^ Self::Bits::truncate($mask)))
            }

            #[inline]
            fn bits_fit(key: Self, _: Self::Bits) -> bool {
                $crate::parts::fits(key.0)
            }
        }
    )*};
}
pub(crate) use flipped;

flipped! {
    /// The opposite order: the complement of the inner key's bits within its width, so that a tuple packs it as tightly.
    Reverse<K>: K, Reverse, low_bits(K::WIDTH);
    /// A tuple of one key: that key.
    (K,): K, |key| (key,), 0;
}

/// Selects the word type, [`Output`](Join::Output), in which two keys lie side by side: the `Bits` of a tuple.
///
/// The key in a word may have fewer bits than the word. So two words of more than 128 bits together still have the output `u128`: only the widths
/// of the keys must add up to 128 bits at most. A tuple of wider keys does not compile.
pub trait Join<W: Word>: Word {
    /// The joined word.
    type Output: Word;
}

macro_rules! join {
    ($($high:ty: $($low:ty => $out:ty),*;)*) => {$($(
        impl Join<$low> for $high {
            type Output = $out;
        }
    )*)*};
}
join! {
    u8: u8 => u16, u16 => u32, u32 => u64, u64 => u128, u128 => u128;
    u16: u8 => u32, u16 => u32, u32 => u64, u64 => u128, u128 => u128;
    u32: u8 => u64, u16 => u64, u32 => u64, u64 => u128, u128 => u128;
    u64: u8 => u128, u16 => u128, u32 => u128, u64 => u128, u128 => u128;
    u128: u8 => u128, u16 => u128, u32 => u128, u64 => u128, u128 => u128;
}

/// Lexicographic order: the bits of the first key above those of the second. More than 128 bits in all do not compile.
impl<A, B> Sortable for (A, B)
where
    A: Sortable<Bits: Join<B::Bits>>,
    B: Sortable,
{
    type Bits = <A::Bits as Join<B::Bits>>::Output;
    const WIDTH: u32 = {
        assert!(A::WIDTH <= <A::Bits as Word>::BITS, "the WIDTH of a tuple's first key exceeds its Bits");
        assert!(B::WIDTH <= <B::Bits as Word>::BITS, "the WIDTH of a tuple's second key exceeds its Bits");
        assert!(A::WIDTH + B::WIDTH <= 128, "a tuple key has at most 128 bits");
        A::WIDTH + B::WIDTH
    };
    const IS_REBUILT: bool = A::IS_REBUILT && B::IS_REBUILT;
    const IDENTICAL: Option<fn(Self, Self) -> bool> =
        if Self::IS_REBUILT { Some(|a, b| is_identical(a.0, b.0) & is_identical(a.1, b.1)) } else { None };

    #[inline]
    fn to_bits(self) -> Self::Bits {
        Self::Bits::truncate(push(self.0.to_bits().widen(), B::WIDTH, self.1.to_bits().widen()))
    }

    #[inline]
    fn from_bits(bits: Self::Bits) -> Self {
        let (first, second) = pop(bits.widen(), B::WIDTH);
        (A::from_bits(Word::truncate(first)), B::from_bits(Word::truncate(second)))
    }

    #[inline]
    fn bits_fit(key: Self, _: Self::Bits) -> bool {
        fits(key.0) & fits(key.1)
    }
}

/// A tuple of more than two keys is the pair of its first key and the rest.
macro_rules! nested_tuple {
    ($($first:ident $($rest:ident)*;)*) => {$(
        impl<$first, $($rest),*> Sortable for ($first, $($rest),*)
        where
            ($($rest,)*): Sortable,
            ($first, ($($rest,)*)): Sortable,
            $first: Copy,
            $($rest: Copy,)*
        {
            type Bits = <($first, ($($rest,)*)) as Sortable>::Bits;
            const WIDTH: u32 = <($first, ($($rest,)*)) as Sortable>::WIDTH;
            const IS_REBUILT: bool = <($first, ($($rest,)*)) as Sortable>::IS_REBUILT;
            const IDENTICAL: Option<fn(Self, Self) -> bool> =
                if Self::IS_REBUILT { Some(|a, b| is_identical(nested_tuple!(@nest a, $first $($rest)*), nested_tuple!(@nest b, $first $($rest)*))) } else { None };

            #[inline]
            fn to_bits(self) -> Self::Bits {
                nested_tuple!(@nest self, $first $($rest)*).to_bits()
            }

            #[inline]
            #[allow(non_snake_case, reason = "the macro names fields after their types")]
            fn from_bits(bits: Self::Bits) -> Self {
                let ($first, ($($rest,)*)) = <($first, ($($rest,)*))>::from_bits(bits);
                ($first, $($rest),*)
            }

            #[inline]
            fn bits_fit(key: Self, bits: Self::Bits) -> bool {
                <($first, ($($rest,)*))>::bits_fit(nested_tuple!(@nest key, $first $($rest)*), bits)
            }
        }
    )*};
    (@nest $tuple:ident, $first:ident $($rest:ident)*) => {{
        #[allow(non_snake_case, reason = "the macro names fields after their types")]
        let ($first, $($rest),*) = $tuple;
        ($first, ($($rest,)*))
    }};
}
nested_tuple! {
    A B C;
    A B C D;
}
