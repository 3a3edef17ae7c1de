//! Keys: the open trait [`Sortable`], and [`MaskKey`] for keys whose memory is a word.

use crate::masks::low_bits;
use crate::{Masks, Word};
use bytemuck::Pod;
use core::fmt;

/// A key, which a sort maps to unsigned bits and rebuilds from them: what the bits omit may be lost.
///
/// # What an implementor guarantees
/// * `to_bits` is a function: equal keys give equal bits, in each call.
/// * `to_bits` keeps the order: `a < b` exactly if `a.to_bits() < b.to_bits()`.
/// * The bits fit in the low [`WIDTH`](Sortable::WIDTH) bits of the word.
/// * `from_bits` is a function, and `from_bits(key.to_bits())` is `key`, with nothing of it lost.
///
/// The trait is safe to implement: a wrong impl never causes undefined behavior. [`laws::check`](https://docs.rs/polysort/latest/polysort/laws/fn.check.html) of the
/// crate `polysort` tests an impl on samples.
///
/// # What a sort checks
/// A sort that moves keys by their bits checks every key before it changes anything:
///
/// * The bits fit in `WIDTH`. A tuple checks each of its keys.
/// * `from_bits(key.to_bits())` is the same as `key`. This table says what "the same" means:
///
/// | the key type | check of each key |
/// |---|---|
/// | gives [`IDENTICAL`](Sortable::IDENTICAL) | that function says that both are identical |
/// | gives none, and is larger than its `Bits` | none: the sort moves the keys themselves by a permutation and does not call `from_bits` |
/// | gives none, and is not larger than its `Bits` | both have the same bits |
///
/// A key that fails a check is an [`Error::InvalidKey`](crate::Error::InvalidKey); a panic in the key's own code is passed on. In both cases the
/// caller's slices stay as they were. So a sort can lose a part of a key in one case only: the type is not larger than its `Bits`, gives no
/// `IDENTICAL`, and its `to_bits` leaves that part out. An order of the keys that differs from the order of their bits is not detected by a
/// sort, but by `laws::check`.
///
/// Operations that return indices (`argsort`, `top_k`, `sort_by_key`) call `to_bits` alone and check the width alone.
///
/// With the feature `derive`, `#[derive(Sortable)]` writes the impl for a struct whose fields are keys, and for an enum without fields.
///
/// # Example
/// ```
/// use polysort::laws;
/// use polysort_core::Sortable;
///
/// /// A date whose bits, joined from the most significant field down, are in calendar order.
/// #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
/// struct Date { year: u16, month: u8, day: u8 }
///
/// impl Sortable for Date {
///     type Bits = u32;
///     const WIDTH: u32 = 16 + 4 + 5;
///     const IDENTICAL: Option<fn(Self, Self) -> bool> = Some(|a, b| a == b);
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
///
/// A key whose `WIDTH` exceeds its word cannot be sorted:
/// ```compile_fail
/// use polysort_core::{Options, Sortable, Spec};
/// #[derive(Clone, Copy)]
/// struct Wide(u8);
/// impl Sortable for Wide {
///     type Bits = u8;
///     const WIDTH: u32 = 9; // 8 compiles
///     fn to_bits(self) -> u8 { self.0 }
///     fn from_bits(bits: u8) -> Self { Wide(bits) }
/// }
/// let _ = Spec::of::<Wide>(Options::ascending());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no sort key",
    label = "does not implement `Sortable`",
    note = "a type of your own is a key if it implements `Sortable`, by two functions or by `#[derive(Sortable)]`"
)]
pub trait Sortable: Copy {
    /// The word that holds the ordered bits.
    type Bits: Word;

    /// The number of low bits of the word in which keys can differ: 1 for `bool`, 21 for `char`. At most the bits of the word: a sort by a
    /// larger width does not compile.
    const WIDTH: u32 = <Self::Bits as Word>::BITS;

    /// Whether two keys are the same in every part, so that one can take the place of the other: `Some(|a, b| a == b)` for most types.
    ///
    /// A sort compares each key with what `from_bits` makes of its bits, and returns an error instead of losing a part of the key.
    /// Without this function, a type that is larger than its `Bits` is sorted by a permutation, which takes more memory and time.
    const IDENTICAL: Option<fn(Self, Self) -> bool> = None;

    /// The view of a slice of keys as a slice of words: `Some(InPlace::of())` for a [`MaskKey`]. Without it, a sort maps keys to a buffer
    /// of words and back.
    const IN_PLACE: Option<InPlace<Self>> = None;

    /// Returns bits whose unsigned order is the order of the keys.
    fn to_bits(self) -> Self::Bits;

    /// Returns the key that has these bits, which [`to_bits`](Sortable::to_bits) returned. For other bits it may panic or return any key.
    fn from_bits(bits: Self::Bits) -> Self;

