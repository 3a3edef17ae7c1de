//! File formats, and the names of files that imply them.

use clap::ValueEnum;
use std::path::Path;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// numpy's array with a header
    Npy,
    /// keys one after another, little-endian, without a header
    Bin,
    /// a table; in output, an array has one key per line
    Csv,
}

impl Format {
    /// Returns the format that the extension of a file name implies.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match &*path.extension()?.to_str()?.to_ascii_lowercase() {
            "npy" => Some(Self::Npy),
            "bin" => Some(Self::Bin),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }

    /// Returns the approximate size in bytes of a file with these keys; none if it is known only after writing.
    pub(crate) fn bytes<K>(self, keys: &[K]) -> Option<u64> {
        (self != Self::Csv).then_some(size_of_val(keys) as u64)
    }
}
