//! Standard input and standard output, which may be closed.
//!
//! Before `main`, Rust's runtime opens `/dev/null` in place of a closed stream. Then input would be empty and output would be lost, without an
//! error. So a constructor, which runs before the runtime, records which of the two streams are open.

use anyhow::{Result, bail};
use std::io::{self, Stdin, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static IS_INPUT_CLOSED: AtomicBool = AtomicBool::new(false);
static IS_OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);

#[cfg(unix)]
ctor::declarative::ctor! {
    /// Records whether the parent process closed standard input or standard output.
    ///
    /// It makes two system calls and stores the results, so it does not need Rust's runtime.
    #[ctor(unsafe)]
    fn record() {
        use rustix::io::fcntl_getfd;
        IS_INPUT_CLOSED.store(fcntl_getfd(rustix::stdio::stdin()).is_err(), Ordering::Relaxed);
        IS_OUTPUT_CLOSED.store(fcntl_getfd(rustix::stdio::stdout()).is_err(), Ordering::Relaxed);
    }
}

/// Returns standard input.
///
/// # Errors
/// If it is closed.
pub(crate) fn stdin() -> Result<Stdin> {
    if IS_INPUT_CLOSED.load(Ordering::Relaxed) {
        bail!("stdin is closed: name a file, or pipe one in");
    }
    Ok(io::stdin())
}

/// Checks that standard output is open.
pub(crate) fn check_stdout() -> Result<()> {
    if IS_OUTPUT_CLOSED.load(Ordering::Relaxed) {
        bail!("standard output is closed: redirect it, or name a file");
    }
    Ok(())
}

/// Standard output. Its errors name it. It writes each complete line at once, so that no error is lost when the program ends.
pub(crate) struct Out(Stdout);

/// Returns standard output.
///
/// # Errors
/// If it is closed.
pub(crate) fn stdout() -> Result<Out> {
    check_stdout()?;
    Ok(Out(io::stdout()))
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