    /// Whether sorts rebuild keys of this type from their bits. If not, they move the keys by a permutation. A tuple is rebuilt if all of
    /// its keys are.
    #[doc(hidden)]
    const IS_REBUILT: bool = Self::IDENTICAL.is_some() || size_of::<Self>() <= size_of::<Self::Bits>();

    /// Whether `bits`, which `to_bits` returned for the key, fit in `WIDTH`. A tuple asks each of its keys.
    #[doc(hidden)]
    #[inline]
    fn bits_fit(_key: Self, bits: Self::Bits) -> bool {
        bits <= Self::Bits::truncate(low_bits(Self::WIDTH))
    }
}

/// Whether `key` can take the place of `other`: by [`Sortable::IDENTICAL`], or else by the bits of both.
#[inline]
pub(crate) fn is_identical<K: Sortable>(key: K, other: K) -> bool {
    match K::IDENTICAL {
        Some(identical) => identical(key, other),
        None => key.to_bits() == other.to_bits(),
    }
}

/// A [`Sortable`] whose memory is its word and whose order is given by two [`Masks`]: all primitive numbers.
///
/// Host and device take the order of a `MaskKey` from [`MASKS`](MaskKey::MASKS). Only these keys can lie in buffers of a GPU.
///
/// # What an implementor guarantees
/// * The type has the size and the alignment of `Bits`, and `WIDTH` is all of its bits. Otherwise sorts do not compile.
/// * `to_bits` returns [`Masks::apply`] of the raw bits, and `from_bits` returns its inverse.
///
/// [`IN_PLACE`](Sortable::IN_PLACE) should be `Some(InPlace::of())`: without it the sorted order is the same, but a sort of a host slice copies the
/// keys. [`laws::check_masks`](https://docs.rs/polysort/latest/polysort/laws/fn.check_masks.html) of the crate `polysort` tests an impl.
///
/// # Example
/// ```
/// use polysort::laws;
/// use polysort_core::{InPlace, MaskKey, Masks, Sortable};
///
/// /// A depth in meters, sorted like its `f32`.
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
///
/// laws::check_masks::<Depth>([0, 1, 0x7fc0_0000, 0x8000_0000, u32::MAX]).unwrap();
/// ```
///
/// A key that is larger than its word cannot lie in a buffer of a device:
/// ```compile_fail
/// use polysort_core::{MaskKey, Masks, Options, Sortable, Spec};
/// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
/// #[repr(transparent)]
/// struct Large([u16; 2]); // [u16; 1] compiles
/// impl Sortable for Large {
///     type Bits = u16;
///     fn to_bits(self) -> u16 { self.0[0] }
///     fn from_bits(_: u16) -> Self { unreachable!() }
/// }
/// impl MaskKey for Large {
///     const MASKS: Masks = Masks::UNSIGNED;
/// }
/// let _ = Spec::of_masks::<Large>(Options::ascending());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no `MaskKey`",
    label = "is not a number in memory",
    note = "a GPU's buffer takes keys that are numbers, or types of your own that implement `MaskKey`; slices of every `Sortable` key can be sorted"
)]
pub trait MaskKey: Sortable + Pod {
    /// The masks of ascending order.
    const MASKS: Masks;
}

/// Fails to compile unless the memory of a [`MaskKey`] is its word.
pub(crate) const fn assert_is_its_word<K: MaskKey>() {
    const {
        assert!(size_of::<K>() == size_of::<K::Bits>(), "a MaskKey has the size of its Bits");
        assert!(align_of::<K>() == align_of::<K::Bits>(), "a MaskKey has the alignment of its Bits");
        assert!(K::WIDTH == <K::Bits as Word>::BITS, "a MaskKey uses its whole word");
    }
}

/// The view of a slice of keys as a slice of raw words: made by [`InPlace::of`], used by [`Sort`](crate::Sort).
pub struct InPlace<K: Sortable> {
    pub(crate) masks: Masks,
    words: fn(&[K]) -> &[K::Bits],
    words_mut: fn(&mut [K]) -> &mut [K::Bits],
}

impl<K: MaskKey> InPlace<K> {
    /// Returns the conversion by which slices of a [`MaskKey`] are read and written as slices of its word. A call does not compile if the key and
    /// its word differ in size or alignment, or if the `WIDTH` of the key is not that of its word.
    pub const fn of() -> Self {
        assert_is_its_word::<K>();
        Self { masks: K::MASKS, words: bytemuck::cast_slice, words_mut: bytemuck::cast_slice_mut }
    }
}

impl<K: Sortable> InPlace<K> {
    /// The keys as raw words.
    pub fn words<'a>(&self, keys: &'a [K]) -> &'a [K::Bits] {
        (self.words)(keys)
    }

    /// The keys as raw words to be sorted.
    pub fn words_mut<'a>(&self, keys: &'a mut [K]) -> &'a mut [K::Bits] {
        (self.words_mut)(keys)
    }
}

impl<K: Sortable> fmt::Debug for InPlace<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InPlace").field("masks", &self.masks).finish_non_exhaustive()
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
