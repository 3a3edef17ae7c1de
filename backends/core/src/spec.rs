//! What a caller may ask for ([`Options`]) and what a backend is told ([`Spec`]).

use crate::{Error, Masks, Sortable, Word};
use core::ops::{Bound, RangeBounds};

/// The direction of a sort. Both are stable: equal keys keep their input order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Smallest key first.
    #[default]
    Ascending,
    /// Largest key first.
    Descending,
}

/// Options of a sort: its direction and the bits of the key that it looks at. The default is ascending, all bits.
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
    /// First bit (0 is the least significant of the ordered bits) and end of the bits to sort by; `None` is all of them.
    pub window: Option<(u32, u32)>,
}

impl Options {
    /// Ascending, all bits.
    pub const fn ascending() -> Self {
        Self { order: Order::Ascending, window: None }
    }

    /// Descending, all bits.
    pub const fn descending() -> Self {
        Self { order: Order::Descending, window: None }
    }

    /// In the given direction, all bits.
    pub const fn ordered(order: Order) -> Self {
        Self { order, window: None }
    }

    /// Sorts by a range of the key's [ordered bits](Sortable::to_bits) only: keys that agree in the range are equal and keep
    /// their input order. A range that starts after its end or passes the key's width is refused by the sort; an
    /// empty one makes all keys equal.
    #[must_use]
    pub fn bits(mut self, range: impl RangeBounds<u32>) -> Self {
        let begin = match range.start_bound() {
            Bound::Included(&begin) => begin,
            Bound::Excluded(&before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&last) => last.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => TO_THE_TOP,
        };
        self.window = Some((begin, end));
        self
    }
}

/// The end of a window that was given without one.
const TO_THE_TOP: u32 = u32::MAX;

/// What a backend is told of a sort: how raw words map to ordered bits, and which of these to sort by.
///
/// The order asked for is stable ascending in `masks.apply(word) >> begin & ones(end - begin)`; a descending sort
/// arrives as complemented masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Spec {
    /// The map from raw to ordered bits.
    pub masks: Masks,
    /// The first bit of the window; 0 is the least significant.
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

    /// Plain unsigned ascending order over all bits of `W`.
    pub fn unsigned<W: Word>() -> Self {
        Self { masks: Masks::UNSIGNED, begin: 0, end: W::BITS }
    }

    /// The spec of keys `K` that are sorted in place of their raw bits if they can be, else mapped by [`Sortable::to_bits`] first.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] if the window passes the key's width or starts after its end.
    pub fn of<K: Sortable>(options: Options) -> Result<Self, Error> {
        let (begin, end) = match options.window {
            None => (0, K::WIDTH),
            Some((begin, TO_THE_TOP)) => (begin, K::WIDTH),
            Some(window) => window,
        };
        if begin > end || end > K::WIDTH {
            return Err(Error::InvalidRange { begin, end, width: K::WIDTH });
        }
        let ascending = K::IN_PLACE.map_or(Masks::UNSIGNED, |view| view.masks);
        let masks = match options.order {
            Order::Ascending => ascending,
            Order::Descending => ascending.reversed(K::WIDTH),
        };
        Ok(Self { masks, begin, end })
    }

    /// Whether a backend can rely on this spec for words of `W`.
    ///
    /// # Errors
    /// As [`Spec::new`].
    pub fn check<W: Word>(&self) -> Result<(), Error> {
        if self.begin > self.end || self.end > W::BITS {
            return Err(Error::InvalidRange { begin: self.begin, end: self.end, width: W::BITS });
        }
        if !self.masks.is_bijective::<W>() {
            return Err(Error::Unsupported { what: format!("masks {:x?} are no bijection on {} bits", self.masks, W::BITS) });
        }
        Ok(())
    }

    /// As [`check`](Spec::check), for `keys` keys with `values` values.
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

    /// The value that a raw word is sorted by: its ordered bits in the window, moved down to bit 0.
    #[inline]
    pub fn rank<W: Word>(&self, raw: W) -> W {
        if self.width() == 0 {
            return W::zero();
        }
        let above = (W::BITS - self.end) as usize;
        (self.masks.apply(raw) << above) >> (above + self.begin as usize)
    }
}
