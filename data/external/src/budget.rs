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
