//! Parts of a file, each of which is a file for DataFusion.
//!
//! Each file of DataFusion's disk manager stays open until it is removed, and the system limits a process's open files. So several blocks share one file: those
//! that are not written at the same time follow each other.

use bytes::Bytes;
use datafusion::common::exec_datafusion_err;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{DiskManager, SpillFile, SpillWriter, TempFileFactory};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most bytes that one task reads.
const READ_BYTES: usize = 256 << 10;

/// The most bytes of a chunk of a stream of `len` bytes. A batch that lies in one chunk keeps all of it in memory; a batch across several is copied. A multiple of 64,
/// to which DataFusion aligns the buffers in a file.
pub(crate) fn chunk_bytes(len: u64) -> usize {
    (len / 64).next_multiple_of(64).clamp(8 << 10, READ_BYTES as u64) as usize
}

/// Gives each writer a part of a file. A new part begins where the last finished part of its file ends.
pub(crate) struct FileParts {
    disk_manager: Arc<DiskManager>,
    /// Files without a writer, each with its length in bytes.
    free: Free,
}

type Free = Arc<Mutex<Vec<(Arc<dyn SpillFile>, u64)>>>;

impl FileParts {
    /// Parts of files of `disk_manager`.
    pub(crate) fn new(disk_manager: Arc<DiskManager>) -> Self {
        Self { disk_manager, free: Free::default() }
    }

    /// Forgets all files: each is removed when its last part is dropped.
    pub(crate) fn end(&self) {
        files_of(&self.free).clear();
    }
}

impl fmt::Debug for FileParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileParts").finish_non_exhaustive()
    }
}

impl TempFileFactory for FileParts {
    fn create_temp_file(&self, description: &str) -> Result<Arc<dyn SpillFile>> {
        let free = files_of(&self.free).pop();
        let (file, start) = match free {
            Some(free) => free,
            None => (self.disk_manager.create_tmp_file(description)?, 0),
        };
        // Files of a user's factory are not shared: their bytes on the disk may differ from those of the stream, and they may take none after `finish`.
        let folders = self.disk_manager.temp_dir_paths();
        match file.path().map(Path::to_owned) {
            Some(path) if folders.iter().any(|folder| path.starts_with(folder)) => {
                Ok(Arc::new(FilePart { file, path, start, len: Arc::default(), free: self.free.clone() }))
            }
            _ => Ok(file),
        }
    }
}

/// The list of files. No code panics while it has the list.
fn files_of(free: &Free) -> MutexGuard<'_, Vec<(Arc<dyn SpillFile>, u64)>> {
    free.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of a file.
struct FilePart {
    file: Arc<dyn SpillFile>,
    path: PathBuf,
    start: u64,
    /// The bytes that are written.
    len: Arc<AtomicU64>,
    free: Free,
}

impl FilePart {
    fn len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }
}

impl SpillFile for FilePart {
    fn size(&self) -> Option<u64> {
        Some(self.len())
    }

    fn read_stream(&self) -> Result<BoxStream<'static, Result<Bytes>>> {
        let (file, path, end) = (self.file.clone(), self.path.clone(), self.start + self.len());
        let chunk_bytes = chunk_bytes(self.len());
        let task_bytes = READ_BYTES.min(4 * chunk_bytes) as u64;
        let read = move |(open, start): (Option<File>, u64)| {
            let (file, path) = (file.clone(), path.clone());
            async move {
                if start == end {
                    return Ok(None);
                }
                let task = move || {
                    // The file is not removed while it is read.
                    let _file = file;
                    let mut open = match open {
                        Some(open) => open,
                        None => open_at(&path, start)?,
                    };
                    let chunks = read_chunks(&mut open, (end - start).min(task_bytes) as usize, chunk_bytes)?;
                    Ok::<_, io::Error>((chunks, open))
                };
                let read = SpawnedTask::spawn_blocking(task).join_unwind().await;
                let (chunks, open) = read.map_err(|error| exec_datafusion_err!("a read was stopped: {error}"))??;
                let next = start + chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>();
                Ok::<_, DataFusionError>(Some((stream::iter(chunks.into_iter().map(Ok)), (Some(open), next))))
            }
        };
        Ok(stream::try_unfold((None, self.start), read).try_flatten().boxed())
    }

    fn open_writer(&self) -> Result<Box<dyn SpillWriter>> {
        let (file, start, len, free) = (self.file.clone(), self.start, self.len.clone(), self.free.clone());
        Ok(Box::new(PartWriter { writer: file.open_writer()?, file, start, len, free }))
    }
}

/// Opens a file to read it from byte `start` on.
fn open_at(path: &Path, start: u64) -> io::Result<File> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    Ok(file)
}

/// Reads `len` bytes. Each chunk has memory of its own.
fn read_chunks(file: &mut File, len: usize, chunk_bytes: usize) -> io::Result<Vec<Bytes>> {
    let read = |first| {
        let mut chunk = vec![0; chunk_bytes.min(len - first)];
        file.read_exact(&mut chunk)?;
        Ok(chunk.into())
    };
    (0..len).step_by(chunk_bytes).map(read).collect()
}

