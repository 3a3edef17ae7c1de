//! Waiting for the device, in the calling thread or in another one.

use crate::gpu::Gpu;
use crate::queued::Queued;
use futures_channel::oneshot;
use polysort_core::Error;
use wgpu::{Buffer, BufferAsyncError, MapMode, SubmissionIndex};

/// The thread in which a call waits. In a browser no thread waits: its events wake the future in both cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// In the calling thread.
    #[default]
    Here,
    /// In another thread, while the caller's other tasks run.
    Elsewhere,
}

impl Waiting {
    /// Runs `work`, which may wait for the device, in the thread of this variant.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) async fn run<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> T {
        match self {
            Self::Here => work(),
            Self::Elsewhere => ::blocking::unblock(work).await,
        }
    }

    /// Runs `work`, which must not wait in a browser.
    #[cfg(target_arch = "wasm32")]
    #[allow(clippy::unused_async, reason = "on other systems it waits")]
    pub(crate) async fn run<T>(self, work: impl FnOnce() -> T) -> T {
        work()
    }
}

/// A requested mapping: the future receives its result.
pub(crate) type Mapping = oneshot::Receiver<Result<(), BufferAsyncError>>;

/// A requested mapping, and its result if it is known.
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

/// Returns whether there are requested mappings, and all of them have ended.
#[cfg(not(target_arch = "wasm32"))]
fn are_there(asked: &mut [Asked]) -> bool {
    !asked.is_empty() && asked.iter_mut().all(Asked::is_there)
}

/// Runs a call to its end in this thread. A browser does not allow that: there it is an error if the call has to wait.
pub(crate) fn blocking<T, E: From<Error>>(call: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    #[cfg(target_arch = "wasm32")]
    {
        use core::task::{Context, Poll, Waker};
        let mut call = core::pin::pin!(call);
        match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result,
            Poll::Pending => {
                Err(Error::Unsupported { what: "a blocking call in a browser; use its `_async` variant".into() }.into())
            }
        }
    }
    #[cfg(not(target_arch = "wasm32"))]
    pollster::block_on(call)
}

/// Requests that the device maps a whole buffer. The caller must catch errors.
pub(crate) fn map(buffer: &Buffer, mode: MapMode) -> Mapping {
    let (sender, receiver) = oneshot::channel();
    buffer.map_async(mode, .., move |result| {
        // If the receiver was dropped, the result is not needed.
        sender.send(result).ok();
    });
    receiver
}

/// A mapped buffer, or one whose mapping has not ended yet. Dropping this unmaps the buffer.
pub(crate) struct Mapped<'a>(&'a Buffer);

impl Drop for Mapped<'_> {
    fn drop(&mut self) {
        self.0.unmap();
    }
}

/// Maps a whole buffer, after the device has done all earlier submissions.
pub(crate) async fn mapped<'a>(gpu: &Queued, waiting: Waiting, buffer: &'a Buffer, mode: MapMode) -> Result<Mapped<'a>, Error> {
    let (mapping, submission) = gpu.guarded(|| (map(buffer, mode), gpu.queue.submit([])))?;
    let mapped = Mapped(buffer);
    done(gpu, waiting, submission, [mapping]).await?;
    Ok(mapped)
}

/// Waits until the device has done all earlier submissions. Mappings that were requested before have then ended too.
pub(crate) async fn polled(gpu: &Queued, waiting: Waiting) -> Result<(), Error> {
    let submission = gpu.guarded(|| gpu.queue.submit([]))?;
    poll(gpu, waiting, submission, vec![]).await.map(drop)
}

/// Waits until the device has done `submission`, and all of `mappings` have ended.
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

/// Waits until the device has done `submission`, or until all mappings of `asked` have ended. Another thread that polls
/// the device may end them earlier.
#[cfg(not(target_arch = "wasm32"))]
async fn poll(gpu: &Gpu, waiting: Waiting, submission: SubmissionIndex, mut asked: Vec<Asked>) -> Result<Vec<Asked>, Error> {
    use std::time::Duration;
    use wgpu::{PollError, PollType};
    /// The longest time that a device may take for one submission. After it, the device counts as lost. A software device
    /// takes minutes for a sort that takes a GPU milliseconds.
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

/// In a browser, its events wake the future, so nothing has to wait here.
#[cfg(target_arch = "wasm32")]
async fn poll(_: &Gpu, _: Waiting, _: SubmissionIndex, asked: Vec<Asked>) -> Result<Vec<Asked>, Error> {
    Ok(asked)
}
