//! Standard output, which may be closed.
//!
//! Rust's runtime opens `/dev/null` in place of a closed standard output before `main` runs. Results would then vanish without an
//! error. So a constructor, which runs before the runtime, records whether standard output is open.

use anyhow::{Result, bail};
use std::io::{self, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static IS_CLOSED: AtomicBool = AtomicBool::new(false);

#[cfg(unix)]
ctor::declarative::ctor! {
    /// Records whether the parent process closed standard output.
    ///
    /// It makes one system call and stores the answer, so it needs nothing that the runtime sets up.
    #[ctor(unsafe)]
    fn record() {
        IS_CLOSED.store(rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err(), Ordering::Relaxed);
    }
}

/// Checks that standard output is open.
pub(crate) fn check() -> Result<()> {
    if IS_CLOSED.load(Ordering::Relaxed) {
        bail!("standard output is closed; redirect it, or name a file");
    }
    Ok(())
}

/// Standard output. Its errors name it.
pub(crate) struct Out(Stdout);

/// Returns standard output.
///
/// # Errors
/// If it is closed.
pub(crate) fn stdout() -> Result<Out> {
    check()?;
    Ok(Out(io::stdout()))
}

/// Writes what standard output still buffers.
pub(crate) fn flush() -> io::Result<()> {
    Out(io::stdout()).flush()
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(name)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(name)
    }
}

fn name(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write to standard output: {error}"))
}
