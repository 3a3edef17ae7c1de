//! Keys as the words that a backend sorts.

use crate::masks::low_bits;
use crate::{Error, Sortable, Word};
use bytemuck::Pod;
use std::borrow::Cow;

/// The words of keys while they are sorted: the keys' own memory if they allow it, else their ordered bits, which go back when all
/// is well.
#[doc(hidden)]
pub enum Words<'a, K: Sortable> {
    /// The keys themselves.
    InPlace(&'a mut [K::Bits]),
    /// The keys, and their ordered bits.
    Mapped(&'a mut [K], Vec<K::Bits>),
}

impl<'a, K: Sortable> Words<'a, K> {
    /// The words of `keys`.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for bits wider than the key says.
    pub fn of(keys: &'a mut [K]) -> Result<Self, Error> {
        match K::IN_PLACE {
            Some(view) => Ok(Self::InPlace((view.words_mut)(keys))),
            None => map(keys).map(|words| Self::Mapped(keys, words)),
        }
    }

    /// What is to be sorted.
    pub fn get(&mut self) -> &mut [K::Bits] {
        match self {
            Self::InPlace(words) => words,
            Self::Mapped(_, words) => words,
        }
    }

    /// Puts the keys in the order of the sorted words.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for a key that cannot be made from its bits again; no key is changed then.
    pub fn finish(self) -> Result<(), Error> {
        if let Self::Mapped(keys, words) = self {
            keys.copy_from_slice(&unmap(&words)?);
        }
        Ok(())
    }
}

/// The words of keys, and the values that move along: the caller's own, or copies, where a key that cannot be mapped back must not
/// leave moved values behind.
#[doc(hidden)]
pub struct Pairs<'a, K: Sortable, V> {
    words: Words<'a, K>,
    values: &'a mut [V],
    moved: Option<Vec<V>>,
}

impl<'a, K: Sortable, V: Pod> Pairs<'a, K, V> {
    /// The words of `keys`, and `values`, of which there are as many.
    ///
    /// # Errors
    /// As [`Words::of`].
    pub fn of(keys: &'a mut [K], values: &'a mut [V]) -> Result<Self, Error> {
        let words = Words::of(keys)?;
        let moved = match words {
            Words::InPlace(_) => None,
            Words::Mapped(..) => Some(values.to_vec()),
        };
        Ok(Self { words, values, moved })
    }

    /// What is to be sorted, and what moves along.
    pub fn get(&mut self) -> (&mut [K::Bits], &mut [V]) {
        (self.words.get(), self.moved.as_deref_mut().unwrap_or(self.values))
    }

    /// Puts keys and values in the order of the sorted words.
    ///
    /// # Errors
    /// As [`Words::finish`]; no value is changed then either.
    pub fn finish(self) -> Result<(), Error> {
        self.words.finish()?;
        if let Some(moved) = self.moved {
            self.values.copy_from_slice(&moved);
        }
        Ok(())
    }
}

/// The words of keys that stay as they are.
///
/// # Errors
/// [`Error::InvalidKey`] for bits wider than the key says.
#[doc(hidden)]
pub fn shared_words<K: Sortable>(keys: &[K]) -> Result<Cow<'_, [K::Bits]>, Error> {
    match K::IN_PLACE {
        Some(view) => Ok(Cow::Borrowed((view.words)(keys))),
        None => map(keys).map(Cow::Owned),
    }
}

/// The ordered bits of each key. `to_bits` runs once a key, here, before any sorting code sees the bits.
fn map<K: Sortable>(keys: &[K]) -> Result<Vec<K::Bits>, Error> {
    let widest = K::Bits::truncate(low_bits(K::WIDTH));
    let words: Vec<K::Bits> = keys.iter().map(|&key| key.to_bits()).collect();
    match words.iter().position(|&bits| bits > widest) {
        None => Ok(words),
        Some(index) => Err(invalid_key::<K>(index, words[index], format!("wider than the {} bits of its type", K::WIDTH))),
    }
}

/// The keys of sorted bits, each checked to be the one that the bits came from.
fn unmap<K: Sortable>(words: &[K::Bits]) -> Result<Vec<K>, Error> {
    let keys: Vec<K> = words.iter().map(|&bits| K::from_bits(bits)).collect();
    match keys.iter().zip(words).position(|(key, &bits)| key.to_bits() != bits) {
        None => Ok(keys),
        Some(index) => {
            let back = keys[index].to_bits();
            Err(invalid_key::<K>(index, words[index], format!("from_bits makes a key of them that has the bits {back:#x}")))
        }
    }
}

fn invalid_key<K: Sortable>(index: usize, bits: K::Bits, why: String) -> Error {
    Error::InvalidKey { index, bits: bits.widen(), why }
}
