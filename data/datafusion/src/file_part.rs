//! Parts of a file, each of which is a file for DataFusion.
//!
//! DataFusion's disk manager keeps each of its files open until it is removed, and a process may have few open files. So a block does not have a file of its own:
//! blocks that are not written at the same time follow each other in one file.

use bytes::Bytes;
use datafusion::common::exec_datafusion_err;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::Result;
use datafusion::execution::{DiskManager, SpillFile, SpillWriter, TempFileFactory};
use futures::stream::{BoxStream, try_unfold};
use futures::{FutureExt, StreamExt};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most bytes that are read at a time.
const READ_BYTES: u64 = 1 << 20;

/// Files in which each thread that writes has a part.
///
/// A part begins where the last one of its file ends. So there are as many files as threads have written at the same time.
pub(crate) struct FileParts {
    disk_manager: Arc<DiskManager>,
    /// Files to which nobody writes, and their bytes.
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
        let Some(path) = file.path().map(Path::to_owned) else {
            // The user's own kind of file may not be one that can be read from the middle.
            return Ok(file);
        };
        Ok(Arc::new(FilePart { file, path, start, len: Arc::default(), free: self.free.clone() }))
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
                        None => {
                            let mut open = File::open(path)?;
                            open.seek(SeekFrom::Start(start))?;
                            open
                        }
                    };
                    let mut bytes = vec![0; READ_BYTES.min(end - start) as usize];
                    open.read_exact(&mut bytes)?;
                    let next = start + bytes.len() as u64;
                    Ok::<_, io::Error>(Some((Bytes::from(bytes), (Some(open), next))))
                };
                let read = SpawnedTask::spawn_blocking(task).join_unwind().await;
                Ok(read.map_err(|error| exec_datafusion_err!("a read was stopped: {error}"))??)
            }
            .boxed()
        };
        Ok(try_unfold((None, self.start), read).boxed())
    }

    fn open_writer(&self) -> Result<Box<dyn SpillWriter>> {
        let (file, start, len, free) = (self.file.clone(), self.start, self.len.clone(), self.free.clone());
        Ok(Box::new(PartWriter { writer: file.open_writer()?, file, start, len, free }))
    }
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
