//! `Faults`: the failures that a test causes at a submission or at an allocation.

use polysort_core::Error;
use std::sync::{Mutex, MutexGuard, PoisonError};
use wgpu::Device;

/// A failure that a test causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), allow(dead_code, reason = "the feature `testing` exports it"))]
pub enum Fault {
    /// The device is lost at a submission.
    Lost,
    /// A submission fails with [`Error::OutOfMemory`]. The ones after it succeed.
    OutOfMemory,
}

/// The failures that a device is to have. The default has none.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The failure, and the number of submissions that succeed before it.
    next: Option<(u64, Fault)>,
    max_buffer: Option<u64>,
}

impl Faults {
    /// Returns the failure that is due at this submission, if any.
    pub(crate) fn at_submission(&self, device: &Device) -> Result<(), Error> {
        let mut state = self.state();
        match &mut state.next {
            None => Ok(()),
            Some((more @ 1.., _)) => {
                *more -= 1;
                Ok(())
            }
            &mut Some((_, fault)) => {
                state.next = None;
                drop(state);
                match fault {
                    // The submission itself then fails.
                    Fault::Lost => device.destroy(),
                    Fault::OutOfMemory => return Err(Error::OutOfMemory { asked: 0, limit: None }),
                }
                Ok(())
            }
        }
    }

    /// The most bytes of a buffer.
    pub(crate) fn max_buffer(&self) -> u64 {
        self.state().max_buffer.unwrap_or(u64::MAX)
    }

    /// Lets a submission fail, after `more` others. Returns whether the failure of the call before has not come yet.
    #[cfg(feature = "testing")]
    pub(crate) fn fail_after(&self, more: u64, fault: Fault) -> bool {
        self.state().next.replace((more, fault)).is_some()
    }

    /// Lets no submission fail. Returns whether a failure has not come yet.
    #[cfg(feature = "testing")]
    pub(crate) fn fail_no_more(&self) -> bool {
        self.state().next.take().is_some()
    }

    /// Lets allocations of more bytes fail.
    #[cfg(feature = "testing")]
    pub(crate) fn set_max_buffer(&self, bytes: Option<u64>) {
        self.state().max_buffer = bytes;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
