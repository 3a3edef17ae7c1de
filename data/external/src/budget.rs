//! How the memory cap is divided.
//!
//! ```text
//! runs     3 runs (read, sorted, written), and what the sort of one uses
//! merge    2 blocks of each run, 2 outputs of 4 blocks, and as much again for the merge itself
//! ```

use crate::ExternalError;

/// Runs that one merge should take: the size of blocks follows from it.
const RUNS: usize = 128;

/// Blocks of this size are read and written at nearly the speed of larger ones.
const LARGEST_BLOCK: usize = 1 << 20;

/// Records of an output of a merge, in blocks.
const OUTPUT_BLOCKS: usize = 4;

/// Blocks that a merge needs beside those of its runs.
const OTHER_BLOCKS: usize = 4 * OUTPUT_BLOCKS;

/// The smallest cap, and the smallest number of records that it holds.
const LEAST_BYTES: usize = 1 << 20;
const LEAST_RECORDS: usize = 1 << 10;

/// Lengths of buffers, in records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Of a run.
    pub(crate) run: usize,
    /// Of a block of a spill file.
    pub(crate) block: usize,
    /// Of an output of a merge.
    pub(crate) output: usize,
    /// Runs that are merged at once, at most.
    pub(crate) fan_in: usize,
}

impl Budget {
    /// Divides `cap` bytes among records of `record` bytes, of which a sort needs `sort` more bytes each.
    pub(crate) fn of(cap: usize, record: usize, sort: usize) -> Result<Self, ExternalError> {
        let least = LEAST_BYTES.max(LEAST_RECORDS * (3 * record + sort));
        if cap < least {
            return Err(ExternalError::MemoryTooSmall { cap, record, least });
        }
        let block_bytes = (cap / (2 * RUNS + OTHER_BLOCKS)).min(LARGEST_BLOCK);
        let block = (block_bytes / record).max(1);
        let fan_in = ((cap / (block * record)).saturating_sub(OTHER_BLOCKS) / 2).max(2);
        Ok(Self { run: cap / (3 * record + sort), block, output: OUTPUT_BLOCKS * block, fan_in })
    }
}

/// Bytes of buffers for rows of any length, and numbers of rows.
///
/// ```text
/// runs     3 runs, each of text, and of keys and spans (an eighth more, for one of them, in the sort)
///          text   3 * (cap / 8 + the longest row) ≤ 9/16 of the cap
///          rows   3/8 of the cap
/// merge    as for records of constant size, but each buffer may have one more row
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowBudget {
    pub(crate) cap: usize,
    /// Bytes of text after which a run ends.
    pub(crate) run_text: usize,
    /// The most rows of a run.
    pub(crate) run_rows: usize,
    /// The most bytes of a row that is sorted.
    pub(crate) longest: usize,
    /// The most bytes of a row of an input of a merge.
    pub(crate) longest_merged: usize,
    /// Bytes after which a block ends.
    pub(crate) block: usize,
    /// Bytes after which an output of a merge ends.
    pub(crate) output: usize,
}

impl RowBudget {
    /// Divides `cap` bytes among rows with keys of `key` bytes.
    pub(crate) fn of(cap: usize, key: usize) -> Result<Self, ExternalError> {
        if cap < LEAST_BYTES {
            return Err(ExternalError::MemoryTooSmall { cap, record: key, least: LEAST_BYTES });
        }
        // A row has a key and a span of 8 bytes, and the sort has scratch of as many bytes, an index, and an eighth of both.
        let entry = key + 8;
        let scratch = (entry + 8) * 9 / 8;
        let block = (cap / (2 * RUNS + OTHER_BLOCKS)).min(LARGEST_BLOCK);
        Ok(Self {
            cap,
            // Offsets in the text of a run have 32 bits.
            run_text: (cap / 8).min(1 << 31),
            run_rows: cap / 8 * 3 / (3 * entry + scratch),
            longest: Self::longest(cap),
            longest_merged: Self::longest_merged(cap),
            block,
            output: OUTPUT_BLOCKS * block,
        })
    }

    /// The most bytes of a row that is sorted.
    pub(crate) fn longest(cap: usize) -> usize {
        (cap / 16).min(1 << 30)
    }

    /// The most bytes of a row of an input of a merge.
    pub(crate) fn longest_merged(cap: usize) -> usize {
        (cap / (2 * RUNS + OTHER_BLOCKS)).min(1 << 30)
    }

    /// Runs that are merged at once, at most, if the longest row has `longest` bytes.
    pub(crate) fn fan_in(&self, longest: usize) -> usize {
        let other = OTHER_BLOCKS * self.block + 4 * longest;
        (self.cap.saturating_sub(other) / (2 * (self.block + longest))).max(2)
    }
}
