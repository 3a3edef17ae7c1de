//! The error type.

use std::io;
use std::path::PathBuf;

/// Why an external sort failed. No spill file is left, and the input is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalError {
    /// The input could not be read.
    #[error("the input could not be read: {0}")]
    Input(#[source] io::Error),
    /// The input does not end with a whole record.
    #[error("the input ends with {left} bytes of a record of {record} bytes; is its record size right, or is it cut off?")]
    #[non_exhaustive]
    PartialRecord {
        /// Bytes after the last whole record.
        left: usize,
        /// Bytes of a record.
        record: usize,
    },
    /// The output could not be written. A part of it may have been.
    #[error("the output could not be written: {0}")]
    Output(#[source] io::Error),
    /// A spill file could not be created, written or read back.
    #[error("a spill file in {} could not be {what}: {source}{}", folder.display(), room_text(what))]
    #[non_exhaustive]
    Spill {
        /// The folder of spill files.
        folder: PathBuf,
        /// What failed: "created", "written" or "read".
        what: &'static str,
        /// The error of the file system.
        source: io::Error,
    },
    /// The backend could not sort or merge.
    #[error(transparent)]
    Sort(#[from] polysort_core::Error),
    /// The memory cap is too small for records of this size.
    #[error("a memory cap of {cap} bytes is too small for records of {record} bytes; at least {least} are needed")]
    #[non_exhaustive]
    MemoryTooSmall {
        /// The cap.
        cap: usize,
        /// Bytes of a record.
        record: usize,
        /// The smallest cap.
        least: usize,
    },
    /// An input of a merge is not sorted.
    #[error("input {input} of the merge is not sorted: its record {record} must come before the one before it")]
    #[non_exhaustive]
    Unsorted {
        /// The index of the input.
        input: usize,
        /// The index of the record in it.
        record: u64,
    },
    /// A row is too long for the memory cap.
    #[error("row {row} has more than {most} bytes, the most that a memory cap of {cap} bytes allows; use a larger cap")]
    #[non_exhaustive]
    RowTooLong {
        /// The index of the row in its input.
        row: u64,
        /// The bytes that the cap allows.
        most: usize,
        /// The cap.
        cap: usize,
    },
    /// The progress callback asked the sort to stop.
    #[error("the sort was cancelled")]
    Cancelled,
}

/// What to look for if a spill file failed. One that cannot be read has had its room.
fn room_text(what: &str) -> &'static str {
    match what {
        "read" => "",
        _ => "; is there room in the folder for as many bytes as the input has?",
    }
}
