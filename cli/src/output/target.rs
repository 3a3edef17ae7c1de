//! Finds out what the path of an output names.
//!
//! ```text
//! /dev/stdout, /dev/fd/1, …     an open descriptor: written at its position, so that `>>` appends
//! a symbolic link               what it points to, which need not exist
//! a FIFO, terminal, /dev/null   written in place
//! a regular file, or no file    replaced, or created, when the result is complete
//! ```

use anyhow::{Result, bail};
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

/// The most symbolic links that one path may lead through, as on Linux.
const MAX_LINKS: usize = 40;

/// The destination of an output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Stdout,
    Stderr,
    /// A FIFO or a character device.
    Device(PathBuf),
    /// A regular file, or the name of one that does not exist. The last part of the path is no symbolic link.
    File(PathBuf),
}

impl Target {
    /// Finds out what a path names, and whether this process may write it.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let mut path = path.to_path_buf();
        for _ in 0..MAX_LINKS {
            match descriptor(&path) {
                Some(1) => return Ok(Self::Stdout),
                Some(2) => return Ok(Self::Stderr),
                Some(_) if fs::metadata(&path)?.is_file() => {
                    bail!("it is an open file that another program may write too; redirect standard output to it, as in >&3")
                }
                Some(_) => return Ok(Self::Device(path)),
                None => {}
            }
            match fs::read_link(&path) {
                Ok(target) => path = path.with_file_name(target),
                Err(_) => return Self::of_link_target(path),
            }
        }
        bail!("it leads through more than {MAX_LINKS} symbolic links");
    }

    /// The same for a path that is no symbolic link.
    fn of_link_target(path: PathBuf) -> Result<Self> {
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            if !folder(&path).is_dir() {
                bail!("there is no directory {}", folder(&path).display());
            }
            return Ok(Self::File(path));
        };
        let kind = metadata.file_type();
        if kind.is_dir() {
            bail!("it is a directory; name a file");
        }
        if kind.is_file() {
            if metadata.permissions().readonly() {
                bail!("it is read-only; allow writing, or name another file");
            }
            // The directory may allow to replace a file that this process may not write.
            drop(fs::OpenOptions::new().write(true).open(&path)?);
            return Ok(Self::File(path));
        }
        check_device(&path, kind)?;
        Ok(Self::Device(path))
    }
}

/// Returns the directory that a path is in.
pub(crate) fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the number of the open descriptor that a path stands for, such as 3 for `/dev/fd/3`.
fn descriptor(path: &Path) -> Option<u32> {
    let number = path.file_name()?.to_str()?.parse().ok()?;
    let folder = folder(path).canonicalize().ok()?;
    let own = ["/proc/self/fd", "/proc/thread-self/fd", "/dev/fd"];
    own.iter().any(|own| Path::new(own).canonicalize().is_ok_and(|own| own == folder)).then_some(number)
}

/// Refuses what cannot be written as a stream of bytes, and what this process may not write.
#[cfg(unix)]
fn check_device(path: &Path, kind: FileType) -> Result<()> {
    use anyhow::Context;
    use rustix::fs::{Access, access};
    use std::os::unix::fs::FileTypeExt;
    if kind.is_socket() {
        bail!("it is a socket; name a file, or pipe the result into a program that connects to it");
    }
    if kind.is_block_device() {
        bail!("it is a whole disk or a part of one; to overwrite it, redirect standard output to it");
    }
    access(path, Access::WRITE_OK).context("this process may not write it")
}

#[cfg(not(unix))]
fn check_device(_: &Path, _: FileType) -> Result<()> {
    Ok(())
}
