//! `Faults`: the failures that a test causes at a submission, at an allocation, or in the text of a kernel.

use polysort_core::Error;
use polysort_shaders::manifest::Kernel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use wgpu::Device;

/// A failure that a test causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), allow(dead_code, reason = "the feature `testing` exports it"))]
pub enum Fault {
    /// The device is lost before a submission.
    Lost,
    /// The device is lost right after a submission, while its commands run: before the host reads their results.
    LostAfter,
    /// A submission fails with [`Error::OutOfMemory`]. The ones after it succeed.
    OutOfMemory,
}

/// A mistake in the text of a kernel that a test causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), allow(dead_code, reason = "the feature `testing` exports it"))]
pub enum Flaw {
    /// The text does not compile.
    Refused,
    /// The kernel writes nothing, so its outputs are the bytes that were in the memory before.
    Idle,
}

/// The failures that a device is to have. The default has none.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The failure, and the number of submissions that succeed before it.
    submission: Option<(u64, Fault)>,
    /// The number of allocations that succeed before one fails.
    allocation: Option<u64>,
    max_buffer: Option<u64>,
    flaw: Option<(Flaw, &'static [Kernel])>,
}

impl Faults {
    /// Runs `submit`, and causes the failure that is due at this submission, if any.
    pub(crate) fn at_submission<T>(&self, device: &Device, submit: impl FnOnce() -> T) -> Result<T, Error> {
        match self.due() {
            None => Ok(submit()),
            // The submission itself then fails.
            Some(Fault::Lost) => {
                device.destroy();
                Ok(submit())
            }
            Some(Fault::LostAfter) => {
                let submitted = submit();
                device.destroy();
                Ok(submitted)
            }
            Some(Fault::OutOfMemory) => Err(Error::OutOfMemory { asked: 0, limit: None }),
        }
    }

    /// The failure that is due at this submission.
    fn due(&self) -> Option<Fault> {
        let mut state = self.state();
        match &mut state.submission {
            Some((more @ 1.., _)) => {
                *more -= 1;
                None
            }
            _ => state.submission.take().map(|(_, fault)| fault),
        }
    }

    /// Fails if an allocation of `size` bytes is to fail.
    pub(crate) fn at_allocation(&self, size: u64) -> Result<(), Error> {
        let mut state = self.state();
        let limit = state.max_buffer.unwrap_or(u64::MAX);
        if size > limit {
            return Err(Error::OutOfMemory { asked: size, limit: Some(limit) });
        }
        match &mut state.allocation {
            None => Ok(()),
            Some(more @ 1..) => {
                *more -= 1;
                Ok(())
            }
            Some(0) => {
                state.allocation = None;
                Err(Error::OutOfMemory { asked: size, limit: None })
            }
        }
    }

    /// Returns the text of a kernel, with its flaw, if it is to have one.
    pub(crate) fn text(&self, kernel: Kernel, text: String) -> String {
        let Some((flaw, _)) = self.state().flaw.filter(|(_, kernels)| kernels.contains(&kernel)) else { return text };
        match flaw {
            Flaw::Refused => format!("{text}\nno declaration"),
            Flaw::Idle => {
                let entry = format!("fn {}(", kernel.name());
                let body = text.find(&entry).and_then(|at| Some(at + text[at..].find(") {")? + ") {".len()));
                let (head, body) = text.split_at(body.expect("the text of a kernel has its entry point"));
                format!("{head} if true {{ return; }} {body}")
            }
        }
    }

    /// Lets a submission fail, after `more` others. Returns whether the failure of the call before has not come yet.
    #[cfg(feature = "testing")]
    pub(crate) fn fail_after(&self, more: u64, fault: Fault) -> bool {
        self.state().submission.replace((more, fault)).is_some()
    }

    /// Lets an allocation fail, after `more` others. Returns whether the failure of the call before has not come yet.
    #[cfg(feature = "testing")]
    pub(crate) fn fail_allocation(&self, more: u64) -> bool {
        self.state().allocation.replace(more).is_some()
    }

    /// Lets no submission and no allocation fail. Returns whether a failure has not come yet.
    #[cfg(feature = "testing")]
    pub(crate) fn fail_no_more(&self) -> bool {
        let mut state = self.state();
        let (submission, allocation) = (state.submission.take(), state.allocation.take());
        submission.is_some() || allocation.is_some()
    }

    /// Lets allocations of more bytes fail.
    #[cfg(feature = "testing")]
    pub(crate) fn set_max_buffer(&self, bytes: Option<u64>) {
        self.state().max_buffer = bytes;
    }

    /// Gives the kernels that are compiled from now on this flaw.
    #[cfg(feature = "testing")]
    pub(crate) fn set_flaw(&self, flaw: Flaw, kernels: &'static [Kernel]) {
        self.state().flaw = Some((flaw, kernels));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
