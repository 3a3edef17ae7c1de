//! What a caller asks for ([`Options`]) and what a backend gets ([`Spec`]).

use crate::key::assert_is_its_word;
use crate::{Error, MaskKey, Masks, Sortable, Word};
use core::ops::{Bound, RangeBounds};

/// The direction of a sort. Both directions are stable: equal keys keep their input order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Smallest key first.
    #[default]
    Ascending,
    /// Largest key first.
    Descending,
}

/// A range of the bits of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// The first bit; bit 0 is the least significant.
    pub begin: u32,
    /// The bit after the last one; `None` is the width of the key.
    pub end: Option<u32>,
}

impl Window {
    /// The window of a range. A range that ends after bit `u32::MAX` ends at that bit, which no key has.
    pub fn of(range: impl RangeBounds<u32>) -> Self {
        let begin = match range.start_bound() {
            Bound::Included(&begin) => begin,
            Bound::Excluded(&before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&last) => Some(last.saturating_add(1)),
            Bound::Excluded(&end) => Some(end),
            Bound::Unbounded => None,
        };
        Self { begin, end }
    }

    /// Begin and end of the window in a key of `width` bits.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] if the window starts after its end or ends after the last bit of the key.
    #[inline]
    pub fn in_width(self, width: u32) -> Result<(u32, u32), Error> {
        let (begin, end) = (self.begin, self.end.unwrap_or(width));
        if begin > end || end > width {
            return Err(Error::InvalidRange { begin, end, width });
        }
        Ok((begin, end))
    }
}

/// Options of a sort: its direction, and the range of the key's bits that it compares, where bit 0 is the lowest. The default is ascending by all bits.
///
/// ```
/// use polysort_core::{Options, Order};
/// let low_half_descending = Options::descending().bits(0..16);
/// assert_eq!(low_half_descending.order, Order::Descending);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Options {
    /// The direction.
    pub order: Order,
    /// The bits to sort by; `None` is all of them.
    pub window: Option<Window>,
}

impl Options {
    /// Ascending by all bits.
    pub const fn ascending() -> Self {
        Self::ordered(Order::Ascending)
    }

    /// Descending by all bits.
    pub const fn descending() -> Self {
        Self::ordered(Order::Descending)
    }

    /// In the given direction by all bits.
    pub const fn ordered(order: Order) -> Self {
        Self { order, window: None }
    }

    /// Sorts by a range of the key's [ordered bits](Sortable::to_bits) only: keys with the same bits in the range are equal and keep their input
    /// order. An empty range makes all keys equal.
    ///
    /// The sort returns [`Error::InvalidRange`] for a range that starts after its end or ends after the last bit of the key.
    #[must_use]
    pub fn bits(self, range: impl RangeBounds<u32>) -> Self {
        Self { window: Some(Window::of(range)), ..self }
    }
}

/// The order that a backend sorts raw words in: how they map to ordered bits, and which of these bits count.
///
/// A backend sorts stably and ascending by `masks.apply(word) >> begin & ones(end - begin)`. A descending sort is an ascending one with
/// complemented masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Spec {
    /// The map from raw to ordered bits.
    pub masks: Masks,
    /// The first bit of the window; bit 0 is the least significant.
    pub begin: u32,
    /// The end of the window: at least `begin`, at most the word's size.
    pub end: u32,
}

impl Spec {
    /// A spec over words of `W`.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] if the window does not lie in the word; [`Error::Unsupported`] if the masks are no bijection on it.
    pub fn new<W: Word>(masks: Masks, begin: u32, end: u32) -> Result<Self, Error> {
        let spec = Self { masks, begin, end };
        spec.check::<W>()?;
        Ok(spec)
    }

    /// Plain unsigned ascending order by all bits of `W`.
    pub fn unsigned<W: Word>() -> Self {
        Self { masks: Masks::UNSIGNED, begin: 0, end: W::BITS }
    }

