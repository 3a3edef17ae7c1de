//! Keys: the open trait [`Sortable`] and its in-place refinement [`MaskKey`].

use crate::{Masks, Word};
use bytemuck::Pod;

/// A key: a value whose order is the order of some unsigned bits.
///
/// # What an implementor guarantees
/// * `to_bits` is a function: the same value gives the same bits each time.
/// * It keeps the order: `a < b` exactly if `a.to_bits() < b.to_bits()`.
/// * Its results fit in the low [`WIDTH`](Sortable::WIDTH) bits.
/// * `from_bits(k.to_bits())` is `k` again, with nothing of it lost.
///
/// The trait is safe to implement. An impl that breaks the contract gets a wrong order, an
/// [`Error::InvalidKey`](crate::Error::InvalidKey) or its own panic passed on, and the caller's slice stays as it was in the latter two
/// cases; it never causes undefined behaviour, because `to_bits` runs before any sorting code sees the bits.
/// [`laws::check`](crate::laws::check) tests an impl on samples.
///
/// # Example
/// ```
/// use polysort_core::{laws, Sortable};
///
/// /// A date whose bits, joined from the most significant field down, are in calendar order.
/// #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
/// struct Date { year: u16, month: u8, day: u8 }
///
/// impl Sortable for Date {
///     type Bits = u32;
///     const WIDTH: u32 = 16 + 4 + 5;
///
///     fn to_bits(self) -> u32 {
///         u32::from(self.year) << 9 | u32::from(self.month) << 5 | u32::from(self.day)
///     }
///
///     fn from_bits(bits: u32) -> Self {
///         Date { year: (bits >> 9) as u16, month: (bits >> 5 & 15) as u8, day: (bits & 31) as u8 }
///     }
/// }
///
/// let dates: Vec<Date> = (0..500).map(|i| Date { year: 1900 + i % 90, month: 1 + (i % 12) as u8, day: 1 + (i % 28) as u8 }).collect();
/// laws::check(&dates, Ord::cmp).unwrap();
/// ```
///
/// A tuple of more than 128 bits is no key:
/// ```compile_fail
/// use polysort_core::Sortable;
/// let _ = <(u128, bool) as Sortable>::WIDTH;
/// ```
pub trait Sortable: Copy {
    /// The word that holds the ordered bits.
    type Bits: Word;

    /// How many low bits of the word can differ between keys (at most its size): 1 for `bool`, 21 for `char`.
    const WIDTH: u32 = <Self::Bits as Word>::BITS;

    /// The in-place view of a slice, for keys whose raw memory is a word: `Some(InPlace::of())` for a [`MaskKey`].
    /// Without it keys are mapped to a buffer of words and back.
    const IN_PLACE: Option<InPlace<Self>> = None;

    /// Bits whose unsigned order is the order of the keys.
    fn to_bits(self) -> Self::Bits;

    /// The key of bits that [`to_bits`](Sortable::to_bits) gave. Other bits may panic or give any key.
    fn from_bits(bits: Self::Bits) -> Self;
}

/// A [`Sortable`] whose memory *is* its word and whose transform is two [`Masks`]: the primitives.
///
/// # What an implementor guarantees
/// * The size of the type is the size of `Bits`, and `WIDTH` is all of it.
/// * `to_bits` equals [`Masks::apply`] on the raw bits, and `from_bits` its inverse.
/// * `IN_PLACE` is `Some(InPlace::of())`.
///
/// # Example
/// ```
/// use polysort_core::{InPlace, MaskKey, Masks, Sortable};
///
/// /// A depth in metres, sorted like its `f32`.
/// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
/// #[repr(transparent)]
/// struct Depth(f32);
///
/// impl Sortable for Depth {
///     type Bits = u32;
///     const IN_PLACE: Option<InPlace<Self>> = Some(InPlace::of());
///     fn to_bits(self) -> u32 { Self::MASKS.apply(self.0.to_bits()) }
///     fn from_bits(bits: u32) -> Self { Depth(f32::from_bits(Self::MASKS.invert(bits))) }
/// }
///
/// impl MaskKey for Depth {
///     const MASKS: Masks = <f32 as MaskKey>::MASKS;
/// }
/// ```
pub trait MaskKey: Sortable + Pod {
    /// The masks of ascending order.
    const MASKS: Masks;
}

/// How a slice of keys is seen as a slice of raw words: made by [`InPlace::of`], used by [`Sort`](crate::Sort).
pub struct InPlace<K: Sortable> {
    pub(crate) masks: Masks,
    pub(crate) words: fn(&[K]) -> &[K::Bits],
    pub(crate) words_mut: fn(&mut [K]) -> &mut [K::Bits],
}

impl<K: MaskKey> InPlace<K> {
    /// The view of a [`MaskKey`]. Does not compile if the key and its word differ in size or alignment, or if the
    /// key has a `WIDTH` that is not its whole word.
    pub const fn of() -> Self {
        const {
            assert!(size_of::<K>() == size_of::<K::Bits>(), "a MaskKey has the size of its Bits");
            assert!(align_of::<K>() == align_of::<K::Bits>(), "a MaskKey has the alignment of its Bits");
            assert!(K::WIDTH == <K::Bits as Word>::BITS, "a MaskKey uses its whole word");
        }
        Self { masks: K::MASKS, words: bytemuck::cast_slice, words_mut: bytemuck::cast_slice_mut }
    }
}

macro_rules! mask_key {
    ($($key:ty: $bits:ty, $masks:expr;)*) => {$(
        impl Sortable for $key {
            type Bits = $bits;
            const IN_PLACE: Option<InPlace<Self>> = Some(InPlace::of());

            #[inline]
            fn to_bits(self) -> $bits {
                Self::MASKS.apply::<$bits>(bytemuck::cast(self))
            }

            #[inline]
            fn from_bits(bits: $bits) -> Self {
                bytemuck::cast(Self::MASKS.invert(bits))
            }
        }

        impl MaskKey for $key {
            const MASKS: Masks = $masks;
        }
    )*};
}

#[cfg(target_pointer_width = "64")]
type PointerBits = u64;
#[cfg(target_pointer_width = "32")]
type PointerBits = u32;

mask_key! {
    u8: u8, Masks::UNSIGNED;
    u16: u16, Masks::UNSIGNED;
    u32: u32, Masks::UNSIGNED;
    u64: u64, Masks::UNSIGNED;
    u128: u128, Masks::UNSIGNED;
    usize: PointerBits, Masks::UNSIGNED;
    i8: u8, Masks::signed(8);
    i16: u16, Masks::signed(16);
    i32: u32, Masks::signed(32);
    i64: u64, Masks::signed(64);
    i128: u128, Masks::signed(128);
    isize: PointerBits, Masks::signed(PointerBits::BITS);
    half::f16: u16, Masks::float(16);
    half::bf16: u16, Masks::float(16);
    f32: u32, Masks::float(32);
    f64: u64, Masks::float(64);
}
