//! A spill file of sorted runs: each is a stream of Arrow IPC, one after another.

use anyhow::{Context, Result};
use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::Schema;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::ops::Range;
#[cfg(unix)]
use std::os::unix::fs::FileExt;
#[cfg(windows)]
use std::os::windows::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that are written at a time.
const WRITTEN_BYTES: usize = 1 << 16;

/// Bytes of the buffer of each run's reader. It serves the heads of batches: a reader reads longer columns past its buffer.
const READ_BYTES: usize = 1 << 12;

/// Sorted runs in a file without a name.
pub(super) struct Spill {
    folder: PathBuf,
    file: Arc<File>,
    runs: Vec<Range<u64>>,
}

/// The part of the file that is a run.
pub(super) struct Section {
    file: Arc<File>,
    range: Range<u64>,
}

/// A reader of the batches of a run.
pub(super) type RunReader = StreamReader<BufReader<Section>>;

impl Spill {
    pub(super) fn create(folder: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).with_context(|| failed(folder, "created"))?;
        Ok(Self { folder: folder.into(), file: Arc::new(file), runs: vec![] })
    }

    /// Appends a run. `batches` hands over its batches.
    pub(super) fn append(
        &mut self,
        schema: &Schema,
        batches: impl FnOnce(&mut dyn FnMut(&RecordBatch) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let begin = self.runs.last().map_or(0, |run| run.end);
        let written = || failed(&self.folder, "written");
        let mut writer =
            StreamWriter::try_new(BufWriter::with_capacity(WRITTEN_BYTES, &*self.file), schema).with_context(written)?;
        batches(&mut |batch| writer.write(batch).with_context(written))?;
        writer.finish().with_context(written)?;
        let mut buffer = writer.into_inner().with_context(written)?;
        buffer.flush().with_context(written)?;
        let end = (&*self.file).stream_position().with_context(written)?;
        self.runs.push(begin..end);
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// Opens some runs, to be read at the same time.
    pub(super) fn open(&self, runs: Range<usize>) -> Result<Vec<RunReader>> {
        let open = |range: &Range<u64>| {
            let section = Section { file: self.file.clone(), range: range.clone() };
            StreamReader::try_new(BufReader::with_capacity(READ_BYTES, section), None)
        };
        let readers = self.runs[runs].iter().map(open).collect::<Result<Vec<_>, _>>();
        readers.with_context(|| failed(&self.folder, "read"))
    }

    /// Returns the error of a read.
    pub(super) fn read_failed(&self) -> String {
        failed(&self.folder, "read")
    }
}

impl Read for Section {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.range.end - self.range.start).unwrap_or(usize::MAX);
        let most = left.min(buffer.len());
        // Readers of other runs may read the file at the same time.
        #[cfg(unix)]
        let count = self.file.read_at(&mut buffer[..most], self.range.start)?;
        #[cfg(windows)]
        let count = self.file.seek_read(&mut buffer[..most], self.range.start)?;
        if count == 0 && most > 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it has lost its end"));
        }
        self.range.start += count as u64;
        Ok(count)
    }
}

fn failed(folder: &Path, what: &str) -> String {
    let hint = match what {
        "read" => "",
        _ => "; is there room in the folder for all rows, uncompressed? if not, name another folder with --temp",
    };
    format!("a spill file in {} could not be {what}{hint}", folder.display())
}
