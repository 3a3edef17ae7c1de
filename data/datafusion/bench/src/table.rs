//! TPC-H's lineitem, in memory or in Parquet files.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::error::{DataFusionError, Result};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use datafusion::parquet::basic::Compression;
use datafusion::parquet::file::properties::WriterProperties;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use tpchgen::generators::LineItemGenerator;
use tpchgen_arrow::LineItemArrow;

/// Rows that the generator makes at a time: DataFusion's usual batch.
pub(crate) const BATCH_ROWS: usize = 8192;

/// Rows of a row group: DuckDB's usual number, rounded up to a power of two. DuckDB and polars read row groups in parallel.
const ROW_GROUP_ROWS: usize = 1 << 17;

/// Where the table is.
pub(crate) enum Table {
    /// Batches of each partition.
    Memory(SchemaRef, Vec<Vec<RecordBatch>>),
    /// A folder of Parquet files.
    Files(PathBuf),
}

impl Table {
    /// The table in memory, and its number of rows. A thread makes each partition.
    pub(crate) async fn in_memory(scale: f64, partitions: usize) -> Result<(Self, usize)> {
        let table = by_part(partitions, move |part| Ok(lines(scale, part, partitions).collect::<Result<Vec<_>, _>>()?)).await?;
        let rows = table.iter().flatten().map(RecordBatch::num_rows).sum();
        Ok((Self::Memory(LineItemArrow::schema_ref(), table), rows))
    }

    /// The table in Parquet files of `folder`, and its number of rows. If there is no such folder, a thread makes each of `partitions` files.
    pub(crate) async fn in_files(folder: &Path, scale: f64, partitions: usize) -> Result<(Self, usize)> {
        if !folder.exists() {
            // A folder has all files, or it does not exist.
            let unfinished = folder.with_extension("part");
            fs::create_dir_all(&unfinished)?;
            let to = unfinished.clone();
            by_part(partitions, move |part| {
                let file = File::create(to.join(format!("lineitem-{part:03}.parquet")))?;
                let properties = WriterProperties::builder()
                    .set_compression(Compression::SNAPPY)
                    .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
                    .build();
                let mut writer = ArrowWriter::try_new(file, LineItemArrow::schema_ref(), Some(properties))?;
                for batch in lines(scale, part, partitions) {
                    writer.write(&batch?)?;
                }
                writer.close()?;
                Ok(())
            })
            .await?;
            fs::rename(unfinished, folder)?;
        }
        let mut rows = 0;
        for entry in fs::read_dir(folder)? {
            let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(entry?.path())?)?;
            rows += reader.metadata().file_metadata().num_rows() as usize;
        }
        Ok((Self::Files(folder.to_owned()), rows))
    }
}

/// The batches of part `part` of `parts`, from 1 up.
fn lines(scale: f64, part: usize, parts: usize) -> LineItemArrow {
    LineItemArrow::new(LineItemGenerator::new(scale, part as i32, parts as i32)).with_batch_size(BATCH_ROWS)
}

/// Calls `make` with each number from 1 to `parts`, on a thread each.
async fn by_part<T: Send + 'static>(parts: usize, make: impl Fn(usize) -> Result<T> + Clone + Send + 'static) -> Result<Vec<T>> {
    let start = |part| {
        let make = make.clone();
        tokio::task::spawn_blocking(move || make(part))
    };
    let mut all = Vec::new();
    for part in (1..=parts).map(start).collect::<Vec<_>>() {
        all.push(part.await.map_err(|error| DataFusionError::External(Box::new(error)))??);
    }
    Ok(all)
}
