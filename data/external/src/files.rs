//! The part of the file system that spill files use. Tests put one in its place whose calls fail.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// Files that vanish when they are closed.
pub(crate) trait Files: Sync {
    type File: Send;

    /// The folder, for messages.
    fn folder(&self) -> PathBuf;

    fn create(&self) -> io::Result<Self::File>;

    /// Writes all `bytes` at the end of the file.
    fn append(&self, file: &mut Self::File, bytes: &[u8]) -> io::Result<()>;

    /// Reads as many bytes as `bytes` takes from `offset` on.
    fn read(&self, file: &mut Self::File, offset: u64, bytes: &mut [u8]) -> io::Result<()>;
}

/// Temporary files in a folder. Where the system can, they have no name, so that a killed process leaves none.
#[derive(Debug)]
pub(crate) struct TempFiles(pub(crate) PathBuf);

impl Files for TempFiles {
    type File = File;

    fn folder(&self) -> PathBuf {
        self.0.clone()
    }

    fn create(&self) -> io::Result<File> {
        tempfile::tempfile_in(&self.0)
    }

    fn append(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    fn read(&self, file: &mut File, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(bytes)
    }
}
