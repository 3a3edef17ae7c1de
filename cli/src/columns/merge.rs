//! Merges sorted runs of record batches, by the row format of Arrow.
//!
//! A merge goes on in steps. Each run has a batch in memory, and a step considers the next rows of each batch:
//!
//! ```text
//! run 0    1 3 4 | 8 9       the bound is the smallest of the last keys that are considered: 4
//! run 1    2 5 7 | 7 9
//! step     the rows up to the bound, run after run:  1 3 4 2        a stable sort:  1 2 3 4
//! ```
//!
//! No other row belongs before these. Of rows that are equal to the bound, a step takes those of the run that has the bound and of earlier runs: the run may have
//! more of them, which come before those of later runs.

use super::spill::{RunReader, Spill};
use anyhow::{Context, Result};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_row::{Row, RowConverter, Rows, SortField};
use arrow_schema::{ArrowError, Schema};
use arrow_select::interleave::interleave_record_batch;
use polysort::{Options, RayonBackend, Sort};
use polysort_arrow::SortBy;
use rayon::prelude::*;
use std::ops::Range;

/// The first bytes of a key, which sort most rows.
const PREFIX_BYTES: usize = size_of::<u128>();

/// Rows that are worth a task for another thread.
const TASK_ROWS: usize = 1 << 13;

/// Returns what converts the columns `by` to keys.
pub(super) fn converter(schema: &Schema, by: &[SortBy]) -> Result<RowConverter> {
    let field = |by: &SortBy| SortField::new_with_options(schema.field(by.column).data_type().clone(), by.options);
    RowConverter::new(by.iter().map(field).collect()).context("cannot merge by these columns")
}

/// How rows are merged.
#[derive(Clone, Copy)]
pub(super) struct Manner<'m> {
    pub(super) schema: &'m Schema,
    pub(super) by: &'m [SortBy],
    /// The rows of a batch of the output.
    pub(super) batch_rows: usize,
    /// The rows that a step considers, at most; but one of each run.
    pub(super) step_rows: usize,
}

/// A run while it is merged.
struct Run {
    reader: RunReader,
    batch: RecordBatch,
    keys: Rows,
    /// The bytes of the shortest and of the longest key of the batch.
    lens: (usize, usize),
    /// The next row of the batch.
    at: usize,
}

/// Merges some runs of a spill file, and hands over their rows in batches.
pub(super) fn merge(
    spill: &Spill,
    runs: Range<usize>,
    manner: Manner<'_>,
    write: &mut dyn FnMut(&RecordBatch) -> Result<()>,
) -> Result<()> {
    let converter = converter(manner.schema, manner.by)?;
    let begin = |reader: RunReader| {
        let batch = RecordBatch::new_empty(reader.schema());
        Run { reader, batch, keys: converter.empty_rows(0, 0), lens: (0, 0), at: 0 }
    };
    let mut open: Vec<Run> = spill.open(runs)?.into_iter().map(begin).collect();
    loop {
        let mut ended: Vec<&mut Run> = open.iter_mut().filter(|run| run.has_ended()).collect();
        ended.par_iter_mut().try_for_each(|run| run.read(&converter, manner.by, spill))?;
        // What has still ended has no more rows.
        open.retain(|run| !run.has_ended());
        if open.is_empty() {
            return Ok(());
        }
        let taken = step(&open, manner.step_rows);
        let order = order(&open, &taken)?;
        let batches: Vec<&RecordBatch> = open.iter().map(|run| &run.batch).collect();
        let gather = |order: &[u32]| {
            let rows: Vec<(usize, usize)> = order.iter().map(|&index| taken[index as usize]).collect();
            interleave_record_batch(&batches, &rows)
        };
        let gathered: Vec<RecordBatch> = order.par_chunks(manner.batch_rows).map(gather).collect::<Result<_, ArrowError>>()?;
        gathered.iter().try_for_each(&mut *write)?;
        taken.iter().for_each(|&(run, row)| open[run].at = row + 1);
    }
}

