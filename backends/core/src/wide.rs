//! Keys of any number of bits, [`WideKey`], and their order on any backend.
//!
//! A backend sorts words of at most 128 bits. A wide key is a row of words of 64 bits, the first one most significant. The rows are sorted word by
//! word:
//!
//! ```text
//! order = argsort of the first word of all rows
//! for each further word, while neighbors are equal by all words so far:
//!     rows = the groups of equal neighbors; each group is a segment
//!     order of these rows = argsort_segments of the word
//! ```
//!
//! So a row is sorted by as many words as it takes to tell it from its neighbors: by one word, for most keys that are spread evenly. All sorting is
//! done by two operations that every backend has.

use crate::flow::Call;
use crate::parts::{fits, push};
use crate::{Backend, Error, Options, Segments, Sortable, Window, Word, permutation};
use core::ops::Range;
use core::{iter, slice};

/// A key of any number of bits: what [`Sort::sort_wide`](crate::Sort::sort_wide) and [`Sort::argsort_wide`](crate::Sort::argsort_wide) take.
///
/// | key type | order |
/// |---|---|
/// | every [`Sortable`] key, of at most 128 bits | its own |
/// | `[K; N]` of wide keys: `[u8; 32]`, `[u64; 4]`, `[f32; 3]` | lexicographic, by the first key first |
/// | [`Wide`] of a tuple of two to six wide keys | lexicographic |
/// | your own | implement the trait: a number of bits, and a function that returns 64 of them; test it with [`laws::check_wide`](https://docs.rs/polysort/latest/polysort/laws/fn.check_wide.html) of `polysort` |
///
/// # What an implementor guarantees
/// * `bits_from` is a function: equal keys give equal bits, in each call.
/// * The bits `0..TOTAL_BITS` of two keys, compared from bit 0 on, are in the order of the keys. Bit 0 is the most significant one.
/// * Bits from `TOTAL_BITS` on are 0.
///
/// The trait is safe to implement. A sort moves wide keys whole, so the bits need not hold all of the key.
pub trait WideKey: Copy {
    /// The number of bits in which keys can differ.
    const TOTAL_BITS: u32;

    /// Returns the 64 bits of the key from bit `first` on: bit `first` is the top bit of the result.
    fn bits_from(self, first: u32) -> u64;

    /// Whether the bits of all keys inside this one fit in their widths.
    #[doc(hidden)]
    fn parts_fit(self) -> bool {
        true
    }
}

impl<K: Sortable> WideKey for K {
    const TOTAL_BITS: u32 = <K as Sortable>::WIDTH;

    #[inline]
    fn bits_from(self, first: u32) -> u64 {
        const { assert!(<K as Sortable>::WIDTH <= <K::Bits as Word>::BITS, "the WIDTH of a key exceeds its Bits") }
        let top = self.to_bits().widen().checked_shl(u128::BITS - <K as Sortable>::WIDTH).unwrap_or(0);
        (top.checked_shl(first).unwrap_or(0) >> 64) as u64
    }

    #[inline]
    fn parts_fit(self) -> bool {
        fits(self)
    }
}

impl<K: WideKey, const N: usize> WideKey for [K; N] {
    const TOTAL_BITS: u32 = {
        assert!(K::TOTAL_BITS as u64 * N as u64 <= u32::MAX as u64, "an array key has less than 2^32 bits");
        K::TOTAL_BITS * N as u32
    };

    #[inline]
    fn bits_from(self, first: u32) -> u64 {
        // Keys of no bits have no first one.
        let skipped = first.checked_div(K::TOTAL_BITS).unwrap_or(0);
        let mut bits = Collected { bits: 0, filled: 0, first: first - skipped * K::TOTAL_BITS };
        for key in self.into_iter().skip(skipped as usize) {
            bits.push(key);
            if bits.filled >= u64::BITS || K::TOTAL_BITS == 0 {
                break;
            }
        }
        bits.bits
    }

    #[inline]
    fn parts_fit(self) -> bool {
        self.into_iter().all(WideKey::parts_fit)
    }
}

/// A tuple of wide keys as one wide key, in lexicographic order.
///
/// A tuple of at most 128 bits is a [`Sortable`] key itself and needs no wrapper.
///
/// ```
/// # use polysort_core::*;
/// # fn demo<B: Backend>(backend: B) -> Result<(), Error> {
/// let mut keys = [(2_u8, *b"a long name, more than 128 bits."), (1, *b"another name, as long as it is.."), (2, [0; 32])].map(Wide);
/// backend.sort_wide(&mut keys)?;
/// assert_eq!(keys.map(|key| key.0.0), [1, 2, 2]);
/// assert_eq!(keys[1].0.1, [0; 32]);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wide<T>(pub T);

macro_rules! wide_tuples {
    ($($($key:ident $field:tt)*;)*) => {$(
        impl<$($key: WideKey),*> WideKey for Wide<($($key,)*)> {
            const TOTAL_BITS: u32 = 0 $(+ $key::TOTAL_BITS)*;

            #[inline]
            fn bits_from(self, first: u32) -> u64 {
                let mut bits = Collected { bits: 0, filled: 0, first };
                $(bits.push(self.0.$field);)*
                bits.bits
            }

            #[inline]
            fn parts_fit(self) -> bool {
                true $(& self.0.$field.parts_fit())*
            }
        }
    )*};
}
wide_tuples! {
    A 0 B 1;
    A 0 B 1 C 2;
    A 0 B 1 C 2 D 3;
    A 0 B 1 C 2 D 3 E 4;
    A 0 B 1 C 2 D 3 E 4 F 5;
}

