//! Merges sorted runs of record batches, by the row format of Arrow.
//!
//! ```text
//! heap of the runs, by the key of their next row and by their number
//! loop     take the row of the first run; put the run back with its next row
//!          if a batch of a run ends, or enough rows were taken: gather the rows into a batch and hand it over
//! ```

use super::spill::{RunReader, Spill};
use anyhow::{Context, Result};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::Schema;
use arrow_select::interleave::interleave_record_batch;
use core::cmp::Ordering;
use polysort_arrow::SortBy;
use std::ops::Range;

/// Returns what converts the columns `by` to keys.
pub(super) fn converter(schema: &Schema, by: &[SortBy]) -> Result<RowConverter> {
    let field = |by: &SortBy| SortField::new_with_options(schema.field(by.column).data_type().clone(), by.options);
    RowConverter::new(by.iter().map(field).collect()).context("cannot merge by these columns")
}

/// A run while it is merged.
struct Run {
    reader: RunReader,
    batch: RecordBatch,
    keys: Rows,
    /// The next row of the batch.
    at: usize,
}

/// A run in the heap.
#[derive(Clone, Copy)]
struct Head {
    /// The first bytes of the key of the run's next row. Most comparisons need no more.
    prefix: u128,
    run: usize,
}

/// Some runs while they are merged.
struct Merge<'s> {
    spill: &'s Spill,
    by: &'s [SortBy],
    converter: RowConverter,
    runs: Vec<Run>,
    /// The runs that have rows, as a binary heap.
    heap: Vec<Head>,
}

/// Merges some runs of a spill file, and hands over batches of up to `rows` rows.
pub(super) fn merge(
    spill: &Spill,
    runs: Range<usize>,
    (schema, by, rows): (&Schema, &[SortBy], usize),
    write: &mut dyn FnMut(&RecordBatch) -> Result<()>,
) -> Result<()> {
    let readers = spill.open(runs)?;
    let mut merge = Merge { spill, by, converter: converter(schema, by)?, runs: vec![], heap: vec![] };
    for mut reader in readers {
        if let Some(batch) = next_batch(&mut reader, spill)? {
            let keys = merge.converter.convert_columns(&keys_of(&batch, by))?;
            merge.heap.push(Head { prefix: prefix(&keys, 0), run: merge.runs.len() });
            merge.runs.push(Run { reader, batch, keys, at: 0 });
        }
    }
    for at in (0..merge.heap.len()).rev() {
        merge.sift_down(at);
    }
    let mut taken = Vec::with_capacity(rows);
    while let Some(&Head { run: first, .. }) = merge.heap.first() {
        let run = &mut merge.runs[first];
        taken.push((first, run.at));
        run.at += 1;
        let has_ended = run.at == run.batch.num_rows();
        if has_ended || taken.len() == rows {
            let batches: Vec<&RecordBatch> = merge.runs.iter().map(|run| &run.batch).collect();
            write(&interleave_record_batch(&batches, &taken)?)?;
            taken.clear();
        }
        if has_ended {
            merge.replace_batch(first)?;
        } else {
            let run = &merge.runs[first];
            merge.heap[0].prefix = prefix(&run.keys, run.at);
        }
        merge.sift_down(0);
    }
    Ok(())
}

impl Merge<'_> {
    /// Gives the first run of the heap its next batch, or takes the run from the heap.
    fn replace_batch(&mut self, first: usize) -> Result<()> {
        let run = &mut self.runs[first];
        // The batch and its keys go before the next ones come.
        run.batch = RecordBatch::new_empty(run.batch.schema());
        run.keys.clear();
        match next_batch(&mut run.reader, self.spill)? {
            Some(batch) => {
                self.converter.append(&mut run.keys, &keys_of(&batch, self.by))?;
                (run.batch, run.at) = (batch, 0);
                self.heap[0].prefix = prefix(&run.keys, 0);
            }
            None => {
                self.heap.swap_remove(0);
            }
        }
        Ok(())
    }

    /// Orders two runs by their next rows. Of equal rows, that of the earlier run comes first.
    fn compare(&self, a: Head, b: Head) -> Ordering {
        let key = |head: Head| self.runs[head.run].keys.row(self.runs[head.run].at);
        a.prefix.cmp(&b.prefix).then_with(|| key(a).cmp(&key(b))).then(a.run.cmp(&b.run))
    }

    /// Moves the run at an index of the heap down to where it belongs.
    fn sift_down(&mut self, mut at: usize) {
        loop {
            let children = [2 * at + 1, 2 * at + 2].into_iter().filter(|child| *child < self.heap.len());
            let Some(child) = children.min_by(|&a, &b| self.compare(self.heap[a], self.heap[b])) else { return };
            if self.compare(self.heap[at], self.heap[child]).is_lt() {
                return;
            }
            self.heap.swap(at, child);
            at = child;
        }
    }
}

/// Reads the next batch that has rows.
fn next_batch(reader: &mut RunReader, spill: &Spill) -> Result<Option<RecordBatch>> {
    for batch in reader {
        let batch = batch.with_context(|| spill.read_failed())?;
        if batch.num_rows() > 0 {
            return Ok(Some(batch));
        }
    }
    Ok(None)
}

fn keys_of(batch: &RecordBatch, by: &[SortBy]) -> Vec<ArrayRef> {
    by.iter().map(|by| batch.column(by.column).clone()).collect()
}

/// The first 16 bytes of a key as a number; a shorter key has zeros at its end.
fn prefix(keys: &Rows, row: usize) -> u128 {
    let (mut bytes, row) = ([0; 16], keys.row(row));
    let len = row.data().len().min(bytes.len());
    bytes[..len].copy_from_slice(&row.data()[..len]);
    u128::from_be_bytes(bytes)
}