/// Returns rows that come before all others, each as its run and its place in the batch, run after run.
fn step(runs: &[Run], rows: usize) -> Vec<(usize, usize)> {
    let share = (rows / runs.len()).max(1);
    let end = |run: &Run| run.batch.num_rows().min(run.at + share);
    let last = |run: usize| runs[run].keys.row(end(&runs[run]) - 1);
    // Of equal keys, that of the earliest run is the bound.
    let bound = (1..runs.len()).fold(0, |least, run| if last(run) < last(least) { run } else { least });
    let bound_key = last(bound);
    let mut taken = Vec::with_capacity(rows.min(runs.len() * share));
    for (index, run) in runs.iter().enumerate() {
        let is_taken = |key: Row<'_>| if index <= bound { key <= bound_key } else { key < bound_key };
        // The rows of the run that has the bound are taken in any case, so that a merge ends even if a spill file is damaged.
        let (mut from, mut to) = (if index == bound { end(run) } else { run.at }, end(run));
        while from < to {
            let middle = from.midpoint(to);
            if is_taken(run.keys.row(middle)) { from = middle + 1 } else { to = middle }
        }
        taken.extend((run.at..from).map(|row| (index, row)));
    }
    taken
}

/// Returns the order of some rows. Equal ones stay in order.
fn order(runs: &[Run], rows: &[(usize, usize)]) -> Result<Vec<u32>> {
    let key = |&(run, row): &(usize, usize)| runs[run].keys.row(row);
    let prefix = |row: &(usize, usize)| {
        let (mut bytes, key) = ([0; PREFIX_BYTES], key(row));
        let len = key.data().len().min(PREFIX_BYTES);
        bytes[..len].copy_from_slice(&key.data()[..len]);
        u128::from_be_bytes(bytes)
    };
    let prefixes: Vec<u128> = rows.par_iter().with_min_len(TASK_ROWS).map(prefix).collect();
    let (shortest, longest) =
        runs.iter().fold((usize::MAX, 0), |(shortest, longest), run| (shortest.min(run.lens.0), longest.max(run.lens.1)));
    // The bytes behind the longest key are zeros.
    let zeros = 8 * PREFIX_BYTES.saturating_sub(longest) as u32;
    let options = Options::ascending().bits(zeros.min(127)..128);
    let mut order = RayonBackend::default().argsort_with(&prefixes, options)?;
    if longest > PREFIX_BYTES || shortest < longest {
        // The keys of rows with one prefix may differ behind it.
        let same_prefix = |a: &u32, b: &u32| prefixes[*a as usize] == prefixes[*b as usize];
        for same in order.chunk_by_mut(same_prefix).filter(|same| same.len() > 1) {
            same.sort_by(|&a, &b| key(&rows[a as usize]).cmp(&key(&rows[b as usize])));
        }
    }
    Ok(order)
}

impl Run {
    fn has_ended(&self) -> bool {
        self.at == self.batch.num_rows()
    }

    /// Reads the next batch that has rows, if there is one. The one before has ended.
    fn read(&mut self, converter: &RowConverter, by: &[SortBy], spill: &Spill) -> Result<()> {
        while self.has_ended() {
            // The batch and its keys go before the next ones come.
            self.batch = RecordBatch::new_empty(self.batch.schema());
            self.keys.clear();
            self.at = 0;
            let Some(batch) = self.reader.next() else { return Ok(()) };
            self.batch = batch.with_context(|| spill.read_failed())?;
            converter.append(&mut self.keys, &keys_of(&self.batch, by))?;
            let lens = self.keys.iter().map(|key| key.data().len());
            self.lens = lens.fold((usize::MAX, 0), |(shortest, longest), len| (shortest.min(len), longest.max(len)));
        }
        Ok(())
    }
}

fn keys_of(batch: &RecordBatch, by: &[SortBy]) -> Vec<ArrayRef> {
    by.iter().map(|by| batch.column(by.column).clone()).collect()
}
