//! Batches that are sorted together.

use crate::fallback::Fallback;
use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::buffer::ScalarBuffer;
use datafusion::arrow::compute::{cast, concat, lexsort_to_indices};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::common::utils::memory::{RecordBatchMemoryCounter, get_record_batch_memory_size};
use datafusion::error::Result;
use datafusion::physical_expr::LexOrdering;
use polysort_arrow::{NumberedRows, SortColumn};
use polysort_core::DynBackend;

/// Bytes that a sort needs for each row, beside the batches and one array of each key: a word of key bits, as much scratch of the backend, the
/// number of the row, and a range for every second row that is equal to others (`polysort-arrow` makes these).
const SORT_BYTES_PER_ROW: usize = 8 + 8 + 4 + 8;

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
}

/// Rows in order.
#[derive(Debug)]
pub(crate) struct Sorted {
    rows: NumberedRows,
    order: ScalarBuffer<u32>,
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

    /// Adds a batch, and returns the bytes by which the needs of the run grew: the memory of the batch that no other batch of the run shares, its
    /// keys, and what the sort needs for its rows.
    ///
    /// # Errors
    /// Arrow's, if the size of a key is not known.
    pub(crate) fn push(&mut self, partition: usize, part: Part) -> Result<usize> {
        let mut bytes = self.counter.count_batch(&part.batch) + part.batch.num_rows() * SORT_BYTES_PER_ROW;
        for key in &part.keys {
            let own = RecordBatch::try_from_iter([("key", key.values.clone())])?;
            bytes += self.counter.count_batch(&own) + key.values.to_data().get_slice_memory_size()?;
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

    /// The bytes that are needed once the rows are in order, with `output_rows` rows of the result.
    pub(crate) fn bytes_in_order(&self, output_rows: usize) -> usize {
        let batches = self.counter.memory_usage();
        batches + self.rows * ORDER_BYTES_PER_ROW + batches / self.rows.max(1) * output_rows
    }

    /// Sorts the rows. This blocks. If the backend fails, arrow's kernel sorts, and the reason is returned, too.
    ///
    /// # Errors
    /// Arrow's, if the columns cannot be joined or compared.
    pub(crate) fn sort(self, schema: SchemaRef, backend: &DynBackend) -> Result<(Sorted, Option<Fallback>)> {
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
        let rows = NumberedRows::new(schema, batches)?;
        if rows.is_empty() {
            return Ok((Sorted { rows, order: Vec::new().into() }, None));
        }
        let columns = keys
            .into_iter()
            .zip(options)
            .map(|(parts, options)| Ok(SortColumn { values: joined(parts)?, options }))
            .collect::<Result<Vec<_>>>()?;
        let by_backend = if self.by_arrow {
            Err("the words of polysort do not fit the memory limit".to_owned())
        } else {
            polysort_arrow::lexsort_to_indices(backend, &columns, None).map_err(|error| error.to_string())
        };
        let (order, fallback) = match by_backend {
            Ok(order) => (order, None),
            Err(why) => (lexsort_to_indices(&columns, None)?, Some(Fallback { rows: self.rows, why })),
        };
        Ok((Sorted { rows, order: order.values().clone() }, fallback))
    }
}

impl Sorted {
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Up to `len` rows of the result, from row `start` on.
    pub(crate) fn batch(&self, start: usize, len: usize) -> Result<RecordBatch> {
        let end = self.len().min(start + len);
        Ok(self.rows.take(&self.order[start..end])?)
    }
}

/// One array of all `parts`.
fn joined(parts: Vec<ArrayRef>) -> Result<ArrayRef, ArrowError> {
    if let [part] = &parts[..] {
        return Ok(part.clone());
    }
    let join = |parts: &[ArrayRef]| concat(&parts.iter().map(AsRef::as_ref).collect::<Vec<_>>());
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
        join(&parts.iter().map(|part| cast(part, &wide)).collect::<Result<Vec<_>, _>>()?)
    })
}