    /// The ascending order of keys whose memory is sorted as it is, by all of their bits: [`Spec::of_masks`] as a constant. Does not
    /// compile if the key's memory is not one number of the type [`Bits`](crate::Sortable::Bits).
    ///
    /// ```
    /// # use polysort_core::{Options, Spec};
    /// const FLOATS: Spec = Spec::ascending::<f32>();
    /// assert_eq!(FLOATS, Spec::of_masks::<f32>(Options::ascending())?);
    /// # Ok::<(), polysort_core::Error>(())
    /// ```
    pub const fn ascending<K: MaskKey>() -> Self {
        assert_is_its_word::<K>();
        Self { masks: K::MASKS, begin: 0, end: K::WIDTH }
    }

    /// The spec of the words of host keys: of their raw memory for keys with an [in-place view](Sortable::IN_PLACE), else of the bits that
    /// [`Sortable::to_bits`] returns. Does not compile if the key's `WIDTH` exceeds its word.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] if the window does not lie in the key's width.
    pub fn of<K: Sortable>(options: Options) -> Result<Self, Error> {
        const { assert!(K::WIDTH <= <K::Bits as Word>::BITS, "the WIDTH of a key exceeds its Bits") }
        Self::ordered(K::IN_PLACE.map_or(Masks::UNSIGNED, |view| view.masks), K::WIDTH, options)
    }

    /// The spec of the raw memory of keys, as in a buffer of a device: always by [`MaskKey::MASKS`]. Does not compile if the key's memory is not
    /// its word.
    ///
    /// # Errors
    /// As [`Spec::of`].
    pub fn of_masks<K: MaskKey>(options: Options) -> Result<Self, Error> {
        assert_is_its_word::<K>();
        Self::ordered(K::MASKS, K::WIDTH, options)
    }

    /// The spec of words whose ascending order has these masks and this width.
    #[inline]
    fn ordered(ascending: Masks, width: u32, options: Options) -> Result<Self, Error> {
        let (begin, end) = options.window.map_or(Ok((0, width)), |window| window.in_width(width))?;
        let masks = match options.order {
            Order::Ascending => ascending,
            Order::Descending => ascending.reversed(width),
        };
        Ok(Self { masks, begin, end })
    }

    /// Checks that a backend can rely on this spec for words of `W`.
    ///
    /// # Errors
    /// As [`Spec::new`].
    pub fn check<W: Word>(&self) -> Result<(), Error> {
        Window { begin: self.begin, end: Some(self.end) }.in_width(W::BITS)?;
        if !self.masks.is_bijective::<W>() {
            return Err(Error::Unsupported { what: format!("masks {:x?} are no bijection on {} bits", self.masks, W::BITS) });
        }
        Ok(())
    }

    /// Checks the spec as [`check`](Spec::check) does, and that there are as many values as keys.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if the numbers differ, else as [`Spec::new`].
    pub fn check_pairs<W: Word>(&self, keys: usize, values: usize) -> Result<(), Error> {
        Error::check_lengths("keys", keys, "values", values)?;
        self.check::<W>()
    }

    /// The number of bits in the window.
    #[inline]
    pub fn width(&self) -> u32 {
        self.end - self.begin
    }

    /// The number that a raw word is sorted by: its ordered bits in the window, moved down to bit 0.
    #[inline]
    pub fn rank<W: Word>(&self, raw: W) -> W {
        if self.width() == 0 {
            return W::zero();
        }
        let above = (W::BITS - self.end) as usize;
        (self.masks.apply(raw) << above) >> (above + self.begin as usize)
    }

    /// Returns whether two raw words are equal keys: they have the same ordered bits in the window.
    #[inline]
    pub fn is_same<W: Word>(&self, one: W, other: W) -> bool {
        // The masks are a bijection, so without a window no two words are equal keys.
        if self.width() == W::BITS { one == other } else { self.rank(one) == self.rank(other) }
    }
}
