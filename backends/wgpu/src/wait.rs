//! Waiting for the device: in the calling thread, or while the caller's other tasks run.

use crate::gpu::Gpu;
use futures_channel::oneshot;
use polysort_core::Error;
use wgpu::{Buffer, BufferAsyncError, MapMode, SubmissionIndex};

/// How a call waits. In a browser, its events wake the caller in both cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// In the calling thread.
    #[default]
    Here,
    /// In another thread.
    Elsewhere,
}

impl Waiting {
    /// Runs work that may wait for other calls: in this thread, or in another one while the caller's other tasks run.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) async fn run<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> T {
        match self {
            Self::Here => work(),
            Self::Elsewhere => ::blocking::unblock(work).await,
        }
    }

    /// Runs work that elsewhere may wait for other calls. In a browser, it must not wait.
    #[cfg(target_arch = "wasm32")]
    #[allow(clippy::unused_async, reason = "elsewhere it waits")]
    pub(crate) async fn run<T>(self, work: impl FnOnce() -> T) -> T {
        work()
    }
}

/// A mapping that was asked for.
pub(crate) type Mapping = oneshot::Receiver<Result<(), BufferAsyncError>>;

/// A mapping, and what came of it if that is known.
pub(crate) struct Asked {
    mapping: Mapping,
    result: Option<Result<(), BufferAsyncError>>,
}

impl From<Mapping> for Asked {
    fn from(mapping: Mapping) -> Self {
        Self { mapping, result: None }
    }
}

impl Asked {
    pub(crate) fn is_there(&mut self) -> bool {
        if self.result.is_none() {
            self.result = self.mapping.try_recv().ok().flatten();
        }
        self.result.is_some()
    }

    async fn result(self) -> Result<Result<(), BufferAsyncError>, oneshot::Canceled> {
        match self.result {
            Some(result) => Ok(result),
            None => self.mapping.await,
        }
    }
}

/// Whether something was asked for, and all of it is mapped.
#[cfg(not(target_arch = "wasm32"))]
fn are_there(asked: &mut [Asked]) -> bool {
    !asked.is_empty() && asked.iter_mut().all(Asked::is_there)
}

/// Runs a call to its end in this thread; in a browser, where nobody may wait, only if it has not to.
pub(crate) fn blocking<T>(call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    #[cfg(target_arch = "wasm32")]
    {
        use core::task::{Context, Poll, Waker};
        let mut call = core::pin::pin!(call);
        match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result,
            Poll::Pending => Err(Error::Unsupported { what: "to wait in a browser; use the call's `_async` variant".into() }),
        }
    }
    #[cfg(not(target_arch = "wasm32"))]
    pollster::block_on(call)
}

/// Asks the device to map all of a buffer. The caller catches errors.
pub(crate) fn map(buffer: &Buffer, mode: MapMode) -> Mapping {
    let (sender, receiver) = oneshot::channel();
    buffer.map_async(mode, .., move |result| {
        // If the receiver is gone, nobody waits any more.
        sender.send(result).ok();
    });
    receiver
}

/// A mapped buffer. Dropping this unmaps the buffer, unless it is [kept](Mapped::keep); also if the mapping is not done
/// yet.
pub(crate) struct Mapped<'a>(Option<&'a Buffer>);

impl Mapped<'_> {
    /// Leaves the buffer mapped.
    pub(crate) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Mapped<'_> {
    fn drop(&mut self) {
        if let Some(buffer) = self.0 {
            buffer.unmap();
        }
    }
}

/// Maps all of a buffer, once everything that was submitted before is done.
pub(crate) async fn mapped<'a>(gpu: &Gpu, waiting: Waiting, buffer: &'a Buffer, mode: MapMode) -> Result<Mapped<'a>, Error> {
    let (mapping, submission) = gpu.guarded(|| (map(buffer, mode), gpu.queue.submit([])))?;
    let mapped = Mapped(Some(buffer));
    done(gpu, waiting, submission, [mapping]).await?;
    Ok(mapped)
}

/// Waits until the device has done everything that was submitted before. Mappings that were asked for are then done.
pub(crate) async fn polled(gpu: &Gpu, waiting: Waiting) -> Result<(), Error> {
    let submission = gpu.guarded(|| gpu.queue.submit([]))?;
    poll(gpu, waiting, submission, vec![]).await.map(drop)
}

/// Waits until the device has done `submission`, and all of `mappings` are done.
pub(crate) async fn done(
    gpu: &Gpu,
    waiting: Waiting,
    submission: SubmissionIndex,
    mappings: impl IntoIterator<Item = impl Into<Asked>>,
) -> Result<(), Error> {
    let mappings = poll(gpu, waiting, submission, mappings.into_iter().map(Into::into).collect()).await?;
    for mapping in mappings {
        match mapping.result().await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(gpu.give_up(&error.to_string())),
            Err(_) => return Err(gpu.give_up("it dropped a request to map memory")),
        }
    }
    gpu.lost().map_or(Ok(()), Err)
}

/// Waits until the device has done `submission`, or what was asked for is mapped: another call may have polled the device meanwhile.
#[cfg(not(target_arch = "wasm32"))]
async fn poll(gpu: &Gpu, waiting: Waiting, submission: SubmissionIndex, mut asked: Vec<Asked>) -> Result<Vec<Asked>, Error> {
    use std::time::Duration;
    use wgpu::{PollError, PollType};
    /// How long a device may work on one submission before it counts as lost. A software device takes minutes for what
    /// a GPU does at once.
    const PATIENCE: Duration = Duration::from_secs(600);
    if are_there(&mut asked) {
        return Ok(asked);
    }
    let wait = PollType::Wait { submission_index: Some(submission), timeout: Some(PATIENCE) };
    let (device, turns) = (gpu.device.clone(), gpu.turns.clone());
    let wait = move || {
        let _span = tracing::trace_span!("wait").entered();
        let polled = turns.take(|| are_there(&mut asked), || device.poll(wait));
        (polled, asked)
    };
    let (polled, asked) = waiting.run(wait).await;
    match polled {
        None | Some(Ok(_)) => Ok(asked),
        Some(Err(PollError::Timeout)) => Err(gpu.give_up(&format!("it did not finish within {} s", PATIENCE.as_secs()))),
        Some(Err(error)) => Err(gpu.give_up(&error.to_string())),
    }
}

/// In a browser its events wake the caller.
#[cfg(target_arch = "wasm32")]
async fn poll(_: &Gpu, _: Waiting, _: SubmissionIndex, asked: Vec<Asked>) -> Result<Vec<Asked>, Error> {
    Ok(asked)
}
