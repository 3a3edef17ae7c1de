//! Keys that may be missing: `Option`, with `None` first, and [`NoneLast`].

use crate::compound::flipped;
use crate::key::is_identical;
use crate::parts::{fits, pop, push};
use crate::{Join, Sortable, Word};
use core::cmp::Ordering;

/// `None` first, as by `Ord`: one bit above those of the key, 1 for `Some`. A key of 128 bits has no room for it and does not compile.
impl<K> Sortable for Option<K>
where
    K: Sortable<Bits: Join<u8>>,
{
    type Bits = <K::Bits as Join<u8>>::Output;
    const WIDTH: u32 = {
        assert!(K::WIDTH <= <K::Bits as Word>::BITS, "the WIDTH of an optional key exceeds its Bits");
        assert!(K::WIDTH < 128, "an optional key has at most 127 bits, and one more for None");
        K::WIDTH + 1
    };
    const IS_REBUILT: bool = K::IS_REBUILT;
    const IDENTICAL: Option<fn(Self, Self) -> bool> = if K::IS_REBUILT {
        Some(|a, b| a.is_none() == b.is_none() && a.zip(b).is_none_or(|(a, b)| is_identical(a, b)))
    } else {
        None
    };

    #[inline]
    fn to_bits(self) -> Self::Bits {
        Word::truncate(self.map_or(0, |key| push(1, K::WIDTH, key.to_bits().widen())))
    }

    #[inline]
    fn from_bits(bits: Self::Bits) -> Self {
        let (flag, bits) = pop(bits.widen(), K::WIDTH);
        (flag == 1).then(|| K::from_bits(Word::truncate(bits)))
    }

    #[inline]
    fn bits_fit(key: Self, _: Self::Bits) -> bool {
        key.is_none_or(fits)
    }
}

/// An optional key with `None` last.
///
/// `Option<K>` has `None` first, as std's order has it. In descending order, each type has `None` at the other end:
///
/// | key type | ascending sort | descending sort |
/// |---|---|---|
/// | `Option<K>` | `None` first, then from the smallest | from the largest, `None` last |
/// | `NoneLast<K>` | from the smallest, `None` last | `None` first, then from the largest |
/// | `NoneLast<Reverse<K>>` | from the largest, `None` last | `None` first, then from the smallest |
///
/// ```
/// use polysort_core::{NoneLast, Sortable};
/// let bits = |key: Option<u8>| NoneLast(key).to_bits();
/// assert!(bits(Some(0)) < bits(Some(255)) && bits(Some(255)) < bits(None));
/// ```
///
/// An optional key of 128 bits does not compile:
/// ```compile_fail
/// use polysort_core::{NoneLast, Sortable};
/// let _ = <NoneLast<u128> as Sortable>::WIDTH; // NoneLast<u64> compiles
/// ```
/// ```compile_fail
/// use polysort_core::Sortable;
/// let _ = <Option<u128> as Sortable>::WIDTH; // Option<u64> compiles
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NoneLast<K>(pub Option<K>);

impl<K: PartialOrd> PartialOrd for NoneLast<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self.0.is_none(), &self.0).partial_cmp(&(other.0.is_none(), &other.0))
    }
}

impl<K: Ord> Ord for NoneLast<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.0.is_none(), &self.0).cmp(&(other.0.is_none(), &other.0))
    }
}

flipped! {
    /// The bits of `Option<K>`, but the bit above those of the key is 1 for `None`.
    NoneLast<K>: Option<K>, NoneLast, 1 << K::WIDTH;
}