/// Writes a part.
struct PartWriter {
    writer: Box<dyn SpillWriter>,
    file: Arc<dyn SpillFile>,
    start: u64,
    len: Arc<AtomicU64>,
    free: Free,
}

impl Write for PartWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes)?;
        self.len.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl SpillWriter for PartWriter {
    fn finish(&mut self) -> Result<()> {
        self.writer.finish()?;
        files_of(&self.free).push((self.file.clone(), self.start + self.len.load(Ordering::Relaxed)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::execution::disk_manager::DiskManagerBuilder;

    async fn bytes_of(file: &Arc<dyn SpillFile>) -> Result<Vec<u8>> {
        Ok(file.read_stream()?.try_collect::<Vec<Bytes>>().await?.concat())
    }

    fn write(files: &FileParts, bytes: &[u8]) -> Result<Arc<dyn SpillFile>> {
        let file = files.create_temp_file("a test")?;
        let mut writer = file.open_writer()?;
        writer.write_all(bytes)?;
        writer.finish()?;
        Ok(file)
    }

    fn random(len: usize, seed: usize) -> Vec<u8> {
        (0..len).map(|index| (((index + seed) * 2_654_435_761) >> 7) as u8).collect()
    }

    /// Parts of one file, of lengths around those of reads, have the bytes that were written; a file that lost its end gives an error.
    #[tokio::test]
    async fn parts_have_their_bytes() -> Result<()> {
        let files = FileParts::new(Arc::new(DiskManagerBuilder::default().build()?));
        let lens = [0, 1, chunk_bytes(0), READ_BYTES - 1, READ_BYTES, READ_BYTES + 1, 3 * READ_BYTES + 5, 17];
        let parts = lens.iter().map(|&len| write(&files, &random(len, len))).collect::<Result<Vec<_>>>()?;
        for (part, len) in parts.iter().zip(lens) {
            assert_eq!(part.path(), None, "a part is not a file by itself");
            assert_eq!(part.size(), Some(len as u64));
            assert!(bytes_of(part).await? == random(len, len), "{len} bytes");
        }
        let path = files_of(&files.free)[0].0.path().expect("a file").to_owned();
        assert_eq!(files_of(&files.free).len(), 1, "one writer at a time needs one file");
        File::options().write(true).open(&path)?.set_len(lens.iter().sum::<usize>() as u64 - 1)?;
        assert!(bytes_of(&parts[7]).await.is_err(), "the last byte is gone");
        files.end();
        drop(parts);
        assert!(!path.exists(), "the last part removes the file");
        Ok(())
    }

    /// A factory whose files have a path, and other bytes on the disk than in their stream.
    #[derive(Debug)]
    struct Inverted(Arc<DiskManager>);

    struct InvertedFile(Arc<dyn SpillFile>);

    struct InvertedWriter(Box<dyn SpillWriter>);

    impl TempFileFactory for Inverted {
        fn create_temp_file(&self, description: &str) -> Result<Arc<dyn SpillFile>> {
            Ok(Arc::new(InvertedFile(self.0.create_tmp_file(description)?)))
        }
    }

    impl SpillFile for InvertedFile {
        fn path(&self) -> Option<&Path> {
            self.0.path()
        }

        fn size(&self) -> Option<u64> {
            self.0.size()
        }

        fn read_stream(&self) -> Result<BoxStream<'static, Result<Bytes>>> {
            let inverted = |bytes: Bytes| Bytes::from_iter(bytes.iter().map(|byte| !byte));
            Ok(self.0.read_stream()?.map_ok(inverted).boxed())
        }

        fn open_writer(&self) -> Result<Box<dyn SpillWriter>> {
            Ok(Box::new(InvertedWriter(self.0.open_writer()?)))
        }
    }

    impl Write for InvertedWriter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let inverted: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
            self.0.write(&inverted)
        }

        fn flush(&mut self) -> io::Result<()> {
            self.0.flush()
        }
    }

    impl SpillWriter for InvertedWriter {
        fn finish(&mut self) -> Result<()> {
            self.0.finish()
        }
    }

    #[tokio::test]
    async fn files_of_other_factories_are_not_shared() -> Result<()> {
        let inner = Arc::new(DiskManagerBuilder::default().build()?);
        let outer = DiskManagerBuilder::default().with_temp_file_factory(Arc::new(Inverted(inner))).build()?;
        let files = FileParts::new(Arc::new(outer));
        let (first, second) = (write(&files, &random(1000, 1))?, write(&files, &random(1000, 2))?);
        assert!(bytes_of(&first).await? == random(1000, 1));
        assert!(bytes_of(&second).await? == random(1000, 2));
        assert_ne!(first.path().expect("a path"), second.path().expect("a path"));
        Ok(())
    }
}
