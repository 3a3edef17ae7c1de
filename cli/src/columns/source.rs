//! Reads Parquet and Arrow IPC files as record batches.

use super::format::ColumnFormat;
use anyhow::{Context, Result, ensure};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::ParquetMetaData;
use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

/// Rows of a record batch, at most.
const BATCH_ROWS: usize = 8192;

/// A file as record batches.
pub(super) struct Batches {
    pub(super) schema: SchemaRef,
    /// The number of rows, if the file says it.
    pub(super) rows: Option<u64>,
    pub(super) kept: Kept,
    pub(super) batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>,
}

/// What the output keeps of the file beside rows and schema.
#[derive(Default)]
pub(super) struct Kept {
    /// The metadata of a Parquet file.
    pub(super) parquet: Option<Arc<ParquetMetaData>>,
    /// The metadata of an Arrow file that is not part of its schema.
    pub(super) custom: HashMap<String, String>,
}

/// Opens a file. A batch has about `bytes` bytes, if the file leaves the choice.
pub(super) fn open(path: &Path, format: ColumnFormat, bytes: usize) -> Result<Batches> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
    let is_file = file.metadata().with_context(|| format!("cannot read {name}"))?.is_file();
    ensure!(is_file, "cannot read {name}: it is no regular file, and the rows are found from its end");
    match format {
        ColumnFormat::Parquet => parquet(file, bytes).with_context(|| format!("cannot read {name}")),
        ColumnFormat::Arrow => arrow(file).with_context(|| format!("cannot read {name}")),
    }
}

fn parquet(file: File, bytes: usize) -> Result<Batches> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
    let (schema, metadata) = (builder.schema().clone(), builder.metadata().clone());
    let rows: u64 = metadata.row_groups().iter().map(|group| group.num_rows() as u64).sum();
    let all: u64 = metadata.row_groups().iter().map(|group| group.total_byte_size() as u64).sum();
    let batch_rows = (bytes as u64 / (all / rows.max(1)).max(1)).clamp(64, BATCH_ROWS as u64) as usize;
    let batches = Box::new(builder.with_batch_size(batch_rows).build()?);
    Ok(Batches { schema, rows: Some(rows), kept: Kept { parquet: Some(metadata), custom: HashMap::new() }, batches })
}

fn arrow(file: File) -> Result<Batches> {
    let reader = FileReader::try_new(BufReader::new(file), None)?;
    let kept = Kept { parquet: None, custom: reader.custom_metadata().clone() };
    Ok(Batches { schema: reader.schema(), rows: None, kept, batches: Box::new(reader) })
}

/// The bytes of the rows of a batch. A batch may refer to larger memory, which other batches share.
pub(super) fn bytes_of(batch: &RecordBatch) -> usize {
    let bytes =
        |array: &Arc<dyn Array>| array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size());
    batch.columns().iter().map(bytes).sum()
}
