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
/// runs     text   of 3 runs: 3 * (cap / 8 + the longest row) ≤ 9/16 of the cap
///          rows   keys and spans of 3 runs, and what the sort of one uses: 3/8 of the cap
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
    /// Divides `cap` bytes among rows whose keys and spans have `row` bytes each, of which a sort needs `sort` more bytes each.
    pub(crate) fn of(cap: usize, row: usize, sort: usize) -> Result<Self, ExternalError> {
        let row_bytes = 3 * row + sort;
        let least = LEAST_BYTES.max(LEAST_RECORDS * row_bytes.div_ceil(3) * 8);
        if cap < least {
            return Err(ExternalError::MemoryTooSmall { cap, record: row, least });
        }
        let block = (cap / (2 * RUNS + OTHER_BLOCKS)).min(LARGEST_BLOCK);
        Ok(Self {
            cap,
            // Offsets in the text of a run have 32 bits.
            run_text: (cap / 8).min(1 << 31),
            run_rows: cap / 8 * 3 / row_bytes,
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

#[cfg(test)]
mod tests {
    use super::*;

    const CAPS: [usize; 5] = [1 << 20, 1_234_567, 16 << 20, 1 << 28, 3 << 30];

    /// The smallest cap that `budget` takes.
    fn least<T: core::fmt::Debug>(budget: impl Fn(usize) -> Result<T, ExternalError>) -> usize {
        let Err(ExternalError::MemoryTooSmall { cap: 1, least, .. }) = budget(1) else { panic!("a cap of one byte") };
        assert!(budget(least - 1).is_err());
        least
    }

    /// Checks that `parts` bytes fit in a cap, and use `percent` percent of it.
    fn check(case: &str, parts: usize, cap: usize, percent: usize) {
        assert!(parts <= cap && parts >= cap / 100 * percent, "{case}: {parts} of {cap} bytes");
    }

    /// Bytes of a block: a merge of 128 runs has 256 of them, and 16 for outputs and for itself; a larger block than 1 MiB is no faster.
    fn block_bytes(cap: usize) -> usize {
        (cap / 272).min(1 << 20)
    }

    #[test]
    fn records_use_the_cap_and_no_more() {
        for (record, sort) in [(1, 2), (3, 5), (4, 5), (8, 9), (16, 40), (100, 250), (4096, 10_000), (70_000, 160_000)] {
            let least = least(|cap| Budget::of(cap, record, sort));
            let records = Budget::of(least, record, sort).unwrap().run;
            assert!(records == 1024 || least == 1 << 20 && records > 1024, "{least} bytes hold {records} of {record} bytes");
            for cap in CAPS.into_iter().chain([least]).filter(|&cap| cap >= least) {
                let Budget { run, block, output, fan_in } = Budget::of(cap, record, sort).unwrap();
                let case = format!("records of {record} bytes, {run} in a run, {fan_in} runs of blocks of {block}");
                assert!(block * record <= block_bytes(cap) && (block + 1) * record > block_bytes(cap), "{case}");
                assert!(fan_in >= 128 && output == 4 * block, "{case}");
                let sorted_run = run * (record + sort);
                check(&case, 2 * run * record + sorted_run, cap, 99);
                let (inputs, outputs, merge) = (fan_in * 2 * block, 2 * output, 2 * output);
                check(&case, (inputs + outputs + merge) * record, cap, 95);
            }
        }
    }

    #[test]
    fn rows_use_the_cap_and_no_more() {
        for (row, sort) in [(9, 20), (12, 27), (16, 27), (24, 92), (500, 1200)] {
            let least = least(|cap| RowBudget::of(cap, row, sort));
            let rows = RowBudget::of(least, row, sort).unwrap().run_rows;
            assert!(rows >= 1024 && (rows < 1030 || least == 1 << 20), "{least} bytes hold {rows} rows of {row} bytes");
            for cap in CAPS.into_iter().chain([least]).filter(|&cap| cap >= least) {
                let budget = RowBudget::of(cap, row, sort).unwrap();
                let RowBudget { run_text, run_rows, longest, longest_merged, block, output, .. } = budget;
                assert_eq!((block, output, longest_merged), (block_bytes(cap), 4 * block, cap / 272));
                // The last row of a run may be the longest one.
                let (text, sorted_rows) = (3 * (run_text + longest), run_rows * (row + sort));
                check(&format!("{budget:?}"), text + 2 * run_rows * row + sorted_rows, cap, 93);
                for row in [0, 100, longest_merged, longest] {
                    let fan_in = budget.fan_in(row);
                    let (inputs, outputs) = (fan_in * 2 * (block + row), 2 * (output + row));
                    let merge = outputs;
                    check(&format!("{budget:?}, {fan_in} runs of rows of {row} bytes"), inputs + outputs + merge, cap, 85);
                }
            }
        }
    }
}
