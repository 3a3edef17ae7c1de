//! The five unsigned words that backends sort.

use crate::{AnyOperation, Operation};
use bytemuck::Pod;
use core::fmt::{Debug, Display, LowerHex};
use core::hash::Hash;
use num_traits::{PrimInt, Unsigned, WrappingNeg, WrappingSub};

/// An unsigned machine word of 8 to 128 bits: the only thing a [`Backend`](crate::Backend) sorts.
///
/// Sealed: `u8`, `u16`, `u32`, `u64` and `u128` implement it, and a backend may rely on there being no other.
pub trait Word:
    sealed::Sealed + PrimInt + Unsigned + WrappingNeg + WrappingSub + Pod + Hash + Debug + Display + LowerHex + Send + Sync
{
    /// Number of bits in the word.
    const BITS: u32;

    /// The lowest [`BITS`](Word::BITS) bits of `wide`.
    fn truncate(wide: u128) -> Self;

    /// The same number in 128 bits.
    fn widen(self) -> u128;

    /// The low bits as an index: the whole number if it fits.
    fn index(self) -> usize;

    /// An operation on words of this type, as one of those on any word.
    #[doc(hidden)]
    fn operation(operation: Operation<'_, Self>) -> AnyOperation<'_>;

    /// All ones if the top bit of the word is set, else zero.
    fn spread_sign(self) -> Self {
        (self >> (Self::BITS as usize - 1)).wrapping_neg()
    }
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! word {
    ($($word:ty, $any:ident;)*) => {$(
        impl sealed::Sealed for $word {}
        impl Word for $word {
            const BITS: u32 = <$word>::BITS;

            #[inline]
            fn truncate(wide: u128) -> Self {
                wide as $word
            }

            #[inline]
            fn widen(self) -> u128 {
                u128::from(self)
            }

            #[inline]
            fn index(self) -> usize {
                self as usize
            }

            #[inline]
            fn operation(operation: Operation<'_, Self>) -> AnyOperation<'_> {
                AnyOperation::$any(operation)
            }
        }
    )*};
}
word!(u8, U8; u16, U16; u32, U32; u64, U64; u128, U128;);

impl<'a, W: Word> From<Operation<'a, W>> for AnyOperation<'a> {
    fn from(operation: Operation<'a, W>) -> Self {
        W::operation(operation)
    }
}
