//! Batches that are sorted together.

use crate::fallback::Fallback;
use crate::timed::Timed;
use arrow_select::dictionary::garbage_collect_any_dictionary;
use datafusion::arrow::array::{ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, RecordBatch, downcast_primitive};
use datafusion::arrow::buffer::ScalarBuffer;
use datafusion::arrow::compute::{cast, concat, lexsort_to_indices};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::common::utils::memory::{RecordBatchMemoryCounter, get_record_batch_memory_size};
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_expr::LexOrdering;
use polysort_arrow::{NumberedRows, SortColumn};
use std::sync::Arc;

/// Bytes that a sort needs for each row, beside the batches and one array of each key: a word of key bits, as much scratch of the backend, the
/// number of the row, and a range for every second row that is equal to others (`polysort-arrow` makes these).
const SORT_BYTES_PER_ROW: usize = 8 + 8 + 4 + 8;

/// The fewest rows whose keys several threads join, and which are packed: below, starting threads takes longer than they save. Not measured.
const MANY_ROWS: usize = 1 << 18;

/// How many samples of the order are looked at, and the rows of each.
const SAMPLES: usize = 16;
const SAMPLE_ROWS: usize = 256;

/// The distance of rows, of 8 bytes in a column, that may lie on one page or be fetched ahead.
const NEAR_ROWS: u32 = 64;

/// Bytes for each row once the rows are in order: the number of the row.
const ORDER_BYTES_PER_ROW: usize = 4;

/// Batches of several partitions, with their keys.
///
/// Rows that are equal come out in the order of their partitions, and within a partition in the order in which they came in.
#[derive(Debug)]
pub(crate) struct Run {
    partitions: Vec<Vec<Part>>,
    rows: usize,
    counter: RecordBatchMemoryCounter,
    /// Whether arrow's kernel sorts this run, because the words of polysort do not fit.
    by_arrow: bool,
}

/// A batch and its keys.
#[derive(Debug)]
pub(crate) struct Part {
    batch: RecordBatch,
    keys: Vec<SortColumn>,
}

impl Part {
    /// Evaluates the keys.
    ///
    /// # Errors
    /// That of an expression of `order`.
    pub(crate) fn new(batch: RecordBatch, order: &LexOrdering) -> Result<Self> {
        let keys = order.iter().map(|key| key.evaluate_to_sort_column(&batch)).collect::<Result<_>>()?;
        Ok(Self { batch, keys })
    }

    /// The key columns.
    pub(crate) fn keys(&self) -> &[SortColumn] {
        &self.keys
    }

    /// The bytes that a sort needs beside the batch and its keys: one array of each key, and what it needs for each row.
    ///
    /// # Errors
    /// Arrow's, if the size of a key is not known.
    pub(crate) fn sort_bytes(&self) -> Result<usize> {
        let rows = self.batch.num_rows() * SORT_BYTES_PER_ROW;
        let keys = self.keys.iter().map(|key| Ok(key.values.to_data().get_slice_memory_size()?));
        Ok(rows + keys.sum::<Result<usize>>()?)
    }
}

/// Batches, and one array of each key.
#[derive(Debug)]
pub(crate) struct Joined {
    rows: NumberedRows,
    columns: Vec<SortColumn>,
    /// The memory of the batches.
    batch_bytes: usize,
    /// As in the run.
    by_arrow: bool,
}

/// Rows in order.
#[derive(Debug)]
pub(crate) struct Sorted {
    rows: NumberedRows,
    order: ScalarBuffer<u32>,
    /// As in the batches that were joined.
    batch_bytes: usize,
}

