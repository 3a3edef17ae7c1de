//! Keys that may be missing: `Option`, with `None` first, and [`NoneLast`].

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
    const WIDTH: u32 = width_with_flag::<K>();
    const IS_REBUILT: bool = K::IS_REBUILT;
    const IDENTICAL: Option<fn(Self, Self) -> bool> = if K::IS_REBUILT { Some(are_identical) } else { None };

    #[inline]
    fn to_bits(self) -> Self::Bits {
        Word::truncate(self.map_or(0, |key| with_flag(1, key)))
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
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => a.partial_cmp(b),
            (a, b) => Some(a.is_none().cmp(&b.is_none())),
        }
    }
}

impl<K: Ord> Ord for NoneLast<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => a.cmp(b),
            (a, b) => a.is_none().cmp(&b.is_none()),
        }
    }
}

/// One bit above those of the key, 1 for `None`.
impl<K> Sortable for NoneLast<K>
where
    K: Sortable<Bits: Join<u8>>,
{
    type Bits = <K::Bits as Join<u8>>::Output;
    const WIDTH: u32 = width_with_flag::<K>();
    const IS_REBUILT: bool = K::IS_REBUILT;
    const IDENTICAL: Option<fn(Self, Self) -> bool> = if K::IS_REBUILT { Some(|a, b| are_identical(a.0, b.0)) } else { None };

    #[inline]
    fn to_bits(self) -> Self::Bits {
        Word::truncate(self.0.map_or(1 << K::WIDTH, |key| with_flag(0, key)))
    }

    #[inline]
    fn from_bits(bits: Self::Bits) -> Self {
        let (flag, bits) = pop(bits.widen(), K::WIDTH);
        NoneLast((flag == 0).then(|| K::from_bits(Word::truncate(bits))))
    }

    #[inline]
    fn bits_fit(key: Self, _: Self::Bits) -> bool {
        key.0.is_none_or(fits)
    }
}

/// The width of a key and of the bit above.
const fn width_with_flag<K: Sortable>() -> u32 {
    assert!(K::WIDTH <= <K::Bits as Word>::BITS, "the WIDTH of an optional key exceeds its Bits");
    assert!(K::WIDTH < 128, "an optional key has at most 127 bits, and one more for None");
    K::WIDTH + 1
}

/// A bit above those of the key.
#[inline]
fn with_flag<K: Sortable>(flag: u128, key: K) -> u128 {
    push(flag, K::WIDTH, key.to_bits().widen())
}

fn are_identical<K: Sortable>(a: Option<K>, b: Option<K>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => is_identical(a, b),
        (a, b) => a.is_none() && b.is_none(),
    }
}
