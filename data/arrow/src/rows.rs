//! Rows of several record batches, by one number each.

use crate::error::external;
use crate::gather::{Gather, Place, column};
use crate::packed::Packed;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::take::take_arrays;
use core::fmt;
use polysort_core::Error;
use std::sync::Arc;

/// Rows per entry of the table that finds the batch of a row, as a power of two. Half of DataFusion's usual batch of 8192 rows, so that a row is
/// in the batch of its entry or in one of the next two.
const ENTRY_BITS: u32 = 12;

/// Record batches of one schema, whose rows are numbered from 0 up, batch after batch.
///
/// ```
/// use arrow_array::{Int32Array, RecordBatch};
/// use arrow_schema::{DataType, Field, Schema};
/// use polysort_arrow::NumberedRows;
/// use std::sync::Arc;
/// let schema = Arc::new(Schema::new(vec![Field::new("id", DataType::Int32, false)]));
/// let batch = |ids: &[i32]| RecordBatch::try_new(schema.clone(), vec![Arc::new(Int32Array::from(ids.to_vec()))]);
/// let rows = NumberedRows::new(schema.clone(), vec![batch(&[5, 1])?, batch(&[4])?])?;
/// assert_eq!(rows.take(&[2, 0])?, batch(&[4, 5])?);
/// # Ok::<(), arrow_schema::ArrowError>(())
/// ```
#[derive(Clone)]
pub struct NumberedRows {
    schema: SchemaRef,
    /// None if the rows are packed.
    batches: Vec<RecordBatch>,
    /// One entry for each column if there are several batches, `None` for a packed column.
    columns: Vec<Option<Arc<dyn Gather>>>,
    packed: Option<Arc<Packed>>,
    /// The number of the first row of each batch, and the number of all rows.
    starts: Vec<usize>,
    /// The batch of every row whose number is a multiple of the entry's rows.
    entries: Vec<u32>,
}

impl fmt::Debug for NumberedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let packed = self.packed.is_some();
        f.debug_struct("NumberedRows").field("schema", &self.schema).field("len", &self.len()).field("packed", &packed).finish()
    }
}

impl NumberedRows {
    /// Numbers the rows of `batches`.
    ///
    /// # Errors
    /// [`ArrowError::SchemaError`] if a batch does not have the types of `schema`, [`ArrowError::ExternalError`] with a
    /// [`polysort_core::Error`] if there are more than 2³² rows.
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Result<Self, ArrowError> {
        let types = || schema.fields().iter().map(|field| field.data_type());
        if let Some(batch) = batches.iter().find(|batch| !batch.columns().iter().map(|column| column.data_type()).eq(types())) {
            return Err(ArrowError::SchemaError(format!("a batch has the schema {}, not {schema}", batch.schema())));
        }
        let mut starts = vec![0];
        let mut entries = Vec::new();
        for (batch, index) in batches.iter().zip(0..) {
            let end = starts[starts.len() - 1] + batch.num_rows();
            starts.push(end);
            entries.resize(end.div_ceil(1 << ENTRY_BITS), index);
        }
        let len = starts[batches.len()];
        if len as u64 > 1 << 32 {
            return Err(external(Error::TooLong { what: "rows of 32 bits".into(), asked: len as u64, limit: 1 << 32 }));
        }
        let columns = if batches.len() > 1 { schema.fields().len() } else { 0 };
        let columns = (0..columns).map(|index| Some(column(&batches, index))).collect();
        Ok(Self { schema, batches, columns, packed: None, starts, entries })
    }

    /// Copies the numbers and the string views of each row side by side, on up to `threads` threads, and drops their columns; a column of another type stays as it is.
    /// Then [`take`](Self::take) needs much less time for rows in a random order, as it reads few cache lines for each row instead of one for each value. Rows in
    /// about the order that they have are taken faster without this. At most as many batches as there are threads are in memory twice, unless other owners keep the batches.
    ///
    /// With fewer than two such columns, or one batch at most, nothing changes.
    #[must_use]
    pub fn packed(mut self, threads: usize) -> Self {
        if self.batches.len() < 2 {
            return self;
        }
        match Packed::new(std::mem::take(&mut self.batches), threads) {
            Ok(packed) => {
                packed.columns().for_each(|column| self.columns[column] = None);
                self.packed = Some(Arc::new(packed));
            }
            Err(batches) => self.batches = batches,
        }
        self
    }

    /// The bytes that [`packed`](Self::packed) allocates for the rows, or `None` if it would change nothing.
    pub fn packed_bytes(&self) -> Option<usize> {
        if self.batches.len() < 2 { None } else { Packed::bytes(&self.batches) }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.starts[self.starts.len() - 1]
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the rows with these numbers, in this order, as one batch.
    ///
    /// # Errors
    /// [`ArrowError::OffsetOverflowError`] if the strings of a column have more bytes than its offsets can say, and
    /// [`ArrowError::DictionaryKeyOverflowError`] if a dictionary has more values than its keys can number. Fewer rows may fit.
    ///
    /// # Panics
    /// If a number is not below [`len`](Self::len), and the rows have a column.
    pub fn take(&self, rows: &[u32]) -> Result<RecordBatch, ArrowError> {
        let columns = match &self.batches[..] {
            [] if self.is_empty() => {
                assert!(rows.is_empty(), "row {} of no rows", rows[0]);
                return Ok(RecordBatch::new_empty(self.schema.clone()));
            }
            [batch] => take_arrays(batch.columns(), &UInt32Array::from(rows.to_vec()), None)?,
            _ => self.gather(&rows.iter().map(|&row| self.place(row as usize)).collect::<Vec<_>>())?,
        };
        let len = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &len)
    }

    /// The values of all columns at `places`.
    fn gather(&self, places: &[Place]) -> Result<Vec<ArrayRef>, ArrowError> {
        let mut packed: Vec<(usize, ArrayRef)> = match &self.packed {
            Some(packed) => packed.columns().zip(packed.gather(places)?).collect(),
            None => Vec::new(),
        };
        packed.sort_unstable_by_key(|&(index, _)| index);
        let mut packed = packed.into_iter().map(|(_, values)| values);
        let values = |column: &Option<Arc<dyn Gather>>| match column {
            Some(column) => column.gather(places),
            None => Ok(packed.next().expect("every column without a `Gather` is packed")),
        };
        self.columns.iter().map(values).collect()
    }

    /// The batch of a row, and its index in the batch.
    fn place(&self, row: usize) -> Place {
        let mut batch = self.entries[row >> ENTRY_BITS] as usize;
        while self.starts[batch + 1] <= row {
            batch += 1;
        }
        (batch, row - self.starts[batch])
    }
}