impl Run {
    /// A run without rows, of batches from `partitions` partitions.
    pub(crate) fn new(partitions: usize) -> Self {
        let partitions = (0..partitions).map(|_| Vec::new()).collect();
        Self { partitions, rows: 0, counter: RecordBatchMemoryCounter::new(), by_arrow: false }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a batch, and returns the bytes by which the needs of the run grew: the memory of the batch and of its keys that no other batch of the run shares,
    /// and what the sort needs for its rows.
    ///
    /// # Errors
    /// Arrow's, if the size of a key is not known.
    pub(crate) fn push(&mut self, partition: usize, part: Part) -> Result<usize> {
        let mut bytes = part.sort_bytes()? + self.counter.count_batch(&part.batch);
        for key in &part.keys {
            bytes += self.counter.count_batch(&RecordBatch::try_from_iter([("key", key.values.clone())])?);
        }
        self.rows += part.batch.num_rows();
        self.partitions[partition].push(part);
        Ok(bytes)
    }

    /// Takes out the batch that was pushed last, of `partition`.
    pub(crate) fn pop(&mut self, partition: usize) -> Option<Part> {
        let part = self.partitions[partition].pop()?;
        self.rows -= part.batch.num_rows();
        Some(part)
    }

    /// Makes arrow's kernel sort this run. Returns the bytes that it then needs: what DataFusion's own sort reserves.
    pub(crate) fn sort_by_arrow(&mut self) -> usize {
        self.by_arrow = true;
        self.partitions.iter().flatten().map(|part| 2 * get_record_batch_memory_size(&part.batch)).sum()
    }

    /// Joins the keys of all batches, on up to `threads` threads. This blocks.
    ///
    /// # Errors
    /// Arrow's, if the columns cannot be joined.
    pub(crate) fn join(self, schema: SchemaRef, threads: usize) -> Result<Joined> {
        let batch_bytes = self.counter.memory_usage();
        let mut batches = Vec::new();
        let mut keys: Vec<Vec<ArrayRef>> = Vec::new();
        let mut options = Vec::new();
        for part in self.partitions.into_iter().flatten() {
            keys.resize_with(part.keys.len(), Vec::new);
            options = part.keys.iter().map(|key| key.options).collect();
            for (column, key) in keys.iter_mut().zip(part.keys) {
                column.push(key.values);
            }
            batches.push(part.batch);
        }
        let columns = keys
            .into_iter()
            .zip(options)
            .map(|(parts, options)| Ok(SortColumn { values: joined(parts, threads)?, options }))
            .collect::<Result<_>>()?;
        Ok(Joined { rows: NumberedRows::new(schema, batches)?, columns, batch_bytes, by_arrow: self.by_arrow })
    }
}

impl Joined {
    /// Sorts the rows, on up to `threads` threads beside those of the backend. This blocks. If the backend fails, arrow's kernel sorts, and the reason is
    /// returned, too.
    ///
    /// # Errors
    /// Arrow's, if the columns cannot be compared.
    pub(crate) fn sort(self, backend: &Timed, threads: usize) -> Result<(Sorted, Option<Fallback>)> {
        let Self { rows, columns, batch_bytes, by_arrow } = self;
        if rows.is_empty() {
            return Ok((Sorted { rows, order: Vec::new().into(), batch_bytes }, None));
        }
        let by_backend = if by_arrow {
            Err("the words of polysort do not fit the memory limit".to_owned())
        } else {
            polysort_arrow::lexsort_to_indices_on_threads(backend, &columns, None, threads).map_err(|error| error.to_string())
        };
        let (order, fallback) = match by_backend {
            Ok(order) => (order, None),
            Err(why) => (lexsort_to_indices(&columns, None)?, Some(Fallback { rows: rows.len(), why })),
        };
        Ok((Sorted { rows, order: order.values().clone(), batch_bytes }, fallback))
    }
}

impl Sorted {
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// The bytes of memory of the batches.
    pub(crate) fn batch_bytes(&self) -> usize {
        self.batch_bytes
    }

    /// Whether rows that follow each other in the result are so far from each other in the batches that they are taken faster when they are packed.
    pub(crate) fn is_scattered(&self) -> bool {
        if self.len() < MANY_ROWS {
            return false;
        }
        let (mut near, mut all) = (0, 0);
        for sample in 0..SAMPLES {
            let start = self.len() / SAMPLES * sample;
            let mut rows = self.order[start..start + SAMPLE_ROWS].to_vec();
            rows.sort_unstable();
            near += rows.windows(2).filter(|rows| rows[1] - rows[0] <= NEAR_ROWS).count();
            all += rows.len() - 1;
        }
        near < all / 2
    }

    /// The bytes of memory that [`packed`](Self::packed) needs beside the batches, which other owners may keep. `None` if it would change nothing.
    pub(crate) fn packed_bytes(&self) -> Option<usize> {
        self.rows.packed_bytes()
    }

    /// The same rows, packed on up to `threads` threads.
    pub(crate) fn packed(self, threads: usize) -> Self {
        let batch_bytes = self.batch_bytes + self.packed_bytes().unwrap_or(0);
        Self { rows: self.rows.packed(threads), batch_bytes, ..self }
    }

    /// The bytes of memory that these rows need, with `output_rows` rows of the result.
    pub(crate) fn bytes(&self, output_rows: usize) -> usize {
        self.batch_bytes + self.len() * ORDER_BYTES_PER_ROW + self.batch_bytes / self.len().max(1) * output_rows
    }

    /// Up to `len` rows of the result, from row `start` on.
    pub(crate) fn batch(&self, start: usize, len: usize) -> Result<RecordBatch> {
        let end = self.len().min(start + len);
        Ok(self.rows.take(&self.order[start..end])?)
    }