/// 64 bits from the keys of an array or a tuple.
struct Collected {
    bits: u64,
    /// The bits that are there, from the top; 64 or more if there are all.
    filled: u32,
    /// Bits of the next keys that come before the wanted ones.
    first: u32,
}

impl Collected {
    #[inline]
    fn push<K: WideKey>(&mut self, key: K) {
        if self.first >= K::TOTAL_BITS {
            self.first -= K::TOTAL_BITS;
        } else if self.filled < u64::BITS {
            self.bits |= key.bits_from(self.first) >> self.filled;
            self.filled += K::TOTAL_BITS - self.first;
            self.first = 0;
        }
    }
}

/// A part of each key that is sorted at one time: at most 64 bits.
#[derive(Clone, Copy)]
struct Piece {
    /// The first bit, from the most significant bit of the key on.
    first: u32,
    /// The number of bits.
    len: u32,
}

impl Piece {
    /// The pieces of the bits `begin..end`, counted from the least significant bit of a key of `width` bits; the most significant piece first.
    fn all(width: u32, (begin, end): (u32, u32)) -> impl Iterator<Item = Self> {
        let (first, stop) = (width - end, width - begin);
        (first..stop).step_by(u64::BITS as usize).map(move |first| Self { first, len: (stop - first).min(u64::BITS) })
    }

    /// The bits of the piece of a key, as a number.
    #[inline]
    fn of<K: WideKey>(self, key: K) -> u64 {
        key.bits_from(self.first) >> (u64::BITS - self.len)
    }
}

impl<B: Backend> Call<'_, '_, B> {
    /// Sorts wide keys, which are moved whole.
    pub(crate) async fn sort_wide<K: WideKey>(self, keys: &mut [K]) -> Result<(), Error> {
        permutation::gather_keys(keys, &self.argsort_wide(keys).await?);
        Ok(())
    }

    /// The stable permutation that sorts wide keys.
    pub(crate) async fn argsort_wide<K: WideKey>(self, keys: &[K]) -> Result<Vec<u32>, Error> {
        let Options { window, order: direction, .. } = self.options;
        let window = window.unwrap_or(Window { begin: 0, end: None }).in_width(K::TOTAL_BITS)?;
        permutation::check_len(keys.len())?;
        if let Some(index) = keys.iter().position(|key| !key.parts_fit()) {
            let [high, low] = [0, u64::BITS].map(|first| u128::from(keys[index].bits_from(first)));
            let why = "a key inside this one has bits beyond its own WIDTH; shown are the first 128 bits".into();
            return Err(Error::InvalidKey { index, bits: push(high, u64::BITS, low), why });
        }
        let call_for = |piece: Piece| Self { options: Options::ordered(direction).bits(..piece.len), ..self };
        let mut pieces = Piece::all(K::TOTAL_BITS, window);
        let Some(piece) = pieces.next() else { return permutation::identity(keys.len()) };

        let words: Vec<u64> = keys.iter().map(|&key| piece.of(key)).collect();
        let mut order = call_for(piece).argsort(&words).await?;
        // The positions of rows that are equal so far, more than one in each group.
        let mut groups = parted(slice::from_ref(&(0..keys.len())), &permutation::gather(&words, &order));
        drop(words);
        for piece in pieces {
            if groups.is_empty() {
                break;
            }
            let positions = || groups.iter().cloned().flatten();
            let rows: Vec<u32> = positions().map(|position| order[position]).collect();
            let words: Vec<u64> = rows.iter().map(|&row| piece.of(keys[row as usize])).collect();
            let ends = groups.iter().scan(0, |end, group| {
                *end += group.len();
                Some(*end)
            });
            let offsets: Vec<usize> = iter::once(0).chain(ends).collect();
            // One group of all keys is no segment, so that a backend sorts it with all that it has.
            let segments = (groups.len() > 1).then_some(Segments::Offsets(&offsets));
            let moved = Call { segments, ..call_for(piece) }.argsort(&words).await?;
            for (position, &from) in positions().zip(&moved) {
                order[position] = rows[from as usize];
            }
            groups = parted(&groups, &permutation::gather(&words, &moved));
        }
        Ok(order)
    }
}

/// The parts of `groups` whose rows are equal in one more word. `words` has the word of each row of the groups, sorted within each group.
fn parted(groups: &[Range<usize>], mut words: &[u64]) -> Vec<Range<usize>> {
    let mut parts = vec![];
    for group in groups {
        let (own, others) = words.split_at(group.len());
        words = others;
        let mut begin = group.start;
        for equal in own.chunk_by(|one, next| one == next) {
            let end = begin + equal.len();
            if equal.len() > 1 {
                parts.push(begin..end);
            }
            begin = end;
        }
    }
    parts
}
