//! A watchdog for tests that could hang.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Runs a test that could hang, and fails if it takes longer than a minute.
pub(crate) fn watched(test: impl FnOnce() + Send + 'static) {
    let (ended, end) = channel();
    let thread = std::thread::spawn(move || {
        test();
        ended.send(()).expect("the watchdog waits");
    });
    if end.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
        panic!("the test hangs");
    }
    if let Err(panic) = thread.join() {
        resume_unwind(panic);
    }
}
