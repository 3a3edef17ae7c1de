//! The temporary files of this process, and their removal when a signal ends the process.
//!
//! ```text
//! create     lock; create the file, enter it into the list; unlock
//! rename     lock; rename the file, take it from the list; unlock
//! signal     lock; remove all files of the list; end the process by the same signal, with the lock held
//! ```
//!
//! Each temporary file is in the list for as long as it exists, and no file is created after a signal.

use std::fs::{File, Permissions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::{Builder, TempPath};

static LIST: Mutex<List> = Mutex::new(List { paths: vec![], is_watched: false });

struct List {
    /// Dropping a path removes the file.
    paths: Vec<TempPath>,
    /// Whether a thread waits for signals.
    is_watched: bool,
}

fn list() -> MutexGuard<'static, List> {
    // No operation leaves the list half changed, so a panic does no harm to it.
    LIST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A new file without its final name. Dropping it removes the file.
pub(crate) struct Unfinished {
    pub(crate) file: File,
    path: PathBuf,
}

impl Unfinished {
    /// Creates an empty file in a directory. `permissions` lose the bits of the umask.
    pub(crate) fn create(folder: &Path, permissions: Option<Permissions>) -> io::Result<Self> {
        let mut list = list();
        if !list.is_watched {
            watch()?;
            list.is_watched = true;
        }
        let mut builder = Builder::new();
        builder.prefix(".polysort-").suffix(".tmp");
        if let Some(permissions) = permissions {
            builder.permissions(permissions);
        }
        let (file, path) = builder.tempfile_in(folder)?.into_parts();
        let unfinished = Self { file, path: path.to_path_buf() };
        list.paths.push(path);
        Ok(unfinished)
    }

    /// Gives the file its name. A file that had the name is gone then.
    pub(crate) fn rename(self, path: &Path) -> io::Result<()> {
        let mut list = list();
        match list.take(&self.path) {
            Some(unfinished) => unfinished.persist(path).map_err(|failed| failed.error),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        drop(list().take(&self.path));
    }
}

impl List {
    fn take(&mut self, path: &Path) -> Option<TempPath> {
        let index = self.paths.iter().position(|known| **known == *path)?;
        Some(self.paths.swap_remove(index))
    }
}

/// Starts the thread that waits for a signal.
#[cfg(unix)]
fn watch() -> io::Result<()> {
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;
    let mut signals = Signals::new(signals())?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let mut list = list();
            list.paths.clear();
            // The signal ends the process, so no thread gets the lock again.
            emulate_default_handler(signal).ok();
        }
    })?;
    Ok(())
}

/// Returns the signals that ask the process to end, without those that its parent made it ignore, as `nohup` does.
#[cfg(unix)]
fn signals() -> Vec<i32> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // Linux lists ignored signals as a mask, whose bit 0 is signal 1. Other systems have no such file; there, none counts as ignored.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| mask.unwrap_or(0) >> (signal - 1) & 1 == 0).collect()
}

#[cfg(not(unix))]
fn watch() -> io::Result<()> {
    Ok(())
}
