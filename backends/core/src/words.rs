//! The words of keys while they are sorted, and the checks that make sure that no key is lost on the way.
//!
//! ```text
//! keys whose memory is a word     their own memory                                        sorted in place
//! keys that sorts rebuild         to_bits ▶ checks ▶ words ▶ sort ▶ from_bits ▶ keys      every key is checked before the sort
//! other keys                      to_bits ▶ checks ▶ words ▶ argsort ▶ a gather of keys   from_bits is not called
//! ```

use crate::masks::low_bits;
use crate::{Error, Sortable, ValuesMut, Word, memory};
use std::borrow::Cow;

/// Keys that are mapped and checked in one go: their words stay in the L1 cache from step to step.
const CHUNK: usize = 1024;

/// The words of keys that are sorted by their bits.
#[derive(Debug)]
pub(crate) enum Words<'a, K: Sortable> {
    /// The keys' own memory.
    InPlace(&'a mut [K::Bits]),
    /// The keys, and their ordered bits, from which they are rebuilt after the sort.
    Mapped(&'a mut [K], Vec<K::Bits>),
}

impl<'a, K: Sortable> Words<'a, K> {
    /// The words of `keys`.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for the first key that its bits would not give back. The type is rebuilt from its bits ([`Sortable::IS_REBUILT`]): the
    /// caller moves keys of other types by a permutation.
    pub(crate) fn of(keys: &'a mut [K]) -> Result<Self, Error> {
        match K::IN_PLACE {
            Some(view) => Ok(Self::InPlace(view.words_mut(keys))),
            None => checked_words(keys).map(|words| Self::Mapped(keys, words)),
        }
    }

    /// The words, to be sorted.
    pub(crate) fn get(&mut self) -> &mut [K::Bits] {
        match self {
            Self::InPlace(words) => words,
            Self::Mapped(_, words) => words,
        }
    }

    /// Puts the keys in the order of the sorted words. An error, or a panic in `from_bits`, leaves the keys as they were.
    ///
    /// # Errors
    /// As [`rebuilt`].
    pub(crate) fn finish(self) -> Result<(), Error> {
        if let Self::Mapped(keys, words) = self {
            keys.copy_from_slice(&rebuilt(&words)?);
        }
        Ok(())
    }
}

/// The words of keys, and the values that move with them: the caller's own values, or copies, so that a panic in `from_bits` does not leave moved
/// values behind.
#[derive(Debug)]
pub(crate) struct Pairs<'a, K: Sortable> {
    words: Words<'a, K>,
    values: ValuesMut<'a>,
    moved: Option<Vec<u8>>,
}

impl<'a, K: Sortable> Pairs<'a, K> {
    /// The words of `keys`, and `values`, which has the same length.
    ///
    /// # Errors
    /// As [`Words::of`].
    pub(crate) fn of(keys: &'a mut [K], mut values: ValuesMut<'a>) -> Result<Self, Error> {
        let words = Words::of(keys)?;
        let moved = match words {
            Words::InPlace(_) => None,
            Words::Mapped(..) => Some(memory::collected(values.bytes_mut().iter().copied())?),
        };
        Ok(Self { words, values, moved })
    }

    /// The words, to be sorted, and the values, to be moved with them.
    pub(crate) fn get(&mut self) -> (&mut [K::Bits], ValuesMut<'_>) {
        let values = match &mut self.moved {
            Some(moved) => self.values.over(moved),
            None => self.values.by_ref(),
        };
        (self.words.get(), values)
    }

    /// Puts keys and values in the order of the sorted words. An error, or a panic in `from_bits`, leaves both as they were.
    ///
    /// # Errors
    /// As [`rebuilt`].
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        self.words.finish()?;
        if let Some(moved) = self.moved {
            self.values.bytes_mut().copy_from_slice(&moved);
        }
        Ok(())
    }
}

/// The words of keys that stay as they are: raw words in place for keys with [`Sortable::IN_PLACE`], else ordered bits.
/// [`Spec::of`](crate::Spec::of) gives their order.
///
/// # Errors
/// [`Error::InvalidKey`] for bits beyond the `WIDTH` of the key, or of a key inside a tuple.
pub fn shared_words<K: Sortable>(keys: &[K]) -> Result<Cow<'_, [K::Bits]>, Error> {
    match K::IN_PLACE {
        Some(view) => Ok(Cow::Borrowed(view.words(keys))),
        None => mapped(keys, |_, _| true).map(Cow::Owned),
    }
}

/// The ordered bits of keys that can all be rebuilt from them.
pub(crate) fn checked_words<K: Sortable>(keys: &[K]) -> Result<Vec<K::Bits>, Error> {
    debug_assert!(K::IS_REBUILT, "the bits of {} do not hold its keys", core::any::type_name::<K>());
    mapped(keys, is_restored)
}

/// The keys of sorted bits.
///
/// # Errors
/// [`Error::OutOfMemory`] if the system refuses the memory.
pub(crate) fn rebuilt<K: Sortable>(words: &[K::Bits]) -> Result<Vec<K>, Error> {
    memory::collected(words.iter().map(|&bits| K::from_bits(bits)))
}

/// The ordered bits of each key, if all of them fit in `WIDTH` and all keys pass `check`. `to_bits` runs once for each key, and once more for
/// each key inside a tuple. `from_bits` gets no bits beyond `WIDTH`.
fn mapped<K: Sortable>(keys: &[K], check: impl Fn(K, K::Bits) -> bool) -> Result<Vec<K::Bits>, Error> {
    let mut words = memory::with_room(keys.len())?;
    for chunk in keys.chunks(CHUNK) {
        let start = words.len();
        words.extend(chunk.iter().map(|&key| key.to_bits()));
        let bits = &words[start..];
        if let Some(at) = first_failure(chunk, bits, K::bits_fit) {
            let why = if bits[at] > K::Bits::truncate(low_bits(K::WIDTH)) {
                format!("wider than the {} bits of its type", K::WIDTH)
            } else {
                "a key inside this one has bits beyond its own WIDTH".into()
            };
            return Err(Error::InvalidKey { index: start + at, bits: bits[at].widen(), why });
        }
        if let Some(at) = first_failure(chunk, bits, &check) {
            let why = "from_bits does not give the key back".into();
            return Err(Error::InvalidKey { index: start + at, bits: bits[at].widen(), why });
        }
    }
    Ok(words)
}

/// The index of the first key that fails a check.
fn first_failure<K: Sortable>(keys: &[K], words: &[K::Bits], check: impl Fn(K, K::Bits) -> bool) -> Option<usize> {
    let pairs = || keys.iter().copied().zip(words.iter().copied());
    // Every key is checked, without an exit in between: for most types this loop is vector code.
    let all_pass = pairs().fold(true, |all_pass, (key, bits)| all_pass & check(key, bits));
    // A key whose functions return something else in each call may pass now; the chunk has failed all the same.
    (!all_pass).then(|| pairs().position(|(key, bits)| !check(key, bits)).unwrap_or(0))
}

/// Whether `from_bits` gives the key back.
#[inline]
fn is_restored<K: Sortable>(key: K, bits: K::Bits) -> bool {
    let restored = K::from_bits(bits);
    match K::IDENTICAL {
        Some(identical) => identical(restored, key),
        None => restored.to_bits() == bits,
    }
}