    /// The rows that [`batch`](Self::batch) returns, as one batch, or as several if one would have more bytes of strings than offsets can say, or a dictionary with
    /// more values than its keys can number.
    pub(crate) fn batches(&self, start: usize, len: usize) -> Result<Vec<RecordBatch>> {
        let len = len.min(self.len() - start);
        let is_too_large =
            |error: &ArrowError| matches!(error, ArrowError::OffsetOverflowError(_) | ArrowError::DictionaryKeyOverflowError);
        match self.batch(start, len) {
            Err(DataFusionError::ArrowError(error, _)) if len > 1 && is_too_large(&error) => {
                let mut batches = self.batches(start, len / 2)?;
                batches.extend(self.batches(start + len / 2, len - len / 2)?);
                Ok(batches)
            }
            batch => Ok(vec![batch?]),
        }
    }

    /// The rows that [`batches`](Self::batches) returns, in dictionaries that have the values of these rows alone.
    ///
    /// A dictionary of `batches` can have the values of all rows. In a file that would cost memory: DataFusion's merge of files reserves enough for the largest
    /// batch of each file.
    pub(crate) fn small_batches(&self, start: usize, len: usize) -> Result<Vec<RecordBatch>> {
        let shrink = |column: &ArrayRef| match column.as_any_dictionary_opt() {
            Some(dictionary) => garbage_collect_any_dictionary(dictionary),
            None => Ok(column.clone()),
        };
        let small = |batch: RecordBatch| {
            let columns = batch.columns().iter().map(shrink).collect::<Result<_, _>>()?;
            Ok(RecordBatch::try_new(batch.schema(), columns)?)
        };
        self.batches(start, len)?.into_iter().map(small).collect()
    }
}

/// One array of all `parts`. Up to `threads` threads copy numbers.
fn joined(parts: Vec<ArrayRef>, threads: usize) -> Result<ArrayRef, ArrowError> {
    if let [part] = &parts[..] {
        return Ok(part.clone());
    }
    macro_rules! numbers {
        ($type:ty) => {
            return joined_numbers::<$type>(&parts, threads)
        };
    }
    let rows: usize = parts.iter().map(|part| part.len()).sum();
    if threads > 1 && rows >= MANY_ROWS && parts.iter().all(|part| part.null_count() == 0) {
        downcast_primitive! {
            parts[0].data_type() => (numbers),
            _ => {}
        }
    }
    let join = |parts: &[ArrayRef]| concat(&parts.iter().map(AsRef::as_ref).collect::<Vec<_>>());
    let cast_all = |wide: &DataType| parts.iter().map(|part| cast(part, wide)).collect::<Result<Vec<_>, _>>();
    if let DataType::Dictionary(_, values) = parts[0].data_type()
        && matches!(**values, DataType::Utf8View | DataType::BinaryView)
    {
        // `concat` panics if these have more values than keys can number.
        return join(&cast_all(values)?);
    }
    join(&parts).or_else(|error| {
        // The strings of all parts have more bytes than an offset of 32 bits can say, or more different values than a dictionary has keys.
        let wide = match parts[0].data_type() {
            DataType::Utf8 => DataType::LargeUtf8,
            DataType::Binary => DataType::LargeBinary,
            DataType::Dictionary(_, values) => match values.as_ref() {
                DataType::Utf8 => DataType::LargeUtf8,
                DataType::Binary => DataType::LargeBinary,
                other => other.clone(),
            },
            _ => return Err(error),
        };
        join(&cast_all(&wide)?)
    })
}

/// One array of all `parts`, which have no nulls. Each thread copies neighboring parts.
fn joined_numbers<T: ArrowPrimitiveType>(parts: &[ArrayRef], threads: usize) -> Result<ArrayRef, ArrowError> {
    let rows: usize = parts.iter().map(|part| part.len()).sum();
    let rows_per_thread = rows.div_ceil(threads);
    let mut values = vec![T::default_value(); rows];
    std::thread::scope(|scope| {
        let (mut parts, mut rest) = (parts, &mut values[..]);
        while !parts.is_empty() {
            let (mut count, mut len) = (0, 0);
            while count < parts.len() && len < rows_per_thread {
                len += parts[count].len();
                count += 1;
            }
            let (own, others) = parts.split_at(count);
            let (mut to, left) = std::mem::take(&mut rest).split_at_mut(len);
            (parts, rest) = (others, left);
            scope.spawn(move || {
                for part in own {
                    let values = part.as_primitive::<T>().values();
                    let (now, later) = to.split_at_mut(values.len());
                    now.copy_from_slice(values);
                    to = later;
                }
            });
        }
    });
    Ok(Arc::new(PrimitiveArray::<T>::try_new(values.into(), None)?.with_data_type(parts[0].data_type().clone())))
}
