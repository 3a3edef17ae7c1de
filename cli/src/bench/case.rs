//! A case: one combination of operation, key type, payload, pattern, direction and length, which is measured.

use super::pattern::Pattern;
use crate::dtype::Dtype;
use crate::order::Direction;
use clap::ValueEnum;
use core::fmt::{self, Display, Formatter};
use core::str::FromStr;
use polysort::gpu;

/// The number of keys that [`Op::TopK`] selects.
pub(crate) const TOP_K: usize = 100;

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Op {
    /// keys alone
    Sort,
    /// keys, and a value for each key that is moved with it
    SortPairs,
    /// the indices that sort the keys
    Argsort,
    /// the first 100 keys of the order, and their indices
    TopK,
    /// segments of up to 2000 keys, each sorted by itself
    SortSegments,
}

/// The type of the values of [`Op::SortPairs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Payload {
    /// The operation has no values.
    #[value(skip)]
    None,
    U32,
    U64,
}

impl Payload {
    /// Returns the number of 32-bit words of a value.
    pub(crate) fn words(self) -> u32 {
        match self {
            Self::None => 0,
            Self::U32 => 1,
            Self::U64 => 2,
        }
    }
}

/// An algorithm that sorts on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Algorithm {
    /// the one that the planner chooses
    Auto,
    /// 8 bits per pass, and one read and one write of the keys per pass
    #[value(name = "onesweep")]
    OneSweep,
    /// 8 bits per pass, in three steps; no workgroup waits for another
    ReduceThenScan,
    /// counts of each key, for 8-bit and 16-bit keys without values
    Counting,
    /// 11 bits per pass, for 32-bit and 64-bit keys
    WideDigits,
    /// a partition by the most significant digit, then batches of buckets, for 32-bit and 64-bit keys
    MsdHybrid,
}

impl Algorithm {
    /// Returns the algorithm that the backend is forced to use, if any.
    pub(crate) fn forced(self) -> Option<gpu::Algorithm> {
        match self {
            Self::Auto => None,
            Self::OneSweep => Some(gpu::Algorithm::OneSweep),
            Self::ReduceThenScan => Some(gpu::Algorithm::ReduceThenScan),
            Self::Counting => Some(gpu::Algorithm::Counting),
            Self::WideDigits => Some(gpu::Algorithm::WideDigits),
            Self::MsdHybrid => Some(gpu::Algorithm::MsdHybrid),
        }
    }
}

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

/// One combination of everything that a measurement depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) op: Op,
    pub(crate) dtype: Dtype,
    pub(crate) payload: Payload,
    pub(crate) pattern: Pattern,
    pub(crate) direction: Direction,
    pub(crate) len: usize,
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

/// Returns the name of a value on the command line.
pub(crate) fn name<V: ValueEnum>(value: &V) -> String {
    value.to_possible_value().map_or_else(|| "none".into(), |value| value.get_name().to_string())
}
