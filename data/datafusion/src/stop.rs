//! Stops a blocking task when the future that waits for it is dropped.

use datafusion::common::exec_datafusion_err;
use datafusion::error::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a blocking task must stop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) {
            return Err(exec_datafusion_err!("the query was stopped"));
        }
        Ok(())
    }
}

/// Stops the blocking tasks of a future that is dropped.
#[derive(Debug, Default)]
pub(crate) struct StopOnDrop(pub(crate) Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}
