//! What a sort goes by: a direction and a range of bits.

use crate::dtype::Key;
use core::cmp::Ordering;
use core::ops::Bound;
use core::str::FromStr;
use polysort::{Error, Options, Order, Spec, Word};

/// A range of bits as it stands on the command line: `8..16`, `8..`, `..16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bits {
    begin: u32,
    end: Option<u32>,
}

impl FromStr for Bits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (begin, end) = text.split_once("..")?;
            let begin = if begin.is_empty() { 0 } else { begin.parse().ok()? };
            let end = if end.is_empty() { None } else { Some(end.parse().ok()?) };
            Some(Self { begin, end })
        };
        parse().ok_or_else(|| "give a range of bits such as 8..16, 8.. or ..16; bit 0 is the least significant".into())
    }
}

/// The library's options for a direction and, if there are any, bits.
pub(crate) fn options(order: Order, bits: Option<Bits>) -> Options {
    match bits {
        None => Options::ordered(order),
        Some(Bits { begin, end }) => {
            Options::ordered(order).bits((Bound::Included(begin), end.map_or(Bound::Unbounded, Bound::Excluded)))
        }
    }
}

/// The order that options describe, by comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranking {
    order: Order,
    /// First bit and number of bits, if not all of them count.
    window: Option<(u32, u32)>,
}

impl Ranking {
    /// The order of keys `K` for `options`.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] if the bits are not bits of the key.
    pub(crate) fn new<K: Key>(options: Options) -> Result<Self, Error> {
        let spec = Spec::of::<K>(options)?;
        Ok(Self { order: options.order, window: options.window.map(|_| (spec.begin, spec.width())) })
    }

    /// How `a` and `b` follow each other.
    pub(crate) fn compare<K: Key>(&self, a: &K, b: &K) -> Ordering {
        let ascending = match self.window {
            None => a.compare(b),
            Some((_, 0)) => Ordering::Equal,
            Some((begin, width)) => {
                let bits = |key: &K| key.to_bits().widen() >> begin & (u128::MAX >> (128 - width));
                bits(a).cmp(&bits(b))
            }
        };
        match self.order {
            Order::Ascending => ascending,
            Order::Descending => ascending.reverse(),
        }
    }
}
