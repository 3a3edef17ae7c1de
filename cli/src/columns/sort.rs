//! Sorts the rows of Parquet and Arrow IPC files, within a memory cap if there is one.
//!
//! ```text
//! batches of the file ─▶ runs, as many rows as the cap allows ─▶ sorted order of a run (polysort-arrow)
//!                        one run:    gathered into the output
//!                        more:       gathered into a spill file, and merged into the output
//! ```

use super::by::Order;
use super::format::ColumnFormat;
use super::merge::{Manner, converter, merge};
use super::source::{Batches, Kept, bytes_of, open};
use super::spill::Spill;
use super::target::ColumnWriter;
use crate::files::Format;
use crate::output::{Output, Writing};
use crate::progress;
use anyhow::{Context, Error, Result, bail};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::concat::concat;
use arrow_select::interleave::interleave_record_batch;
use polysort::{AnyBackend, RayonBackend};
use polysort_arrow::{SortBy, SortColumn, lexsort_to_indices};
use rayon::prelude::*;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::thread::scope;

/// Bytes of memory for a row of a run, beside its columns: words, rows and the scratch of a sort.
const ROW_COST: usize = 48;

/// Blocks of a batch of the output, which no merge reads again.
const OUTPUT_BLOCKS: usize = 4;

/// Bytes of memory for a row of a step of a merge, beside its columns: where it is, the start of its key, and the scratch of a sort.
const STEP_ROW_COST: usize = 128;

/// Rows of a step of a merge, at most: waking many threads takes little time compared with the step.
const MOST_STEP_ROWS: usize = 1 << 18;

/// Bytes of a batch that is written, with and without a cap, within these bounds.
const LEAST_BLOCK: usize = 1 << 15;
const LARGEST_BLOCK: usize = 1 << 22;

/// Batches of the output that wait for its thread, at most: waking a thread takes about as long as it writes a small batch.
const HANDED_OVER: usize = 16;

/// Batches that are gathered at a time, by several threads.
const GATHERED: usize = 64;

/// How much memory a sort uses, and where it spills.
pub(crate) struct Room {
    /// The cap; `None` is as much as there is.
    pub(crate) memory: Option<usize>,
    /// The folder of spill files.
    pub(crate) folder: PathBuf,
}

impl Room {
    fn cap(&self) -> usize {
        self.memory.unwrap_or(usize::MAX)
    }

    /// Bytes of a batch.
    fn block(&self) -> usize {
        (self.cap() / 8192).clamp(LEAST_BLOCK, LARGEST_BLOCK)
    }

    /// Whether a run of so many bytes and rows leaves no room for more.
    fn is_full(&self, bytes: usize, rows: usize) -> bool {
        // The columns to sort by are copied, and a part of the memory is that of the reader and of the writer.
        self.memory.is_some_and(|cap| 2 * bytes + ROW_COST * rows > cap / 2)
    }

    /// Rows of a batch, each of so many bytes.
    fn batch_rows(&self, row_bytes: usize) -> usize {
        (self.block() / row_bytes).max(1)
    }

    /// Rows of a step of a merge, each of so many bytes: they are in memory twice, with the words and the scratch of their sort.
    fn step_rows(&self, row_bytes: usize) -> usize {
        (self.cap() / 8 / (row_bytes + STEP_ROW_COST)).clamp(1, MOST_STEP_ROWS)
    }

    /// Runs that are merged at once, at most. Each needs a batch, the keys of its rows, and the memory of its reader. The process takes twice as much, because
    /// the allocator keeps freed memory for each thread.
    fn fan_in(&self) -> usize {
        (self.cap() / 2 / (8 * self.block())).clamp(2, 1 << 16)
    }
}

