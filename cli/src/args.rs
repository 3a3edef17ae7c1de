//! What can be said on the command line.

use crate::backend::{AUTO, names};
use crate::bench::{Op, Pattern, Payload, Size, Way};
use crate::dtype::Dtype;
use crate::files::{Empty, Format};
use crate::order::{Bits, options};
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use polysort::{AnyBackend, Options, Order};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// One stable sort for every primitive key, on any GPU and on the CPU.
#[derive(Parser)]
#[command(version, max_term_width = 110, after_help = "Exit codes: 0 fine, 1 not sorted or a wrong answer, 2 usage or input.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Sort an array, or the rows of a table by a column; stable in both directions.
    Sort(SortArgs),
    /// Write the indices that sort an array, or the rows of a table, as u32.
    Argsort(SortArgs),
    /// Write the largest keys and their indices, or the rows that have them. NaN is larger than any number.
    Top(TopArgs),
    /// Tell whether a file is sorted; the exit code is 1 if it is not.
    Verify(VerifyArgs),
    /// List the backends, what they can take, and which of them `auto` chooses.
    Devices,
    /// Measure this machine's devices, a few seconds each, and store what `auto` then chooses by.
    Calibrate,
    /// Measure the backends side by side with std and rayon.
    Bench(BenchArgs),
    /// Sort real and generated data on every backend, check the answers, and show the speed.
    Demo(DemoArgs),
}

/// Which keys to read.
#[derive(Args)]
pub(crate) struct InputArgs {
    /// The file to read: .npy, .bin or .csv; `-` or nothing is stdin.
    pub(crate) input: Option<PathBuf>,
    /// The format of the input, where its name does not tell.
    #[arg(long)]
    pub(crate) format: Option<Format>,
    /// The type of the keys: needed for .bin, known from a .npy, else found out for .csv.
    #[arg(long)]
    pub(crate) dtype: Option<Dtype>,
    /// The key column of a .csv: a name of the header, or an index from 0.
    #[arg(long, value_name = "NAME|INDEX")]
    pub(crate) column: Option<String>,
    /// The first line of the .csv is a row, not a header.
    #[arg(long)]
    pub(crate) no_header: bool,
    /// What an empty field of a .csv's key column is; without this it is an error.
    #[arg(long)]
    pub(crate) empty: Option<Empty>,
}

#[derive(Args)]
pub(crate) struct OrderArgs {
    /// Largest key first. Equal keys keep their order in both directions.
    #[arg(long)]
    descending: bool,
    /// Look at these bits of the ordered key only, such as 8..16; bit 0 is the least significant.
    #[arg(long, value_name = "A..B")]
    bits: Option<Bits>,
}

impl OrderArgs {
    pub(crate) fn options(&self) -> Options {
        options(if self.descending { Order::Descending } else { Order::Ascending }, self.bits)
    }
}

/// Where the work is done and where the result goes.
#[derive(Args)]
pub(crate) struct RunArgs {
    /// The file to write, all of it or nothing; `-` or none is stdout. It may be the input.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The backend that sorts.
    #[arg(long, default_value = AUTO, value_parser = PossibleValuesParser::new(names()))]
    pub(crate) backend: String,
}

#[derive(Args)]
pub(crate) struct SortArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) order: OrderArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Args)]
pub(crate) struct TopArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// How many keys.
    #[arg(short)]
    pub(crate) k: usize,
    /// The smallest instead, smallest first.
    #[arg(long)]
    smallest: bool,
    /// Look at these bits of the ordered key only, such as 8..16; bit 0 is the least significant.
    #[arg(long, value_name = "A..B")]
    bits: Option<Bits>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

impl TopArgs {
    pub(crate) fn options(&self) -> Options {
        options(if self.smallest { Order::Ascending } else { Order::Descending }, self.bits)
    }
}

#[derive(Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) order: OrderArgs,
}

#[derive(Args)]
pub(crate) struct BenchArgs {
    /// Types of keys.
    #[arg(long, value_delimiter = ',', default_value = "u32,f32,u64")]
    pub(crate) keys: Vec<Dtype>,
    /// Operations.
    #[arg(long, value_delimiter = ',', default_value = "sort,sort_pairs,argsort")]
    pub(crate) ops: Vec<Op>,
    /// Types of the values that move along, in `sort_pairs` and for --sweep.
    #[arg(long, value_delimiter = ',', default_value = "u32")]
    pub(crate) payloads: Vec<Payload>,
    /// How keys are distributed and arranged.
    #[arg(long, value_delimiter = ',', default_value = "uniform")]
    pub(crate) patterns: Vec<Pattern>,
    /// Numbers of keys: 1000 or 2^20. By default 2^10,2^20; for --sweep 2^24; for --probe 62500, and twice as many up to 64 million.
    #[arg(long, value_delimiter = ',')]
    sizes: Vec<Size>,
    /// Directions.
    #[arg(long, value_delimiter = ',', default_value = "asc")]
    pub(crate) orders: Vec<Direction>,
    /// polysort's backends: all that open, if none is named.
    #[arg(long, value_delimiter = ',', value_parser = PossibleValuesParser::new(AnyBackend::NAMES))]
    pub(crate) backends: Vec<String>,
    /// Ways to sort on a GPU, each measured by itself; the planner's choice if none is named. What one cannot sort is left to the planner.
    #[arg(long = "algorithm", value_name = "ALGORITHM", value_delimiter = ',')]
    pub(crate) algorithms: Vec<Way>,
    /// Threads of polysort's CPU backend and of rayon; all cores if not given.
    #[arg(long)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Timed runs of each system on each data set.
    #[arg(long, default_value = "7")]
    pub(crate) reps: NonZeroUsize,
    /// Data sets of each case, made from different seeds.
    #[arg(long, default_value = "3")]
    pub(crate) seeds: NonZeroUsize,
    /// Also write the results as CSV; `-` writes them to stdout instead of the table.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Instead, look for the fastest shape of the passes on each GPU, for keys of up to 64 bits on the device, alone and with each payload:
    /// every shape beside the built-in one. One that is more than 2 % faster over all sizes is stored, and `auto` then sorts by it.
    #[arg(long, conflicts_with_all = OF_HOST_DATA)]
    pub(crate) sweep: bool,
    /// Instead, time each pass over u32 on the device for growing numbers of keys: tells where a GPU's cache ends, and whether a partition into
    /// buckets that fit it (msd_hybrid) can pay.
    #[arg(long, conflicts_with_all = OF_HOST_DATA, conflicts_with_all = ["sweep", "keys", "payloads"])]
    pub(crate) probe: bool,
}

/// The arguments that have no meaning for passes over a GPU's own data.
const OF_HOST_DATA: [&str; 5] = ["ops", "patterns", "orders", "algorithms", "csv"];

impl BenchArgs {
    /// The numbers of keys that were asked for, or else these.
    pub(crate) fn sizes_or(&self, default: &[usize]) -> Vec<usize> {
        if self.sizes.is_empty() { default.to_vec() } else { self.sizes.iter().map(|&Size(len)| len).collect() }
    }
}

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
pub(crate) struct DemoArgs {
    /// One million generated keys instead of sixteen.
    #[arg(long)]
    pub(crate) quick: bool,
}
