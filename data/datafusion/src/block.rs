//! Sorted rows in files.

use crate::bucket::Extent;
use crate::file_part::chunk_bytes;
use crate::run::{Part, Sorted};
use crate::stop::Stop;
use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion::common::internal_datafusion_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SpillFile;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_plan::SpillManager;
use datafusion::physical_plan::sorts::streaming_merge::SortedSpillFile;
use polysort_arrow::SortColumn;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most blocks of a run. Each bucket needs a block of every run, and may have half of the memory of a run, so up to 32 runs can be sorted in buckets.
const MOST_BLOCKS: usize = 64;

/// The fewest batches of a block, so that its file's header, and opening the file, cost little.
const BATCHES_PER_BLOCK: usize = 2;

/// The fewest bytes of the rows of a block in memory, so that each read of a file has much to read.
const BYTES_PER_BLOCK: usize = 256 << 10;

/// Key values of rows as bytes, which compare as the rows do: arrow's row format.
#[derive(Debug)]
pub(crate) struct Keys {
    order: LexOrdering,
    converter: RowConverter,
}

impl Keys {
    /// Keys of rows of `schema`.
    ///
    /// # Errors
    /// DataFusion's, if the type of a key is not known, and arrow's, if it has no row format.
    pub(crate) fn new(order: LexOrdering, schema: &Schema) -> Result<Self> {
        let field = |key: &PhysicalSortExpr| {
            let data_type = match key.expr.data_type(schema)? {
                DataType::Dictionary(_, values) => *values,
                other => other,
            };
            Ok(SortField::new_with_options(data_type, key.options))
        };
        let fields = order.iter().map(field);
        let converter = RowConverter::new(fields.collect::<Result<_>>()?)?;
        Ok(Self { order, converter })
    }

    /// A batch with its key columns.
    ///
    /// # Errors
    /// That of an expression of the order.
    pub(crate) fn part(&self, batch: RecordBatch) -> Result<Part> {
        Part::new(batch, &self.order)
    }

    /// The key of row `row` of `sorted`.
    pub(crate) fn of_sorted(&self, sorted: &Sorted, row: usize) -> Result<OwnedRow> {
        self.of(&self.part(sorted.batch(row, 1)?)?, 0)
    }

    /// The key of a row.
    pub(crate) fn of(&self, part: &Part, row: usize) -> Result<OwnedRow> {
        let value = |key: &SortColumn| match key.values.as_any_dictionary_opt() {
            // Without the other values, which the converter would convert, too.
            Some(dictionary) => take(dictionary.values(), &dictionary.keys().slice(row, 1), None),
            None => Ok(key.values.slice(row, 1)),
        };
        let values = part.keys().iter().map(value).collect::<Result<Vec<_>, _>>()?;
        Ok(self.converter.convert_columns(&values)?.row(0).owned())
    }
}

/// Neighboring rows of a sorted run, in a file.
pub(crate) struct Block {
    /// The part of a file. The file is removed when its last part is dropped.
    pub(crate) file: Arc<dyn SpillFile>,
    /// The bytes of the largest batch, or of a chunk of the file if that is more.
    pub(crate) max_batch_bytes: usize,
    pub(crate) extent: Extent,
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block").field("bytes", &self.file.size()).field("extent", &self.extent).finish_non_exhaustive()
    }
}

impl Block {
    /// The file for DataFusion's merge.
    pub(crate) fn sorted_file(&self) -> SortedSpillFile {
        SortedSpillFile { file: self.file.clone(), max_record_batch_memory: self.max_batch_bytes }
    }
}

/// Writes blocks of sorted rows, in batches of `batch_rows` rows.
#[derive(Debug)]
pub(crate) struct BlockWriter {
    pub(crate) spill_manager: SpillManager,
    pub(crate) keys: Arc<Keys>,
    pub(crate) batch_rows: usize,
}

impl BlockWriter {
    /// Writes all rows, on `threads` threads, and blocks the calling thread. The blocks come in the order of their rows.
    ///
    /// # Errors
    /// DataFusion's, if a file cannot be written, and one if the query was stopped.
    pub(crate) fn write(&self, sorted: &Sorted, threads: usize, stop: &Stop) -> Result<Vec<Block>> {
        let by_rows = sorted.len() / (BATCHES_PER_BLOCK * self.batch_rows);
        let count = by_rows.min(sorted.batch_bytes() / BYTES_PER_BLOCK).clamp(1, MOST_BLOCKS);
        let rows_per_block = sorted.len().div_ceil(count).next_multiple_of(self.batch_rows);
        let next = AtomicUsize::new(0);
        let write = || -> Result<Vec<(usize, Block)>> {
            let mut blocks = Vec::new();
            loop {
                let start = next.fetch_add(rows_per_block, Ordering::Relaxed);
                if start >= sorted.len() {
                    return Ok(blocks);
                }
                let rows = start..sorted.len().min(start + rows_per_block);
                match self.write_block(sorted, rows, stop) {
                    Ok(block) => blocks.push((start, block)),
                    Err(error) => {
                        // The other threads stop after their block.
                        next.store(sorted.len(), Ordering::Relaxed);
                        return Err(error);
                    }
                }
            }
        };
        let mut blocks = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads.min(count)).map(|_| scope.spawn(write)).collect();
            let mut blocks = write()?;
            for other in others {
                blocks.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
            }
            Ok::<_, DataFusionError>(blocks)
        })?;
        blocks.sort_unstable_by_key(|&(start, _)| start);
        Ok(blocks.into_iter().map(|(_, block)| block).collect())
    }

    fn write_block(&self, sorted: &Sorted, rows: Range<usize>, stop: &Stop) -> Result<Block> {
        let mut file = self.spill_manager.create_in_progress_file("PolysortExec")?;
        let (mut max_batch_bytes, mut bytes) = (0, 0);
        for start in rows.clone().step_by(self.batch_rows) {
            stop.check()?;
            for batch in sorted.small_batches(start, self.batch_rows.min(rows.end - start))? {
                // The bytes that are written. In memory, strings of the batch may keep the buffers of other rows.
                let batch_bytes = file.append_batch(&batch)?;
                max_batch_bytes = max_batch_bytes.max(batch_bytes);
                bytes += batch_bytes + self.keys.part(batch)?.sort_bytes()?;
            }
        }
        let file = file.finish()?.ok_or_else(|| internal_datafusion_err!("a block without rows was written"))?;
        let len = file.size().unwrap_or(0);
        max_batch_bytes = max_batch_bytes.max(chunk_bytes(len).min(len as usize));
        let (first, last) = (self.keys.of_sorted(sorted, rows.start)?, self.keys.of_sorted(sorted, rows.end - 1)?);
        Ok(Block { file, max_batch_bytes, extent: Extent { first, last, bytes } })
    }
}
