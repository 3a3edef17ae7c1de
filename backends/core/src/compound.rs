//! Keys that are mapped rather than masked: `bool`, `char`, [`Reverse`], tuples.

use crate::masks::low_bits;
use crate::{Sortable, Word};
use core::cmp::Reverse;

impl Sortable for bool {
    type Bits = u8;
    const WIDTH: u32 = 1;

    fn to_bits(self) -> u8 {
        u8::from(self)
    }

    fn from_bits(bits: u8) -> Self {
        bits != 0
    }
}

impl Sortable for char {
    type Bits = u32;
    const WIDTH: u32 = 21;

    fn to_bits(self) -> u32 {
        u32::from(self)
    }

    fn from_bits(bits: u32) -> Self {
        char::from_u32(bits).expect("the bits of a char")
    }
}

/// The opposite order: the inner key's bits complemented within its width, so it packs into tuples as tightly.
impl<K: Sortable> Sortable for Reverse<K> {
    type Bits = K::Bits;
    const WIDTH: u32 = K::WIDTH;

    fn to_bits(self) -> K::Bits {
        self.0.to_bits() ^ K::Bits::truncate(low_bits(K::WIDTH))
    }

    fn from_bits(bits: K::Bits) -> Self {
        Reverse(K::from_bits(bits ^ K::Bits::truncate(low_bits(K::WIDTH))))
    }
}

/// The smallest word that holds two words side by side: the `Bits` of a tuple.
///
/// Words that would need more than 128 bits join to `u128` all the same, since what counts is the sum of the keys'
/// widths; a tuple whose widths exceed 128 bits does not compile.
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

/// Lexicographic: the first field's bits above the second's. More than 128 bits in all do not compile.
impl<A, B> Sortable for (A, B)
where
    A: Sortable<Bits: Join<B::Bits>>,
    B: Sortable,
{
    type Bits = <A::Bits as Join<B::Bits>>::Output;
    const WIDTH: u32 = {
        assert!(A::WIDTH + B::WIDTH <= 128, "a tuple key has at most 128 bits");
        A::WIDTH + B::WIDTH
    };

    fn to_bits(self) -> Self::Bits {
        // B::WIDTH is below 128, because A has at least one bit.
        Self::Bits::truncate(self.0.to_bits().widen() << B::WIDTH | self.1.to_bits().widen())
    }

    fn from_bits(bits: Self::Bits) -> Self {
        let wide = bits.widen();
        let low = wide & low_bits(B::WIDTH);
        (A::from_bits(Word::truncate(wide >> B::WIDTH)), B::from_bits(Word::truncate(low)))
    }
}

/// A tuple of more than two fields is the pair of its first field and the rest.
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

            #[allow(non_snake_case, reason = "the macro names fields after their types")]
            fn to_bits(self) -> Self::Bits {
                let ($first, $($rest),*) = self;
                ($first, ($($rest,)*)).to_bits()
            }

            #[allow(non_snake_case, reason = "the macro names fields after their types")]
            fn from_bits(bits: Self::Bits) -> Self {
                let ($first, ($($rest,)*)) = <($first, ($($rest,)*))>::from_bits(bits);
                ($first, $($rest),*)
            }
        }
    )*};
}
nested_tuple! {
    A B C;
    A B C D;
}
