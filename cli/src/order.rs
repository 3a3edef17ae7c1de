//! The order of a sort: a direction and a range of bits.

use crate::dtype::Key;
use clap::{Args, ValueEnum};
use core::cmp::Ordering;
use core::ops::Bound;
use core::str::FromStr;
use polysort::{Error, Options, Order, Spec, Word};

/// [`Order`] as the command line names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Direction {
    Asc,
    Desc,
}

impl From<Direction> for Order {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Asc => Order::Ascending,
            Direction::Desc => Order::Descending,
        }
    }
}

#[derive(Args)]
pub(crate) struct OrderArgs {
    /// Descending order: the largest key comes first. Equal keys keep their input order in both directions.
    #[arg(long)]
    descending: bool,
    #[command(flatten)]
    bits: BitsArgs,
}

impl OrderArgs {
    pub(crate) fn options(&self) -> Options {
        self.bits.options(if self.descending { Order::Descending } else { Order::Ascending })
    }
}

#[derive(Args)]
pub(crate) struct BitsArgs {
    /// Compare only the bits A to B - 1 of the ordered bits of each key, such as 8..16, 8.. or ..16. The ordered bits are the unsigned integer that has
    /// the same order as the key. Bit 0 is the least significant.
    #[arg(long, value_name = "A..B")]
    bits: Option<Bits>,
}

impl BitsArgs {
    /// Returns the library's options for `order` and these bits.
    pub(crate) fn options(&self, order: Order) -> Options {
        match self.bits {
            None => Options::ordered(order),
            Some(Bits { begin, end }) => {
                Options::ordered(order).bits((Bound::Included(begin), end.map_or(Bound::Unbounded, Bound::Excluded)))
            }
        }
    }
}

/// A range of bits as the command line writes it: `8..16`, `8..`, `..16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bits {
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

/// The order that [`Options`] describe, computed by comparing keys. It uses none of the library's sorts, so it can check them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranking {
    order: Order,
    /// The first bit and the number of bits, if only some bits are compared.
    window: Option<(u32, u32)>,
}

impl Ranking {
    /// Returns the order of keys `K` for `options`.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] if the key does not have these bits.
    pub(crate) fn new<K: Key>(options: Options) -> Result<Self, Error> {
        let spec = Spec::of::<K>(options)?;
        Ok(Self { order: options.order, window: options.window.map(|_| (spec.begin, spec.width())) })
    }

    /// Compares two keys. `Less` means that `a` comes first.
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
