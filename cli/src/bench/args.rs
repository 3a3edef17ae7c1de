//! The arguments of `bench`.

use super::case::{Algorithm, Case, Op, Payload, Size};
use super::pattern::Pattern;
use crate::dtype::Dtype;
use crate::order::Direction;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use polysort::AnyBackend;
use polysort_measure::By;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// The default of `--sizes`.
const DEFAULT_SIZES: [usize; 2] = [1 << 10, 1 << 20];

/// The arguments that --sweep and --probe do not use: they sort uniform keys that are on the device.
const OF_HOST_DATA: [&str; 6] = ["ops", "patterns", "orders", "algorithms", "csv", "report"];

/// The arguments of measurements, which --records does not make.
const OF_MEASUREMENTS: [&str; 12] =
    ["keys", "ops", "payloads", "patterns", "sizes", "orders", "backends", "adapter", "algorithms", "threads", "reps", "seeds"];

/// Which of a system's times a figure shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Statistic {
    /// half of the runs took at most this time
    Median,
    /// the shortest time, where other programs disturb the machine
    Min,
}

impl Statistic {
    /// Returns the times of a record's rows that figures show.
    pub(crate) fn by(self) -> By {
        match self {
            Self::Median => By::Median,
            Self::Min => By::Least,
        }
    }
}

#[derive(Args)]
pub(crate) struct BenchArgs {
    /// The types of keys.
    #[arg(long, value_delimiter = ',', default_value = "u32,f32,u64")]
    pub(crate) keys: Vec<Dtype>,
    /// The operations.
    #[arg(long, value_delimiter = ',', default_value = "sort,sort_pairs,argsort")]
    ops: Vec<Op>,
    /// The types of the values that are moved with their keys, in `sort_pairs` and for --sweep.
    #[arg(long, value_delimiter = ',', default_value = "u32")]
    pub(crate) payloads: Vec<Payload>,
    /// How keys are distributed and arranged.
    #[arg(long, value_delimiter = ',', default_value = "uniform")]
    patterns: Vec<Pattern>,
    /// The numbers of keys, such as 1000 or 2^20. Default: 2^10,2^20; for --sweep 2^24; for --probe 62500 and its doubles up to 64 million.
    #[arg(long, value_delimiter = ',')]
    sizes: Vec<Size>,
    /// The directions.
    #[arg(long, value_delimiter = ',', default_value = "asc")]
    orders: Vec<Direction>,
    /// The backends of polysort. Default: all that open.
    #[arg(long, value_delimiter = ',', value_parser = PossibleValuesParser::new(AnyBackend::NAMES))]
    pub(crate) backends: Vec<String>,
    /// The adapter of the backends on a GPU: its index, or a part of its name.
    #[arg(long, value_name = "ADAPTER")]
    pub(crate) adapter: Option<String>,
    /// The algorithms that a GPU is forced to use, each measured by itself. If an algorithm does not support a sort, the planner chooses one
    /// that does. Default: the planner's choice.
    #[arg(long = "algorithm", value_name = "ALGORITHM", value_delimiter = ',')]
    pub(crate) algorithms: Vec<Algorithm>,
    /// The threads of polysort's CPU backend and of rayon. Default: one per core.
    #[arg(long)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// The timed runs of each system on each data set.
    #[arg(long, default_value = "7")]
    pub(crate) reps: NonZeroUsize,
    /// The data sets of each case, each from another seed.
    #[arg(long, default_value = "3")]
    pub(crate) seeds: NonZeroUsize,
    /// Also write the results as CSV. `-` writes CSV instead of the table to standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Also write the results as a page with figures, DIR/index.html. The page loads nothing from elsewhere.
    #[arg(long, value_name = "DIR")]
    pub(crate) report: Option<PathBuf>,
    /// Measure nothing, and write the page of --report from records: CSV files as --csv writes them, or folders of them, such as benches/record.
    /// Of a folder, the newest record of each kind and machine is shown, and an older one if it has a peer that no newer one has.
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "report", conflicts_with = "csv", conflicts_with_all = OF_MEASUREMENTS)]
    pub(crate) records: Vec<PathBuf>,
    /// The times that the figures of --report show.
    #[arg(long, value_enum, default_value = "median", requires = "report")]
    pub(crate) statistic: Statistic,
    /// Search for the fastest shape of the passes on each GPU instead. A shape is the threads per workgroup, the keys per thread and the slices per
    /// tile. The keys have up to 64 bits, are on the device, and are sorted alone and with each payload. Each shape is timed beside the built-in one.
    /// The best shape is stored for `auto` if it is more than 2 % faster over all sizes. If no shape is, a shape that was stored before is removed.
    #[arg(long, conflicts_with_all = OF_HOST_DATA)]
    pub(crate) sweep: bool,
    /// Time each pass over u32 keys on the device instead, for growing numbers of keys. The result shows where the GPU's cache ends, and
    /// whether a partition into buckets that fit it (msd_hybrid) can pay.
    #[arg(long, conflicts_with_all = OF_HOST_DATA, conflicts_with_all = ["sweep", "keys", "payloads"])]
    pub(crate) probe: bool,
}

impl BenchArgs {
    /// Returns the numbers of keys that the user listed, or `default` if there are none.
    pub(crate) fn sizes_or(&self, default: &[usize]) -> Vec<usize> {
        if self.sizes.is_empty() { default.to_vec() } else { self.sizes.iter().map(|&Size(len)| len).collect() }
    }

    /// Returns every combination of the listed values. Payloads count for [`Op::SortPairs`] alone.
    pub(crate) fn cases(&self) -> Vec<Case> {
        let mut cases = vec![];
        for &op in &self.ops {
            let payloads = if op == Op::SortPairs { &self.payloads[..] } else { &[Payload::None] };
            for &dtype in &self.keys {
                for &payload in payloads {
                    for &pattern in &self.patterns {
                        for &direction in &self.orders {
                            let case = |len| Case { op, dtype, payload, pattern, direction, len };
                            cases.extend(self.sizes_or(&DEFAULT_SIZES).into_iter().map(case));
                        }
                    }
                }
            }
        }
        cases
    }
}
