//! Writes record batches as a Parquet or an Arrow IPC file.

use super::format::ColumnFormat;
use super::source::Kept;
use crate::output::Writing;
use anyhow::Result;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::take::take;
use parquet::arrow::ArrowWriter;
use parquet::basic::Encoding;
use parquet::file::metadata::{ParquetMetaData, SortingColumn};
use parquet::file::properties::WriterProperties;
use polysort_arrow::SortBy;
use std::sync::Arc;

/// The key under which a Parquet file has its Arrow schema. The writer adds it anew.
const ARROW_SCHEMA: &str = "ARROW:schema";

/// A writer of record batches.
pub(super) enum ColumnWriter<'w> {
    Parquet(SchemaRef, Box<ArrowWriter<&'w mut Writing>>),
    Arrow(SchemaRef, Box<FileWriter<&'w mut Writing>>),
}

impl<'w> ColumnWriter<'w> {
    /// Begins a file with rows that are sorted by `by`. It holds about `bytes` bytes of a row group.
    pub(super) fn new(
        writing: &'w mut Writing,
        format: ColumnFormat,
        schema: &SchemaRef,
        (kept, by, bytes): (&Kept, &[SortBy], usize),
    ) -> Result<Self> {
        Ok(match format {
            ColumnFormat::Parquet => {
                let properties = properties(schema, kept.parquet.as_deref(), by, bytes);
                Self::Parquet(schema.clone(), Box::new(ArrowWriter::try_new(writing, schema.clone(), Some(properties))?))
            }
            ColumnFormat::Arrow => {
                let schema = without_dictionaries(schema);
                let mut writer = FileWriter::try_new(writing, &schema)?;
                kept.custom.iter().for_each(|(key, value)| writer.write_metadata(key, value));
                Self::Arrow(schema, Box::new(writer))
            }
        })
    }

    /// Writes rows.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::Parquet(schema, writer) => writer.write(&RecordBatch::try_new(schema.clone(), batch.columns().to_vec())?)?,
            Self::Arrow(schema, writer) => {
                let columns = batch.columns().iter().map(decoded).collect::<Result<_>>()?;
                writer.write(&RecordBatch::try_new(schema.clone(), columns)?)?;
            }
        }
        Ok(())
    }

    /// Ends the file.
    pub(super) fn finish(self) -> Result<()> {
        match self {
            Self::Parquet(_, writer) => {
                writer.close()?;
            }
            Self::Arrow(_, mut writer) => writer.finish()?,
        }
        Ok(())
    }
}

/// The encodings of dictionaries. (The first one is the older name of the second.)
#[allow(deprecated, reason = "older files have it")]
const DICTIONARIES: [Encoding; 2] = [Encoding::PLAIN_DICTIONARY, Encoding::RLE_DICTIONARY];

/// Properties of a Parquet file: the compression of each column, whether it has a dictionary, the rows of a row group, and the metadata are those of the input, if
/// that was one.
fn properties(schema: &Schema, input: Option<&ParquetMetaData>, by: &[SortBy], bytes: usize) -> WriterProperties {
    let mut properties = WriterProperties::builder().set_max_row_group_bytes(Some(bytes.max(1)));
    if let Some(input) = input {
        let rows = input.row_groups().iter().map(|group| group.num_rows() as usize).max().filter(|rows| *rows > 0);
        if rows.is_some() {
            properties = properties.set_max_row_group_row_count(rows);
        }
        for column in input.row_groups().first().map_or(&[][..], |group| group.columns()) {
            let has_dictionary = column.encodings().any(|encoding| DICTIONARIES.contains(&encoding));
            properties = properties
                .set_column_compression(column.column_path().clone(), column.compression())
                .set_column_dictionary_enabled(column.column_path().clone(), has_dictionary);
        }
        let entries = input.file_metadata().key_value_metadata();
        let entries = entries.map(|entries| entries.iter().filter(|entry| entry.key != ARROW_SCHEMA).cloned().collect());
        properties = properties.set_key_value_metadata(entries);
    }
    properties.set_sorting_columns(sorting(schema, by)).build()
}

/// What a row group says about its order, as far as it can: leaves are counted, so the columns before and at the last key must have one each.
fn sorting(schema: &Schema, by: &[SortBy]) -> Option<Vec<SortingColumn>> {
    let last = by.iter().map(|by| by.column).max()?;
    let is_flat = |field: &Arc<Field>| !field.data_type().is_nested();
    let column = |by: &SortBy| SortingColumn {
        column_idx: by.column as i32,
        descending: by.options.descending,
        nulls_first: by.options.nulls_first,
    };
    schema.fields()[..=last].iter().all(is_flat).then(|| by.iter().map(column).collect())
}

/// The schema with the values of dictionaries instead of these. An Arrow file has one dictionary for a column, and sorted batches have several.
fn without_dictionaries(schema: &SchemaRef) -> SchemaRef {
    let field = |field: &Arc<Field>| match field.data_type() {
        DataType::Dictionary(_, values) => Arc::new(field.as_ref().clone().with_data_type(values.as_ref().clone())),
        _ => field.clone(),
    };
    Arc::new(Schema::new_with_metadata(schema.fields().iter().map(field).collect::<Vec<_>>(), schema.metadata().clone()))
}

fn decoded(column: &ArrayRef) -> Result<ArrayRef> {
    Ok(match column.as_any_dictionary_opt() {
        Some(dictionary) => take(dictionary.values(), dictionary.keys(), None)?,
        None => column.clone(),
    })
}
