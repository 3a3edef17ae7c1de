//! The commands of the command line. The arguments of each are in the module of that command.

use crate::bench::BenchArgs;
use crate::calibrate::CalibrateArgs;
use crate::demo::DemoArgs;
use crate::limited::MergeArgs;
use crate::sort::{ArgsortArgs, SortArgs, TopArgs};
use crate::verify::VerifyArgs;
use clap::{Parser, Subcommand};

const EXIT_CODES: &str = "\
Exit codes:
  0  Success.
  1  verify: the keys are not sorted. bench, demo: an answer is wrong or missing.
  2  An argument or the input is wrong, or a file cannot be read or written. A message on standard error gives the reason.
A signal ends the program with the status of that signal: in a shell 129 (SIGHUP), 130 (SIGINT), 143 (SIGTERM), or 141 (SIGPIPE)
if the reader of the output closes its pipe. verify exits with 0 or 1 even then.";

/// Sorts files of keys and tables, stably, on any GPU and on the CPU.
#[derive(Parser)]
#[command(version, max_term_width = 110, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Sort an array, or the rows of a table by one column. The sort is stable in both directions.
    #[cfg_attr(feature = "arrow", doc = "It also sorts the rows of a .parquet or .arrow, by the columns of --by.")]
    #[command(after_help = EXIT_CODES)]
    Sort(SortArgs),
    /// Write the indices (u32) that sort an array, or the rows of a table.
    #[command(after_help = EXIT_CODES)]
    Argsort(ArgsortArgs),
    /// Write the k largest keys and their indices, or the rows that hold them. A NaN without a sign is larger
    /// than any number, and a NaN with a sign is smaller.
    #[command(after_help = EXIT_CODES)]
    Top(TopArgs),
    /// Merge sorted files of one format into one, stably: of equal keys, those of an earlier file come first.
    #[command(after_help = EXIT_CODES)]
    Merge(MergeArgs),
    /// Check whether a file is sorted. The exit code is 1 if it is not.
    #[command(after_help = EXIT_CODES)]
    Verify(VerifyArgs),
    /// List the backends, their limits, and which of them `auto` chooses.
    #[command(after_help = EXIT_CODES)]
    Devices,
    /// Measure the CPU and the GPU that `auto` would use, and store the result. `auto` then chooses by it.
    #[command(after_help = EXIT_CODES)]
    Calibrate(CalibrateArgs),
    /// Measure the backends side by side with std and rayon.
    #[command(after_help = EXIT_CODES)]
    Bench(BenchArgs),
    /// Sort real and generated data on every backend, check the answers, and show the speed.
    #[command(after_help = EXIT_CODES)]
    Demo(DemoArgs),
}
