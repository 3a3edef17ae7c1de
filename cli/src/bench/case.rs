//! One thing to measure: an operation on keys of a type, a pattern, an order and a length.

use super::Pattern;
use crate::args::{BenchArgs, Direction};
use crate::dtype::Dtype;
use clap::ValueEnum;
use core::fmt::{self, Display, Formatter};
use core::str::FromStr;
use polysort::gpu::Algorithm;

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Op {
    /// keys alone
    Sort,
    /// keys and values that move along
    SortPairs,
    /// the indices that sort the keys
    Argsort,
    /// the first 100 keys of the order, and their indices
    TopK,
    /// lists of up to 2000 keys, each by itself
    SortSegments,
}

/// The type of the values of [`Op::SortPairs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Payload {
    /// The value of the operations that have no values.
    #[value(skip)]
    None,
    U32,
    U64,
}

impl Payload {
    /// Words of 32 bits of a value.
    pub(crate) fn words(self) -> u32 {
        match self {
            Self::None => 0,
            Self::U32 => 1,
            Self::U64 => 2,
        }
    }
}

/// A way to sort on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Way {
    /// what suits the keys and the device
    Auto,
    /// eight bits a pass, one read and one write each
    #[value(name = "onesweep")]
    OneSweep,
    /// the same in three steps that wait for no other group
    ReduceThenScan,
    /// how many keys there are of each value, for keys of 8 and 16 bits without values
    Counting,
    /// eleven bits a pass, for keys of 32 and 64 bits
    WideDigits,
    /// a partition by the highest digit, then buckets in batches, for keys of 32 and 64 bits
    MsdHybrid,
}

impl Way {
    /// What the backend is told.
    pub(crate) fn algorithm(self) -> Option<Algorithm> {
        match self {
            Self::Auto => None,
            Self::OneSweep => Some(Algorithm::OneSweep),
            Self::ReduceThenScan => Some(Algorithm::ReduceThenScan),
            Self::Counting => Some(Algorithm::Counting),
            Self::WideDigits => Some(Algorithm::WideDigits),
            Self::MsdHybrid => Some(Algorithm::MsdHybrid),
        }
    }
}

/// Numbers of keys, where none are given.
const DEFAULT_SIZES: [usize; 2] = [1 << 10, 1 << 20];

/// A number of keys: `1000`, `1_000` or `2^20`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) usize);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || match text.split_once('^') {
            None => text.replace('_', "").parse().ok(),
            Some((base, power)) => base.parse::<usize>().ok()?.checked_pow(power.parse().ok()?),
        };
        parse().filter(|&size| size > 0).map(Self).ok_or_else(|| "give a number of keys such as 1000 or 2^20".into())
    }
}

/// One combination of all that a measurement depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) op: Op,
    pub(crate) dtype: Dtype,
    pub(crate) payload: Payload,
    pub(crate) pattern: Pattern,
    pub(crate) direction: Direction,
    pub(crate) len: usize,
}

impl Case {
    /// The product of all that the arguments list; payloads count for [`Op::SortPairs`] alone.
    pub(crate) fn all(args: &BenchArgs) -> Vec<Self> {
        let mut cases = vec![];
        for &op in &args.ops {
            let payloads = if op == Op::SortPairs { &args.payloads[..] } else { &[Payload::None] };
            for &dtype in &args.keys {
                for &payload in payloads {
                    for &pattern in &args.patterns {
                        for &direction in &args.orders {
                            cases.extend(args.sizes_or(&DEFAULT_SIZES).into_iter().map(|len| Self {
                                op,
                                dtype,
                                payload,
                                pattern,
                                direction,
                                len,
                            }));
                        }
                    }
                }
            }
        }
        cases
    }
}

impl Display for Case {
    /// `sort_pairs f32+u32 uniform asc 2^20`
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { op, dtype, payload, pattern, direction, len } = self;
        let payload = if *payload == Payload::None { String::new() } else { format!("+{}", name(payload)) };
        let len = if len.is_power_of_two() { format!("2^{}", len.ilog2()) } else { len.to_string() };
        write!(f, "{} {}{payload} {} {} {len}", name(op), dtype.name(), name(pattern), name(direction))
    }
}

/// What the command line calls a value.
pub(crate) fn name<V: ValueEnum>(value: &V) -> String {
    value.to_possible_value().map_or_else(|| "none".into(), |value| value.get_name().to_string())
}