/// Sorts the rows of the file `path` by the columns `order` into the output.
pub(crate) fn sort(path: &Path, order: &Order, room: &Room, (output, backend): (Output, &AnyBackend)) -> Result<()> {
    let format = ColumnFormat::of(path).context("the caller knows the format")?;
    let name = path.display().to_string();
    let target = output.path().map_or(Ok(format), |path| {
        let wrong =
            || format!("{}: the rows of {name} can only be written as .parquet or .arrow: name one with -o", output.name());
        ColumnFormat::of(path).with_context(wrong)
    })?;
    output.check_terminal(Format::Bin)?;
    let batches = open(path, format, room.block())?;
    let by = order.columns(&batches.schema).with_context(|| name.clone())?;
    let mut writing = output.begin();
    let sorted = Sort { name: &name, room, backend, schema: batches.schema.clone(), by }.run(batches, target, &mut writing);
    sorted.map_err(|failure| match failure {
        Failure::Output(error) => writing.failed(error),
        Failure::Other(error) => error,
    })?;
    writing.finish()
}

/// Why a sort failed.
enum Failure {
    /// The output could not be written.
    Output(Error),
    Other(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// Gets batches that are in order.
type Write<'w> = &'w mut dyn FnMut(&RecordBatch) -> Result<()>;

/// Rows that are sorted together.
#[derive(Default)]
struct Run {
    batches: Vec<RecordBatch>,
    bytes: usize,
    rows: usize,
}

impl Run {
    /// The mean bytes of a row, at least 1.
    fn row_bytes(&self) -> usize {
        (self.bytes / self.rows.max(1)).max(1)
    }
}

struct Sort<'s> {
    name: &'s str,
    room: &'s Room,
    backend: &'s AnyBackend,
    schema: SchemaRef,
    by: Vec<SortBy>,
}

impl Sort<'_> {
    fn run(&self, file: Batches, target: ColumnFormat, writing: &mut Writing) -> Result<(), Failure> {
        let (rows, kept) = (file.rows, file.kept);
        let (last, spill) = self.form(file.batches, rows)?;
        match spill {
            None => self.output(&kept, target, writing, |write| self.gather(&last, write)),
            Some(spill) => {
                RayonBackend::release_scratch();
                let row_bytes = last.row_bytes();
                drop(last);
                self.merge(spill, row_bytes, rows, (&kept, target, writing))
            }
        }
    }

    /// Reads all rows. Returns the last run, and the spill file with all runs if there is more than one.
    fn form(
        &self,
        batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
        rows: Option<u64>,
    ) -> Result<(Run, Option<Spill>)> {
        let bar = progress::of(&format!("reading {}", self.name), rows, false);
        let (mut run, mut spill) = (Run::default(), None);
        for batch in batches {
            let batch = batch.with_context(|| format!("cannot read {}", self.name))?;
            bar.inc(batch.num_rows() as u64);
            let (bytes, rows) = (bytes_of(&batch), batch.num_rows());
            if self.room.is_full(bytes, rows) {
                bail!(
                    "{} has a record batch of {bytes} bytes, which is too large for the cap: give a larger --memory, or write smaller \
                    batches",
                    self.name
                );
            }
            if self.room.is_full(run.bytes + bytes, run.rows + rows) {
                self.spill(&run, &mut spill)?;
                run = Run::default();
            }
            run.batches.push(batch);
            (run.bytes, run.rows) = (run.bytes + bytes, run.rows + rows);
        }
        if spill.is_some() {
            self.spill(&run, &mut spill)?;
        }
        Ok((run, spill))
    }

    /// Sorts a run, and appends it to the spill file, which it creates if there is none.
    fn spill(&self, run: &Run, spill: &mut Option<Spill>) -> Result<()> {
        let spill = match spill {
            Some(spill) => spill,
            none => {
                // Before anything is written: not all types have keys that can be merged.
                converter(&self.schema, &self.by)?;
                none.insert(Spill::create(&self.room.folder)?)
            }
        };
        spill.append(&self.schema, |write| self.gather(run, write))
    }

    /// Hands over the rows of a run in order.
    fn gather(&self, run: &Run, write: Write<'_>) -> Result<()> {
        if run.rows == 0 {
            return Ok(());
        }
        let column = |by: &SortBy| {
            let parts: Vec<&dyn Array> = run.batches.iter().map(|batch| batch.column(by.column).as_ref()).collect();
            Ok(SortColumn { values: concat(&parts)?, options: Some(by.options) })
        };
        let columns = self.by.iter().map(column).collect::<Result<Vec<_>>>()?;
        let order = lexsort_to_indices(self.backend, &columns, None).with_context(|| format!("cannot sort {}", self.name))?;
        drop(columns);
        let mut end = 0;
        let ends: Vec<usize> = run
            .batches
            .iter()
            .map(|batch| {
                end += batch.num_rows();
                end
            })
            .collect();
        let batches: Vec<&RecordBatch> = run.batches.iter().collect();
        let row = |&row: &u32| {
            let batch = ends.partition_point(|&end| end <= row as usize);
            (batch, row as usize - if batch == 0 { 0 } else { ends[batch - 1] })
        };
        let gather = |rows: &[u32]| interleave_record_batch(&batches, &rows.iter().map(row).collect::<Vec<_>>());
        let batch_rows = self.room.batch_rows(run.row_bytes());
        for rows in order.values().chunks(GATHERED * batch_rows) {
            let gathered: Vec<RecordBatch> = rows.par_chunks(batch_rows).map(gather).collect::<Result<_, ArrowError>>()?;
            gathered.iter().try_for_each(&mut *write)?;
        }
        Ok(())
    }

    /// Merges the runs of a spill file into the output, in several passes if they are too many for one.
    fn merge(
        &self,
        mut spill: Spill,
        row_bytes: usize,
        rows: Option<u64>,
        (kept, target, writing): (&Kept, ColumnFormat, &mut Writing),
    ) -> Result<(), Failure> {
        let (batch_rows, step_rows) = (self.room.batch_rows(row_bytes), self.room.step_rows(row_bytes));
        let manner = Manner { schema: &self.schema, by: &self.by, batch_rows, step_rows };
        let fan_in = self.room.fan_in();
        let (mut pass, mut passes, mut runs) = (1, 1, spill.len());
        while runs > fan_in {
            (runs, passes) = (runs.div_ceil(fan_in), passes + 1);
        }
        let show = |pass: usize| progress::of(&format!("merging {}, pass {pass} of {passes}", self.name), rows, false);
        while pass < passes {
            let (bar, mut next) = (show(pass), Spill::create(&self.room.folder)?);
            let groups = spill.len().div_ceil(fan_in);
            for group in 0..groups {
                let group = spill.len() * group / groups..spill.len() * (group + 1) / groups;
                next.append(&self.schema, |write| {
                    merge(&spill, group, manner, &mut |batch| {
                        bar.inc(batch.num_rows() as u64);
                        write(batch)
                    })
                })?;
            }
            (spill, pass) = (next, pass + 1);
        }
        let (bar, manner) = (show(pass), Manner { batch_rows: OUTPUT_BLOCKS * batch_rows, ..manner });
        self.output(kept, target, writing, |write| {
            merge(&spill, 0..spill.len(), manner, &mut |batch| {
                bar.inc(batch.num_rows() as u64);
                write(batch)
            })
        })
    }

    /// Writes the output, on a thread of its own: the batches that `body` hands over.
    fn output(
        &self,
        kept: &Kept,
        target: ColumnFormat,
        writing: &mut Writing,
        body: impl FnOnce(Write<'_>) -> Result<()>,
    ) -> Result<(), Failure> {
        let what = (kept, &self.by[..], self.room.cap() / 8);
        let mut writer = ColumnWriter::new(writing, target, &self.schema, what).map_err(Failure::Output)?;
        scope(|scope| {
            let (send, batches) = sync_channel::<RecordBatch>(HANDED_OVER);
            let written = scope.spawn(move || {
                batches.into_iter().try_for_each(|batch| writer.write(&batch))?;
                Ok(writer)
            });
            let done = body(&mut |batch| send.send(batch.clone()).context("the output has failed"));
            drop(send);
            let writer: Result<ColumnWriter<'_>> = written.join().unwrap_or_else(|panic| resume_unwind(panic));
            let writer = writer.map_err(Failure::Output)?;
            done?;
            writer.finish().map_err(Failure::Output)
        })
    }
}
