//! One call: its devices, the part that each of them gets, and what happens to the parts of a device that fails.

use crate::device::Device;
use crate::report::Merges;
use crate::shares::{Piece, pieces, shares};
use crate::side_by_side::{Work, side_by_side};
use core::future::poll_fn;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use polysort_core::{Backend, DynBackend, Error, Operation, Spec, Word};
use polysort_fallback::Opened;
use polysort_rayon::RayonBackend;
use std::sync::OnceLock;
use std::time::Instant;

/// How the devices of a call work at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// Each on a thread of its own, but for those that work in the calling thread's pool.
    Threads,
    /// As futures that the calling task polls in turns.
    Futures,
}

/// A device that is open during a call.
#[derive(Debug)]
pub(crate) struct Member<'c> {
    pub(crate) device: &'c Device,
    pub(crate) opened: Opened<DynBackend>,
    pub(crate) speed: f64,
    /// Why the device gets no further parts of this call.
    failure: OnceLock<Error>,
}

/// A call on several devices.
#[derive(Debug)]
pub(crate) struct Call<'c> {
    pub(crate) by: By,
    pub(crate) crew: Vec<Member<'c>>,
    pub(crate) merger: &'c RayonBackend,
    pub(crate) merge_speed: f64,
    pub(crate) least: usize,
    pub(crate) merges: &'c Merges,
}

/// How many elements each member of a crew gets.
#[derive(Debug)]
pub(crate) struct Shares {
    /// Members with a share, and their shares, in the order of the input.
    pub(crate) of: Vec<(usize, usize)>,
    /// The most elements that each device takes at a time, also one that takes over a part of another.
    pub(crate) limit: usize,
}

/// An operation on a part of the input, and the member that is to run it.
#[derive(Debug)]
pub(crate) struct Part<'a, W> {
    pub(crate) member: usize,
    pub(crate) operation: Operation<'a, W>,
}

/// The parts of one member; the last comes first.
struct Queue<'c, 'a, W> {
    member: &'c Member<'c>,
    parts: Vec<Operation<'a, W>>,
}

impl<'c> Member<'c> {
    pub(crate) fn new(device: &'c Device, opened: Opened<DynBackend>, speed: f64) -> Self {
        Self { device, opened, speed, failure: OnceLock::new() }
    }

    /// The most elements of an operation that the device takes; 0 if it has failed in this call.
    fn limit<W>(&self, operation: &Operation<'_, W>) -> usize {
        if self.failure.get().is_some() {
            return 0;
        }
        // Values of fewer bytes than an index are moved by their indices.
        let element_bytes = size_of::<W>().max(operation.payload_bytes().next_multiple_of(size_of::<u32>()));
        usize::try_from(self.opened.device.limits().longest(element_bytes)).unwrap_or(usize::MAX)
    }

    /// Whether the device works in the pool that a call comes from.
    fn is_in_current_pool(&self) -> bool {
        self.opened.device.downcast_ref().is_some_and(RayonBackend::is_in_current_pool)
    }

    /// Runs an operation. An error is kept: the device then gets no further parts of this call.
    async fn run<W: Word>(&self, by: By, operation: Operation<'_, W>, spec: Spec) -> Result<(), Error> {
        let bytes = operation.keys().len() * (size_of::<W>() + operation.payload_bytes());
        let started = Instant::now();
        let outcome = match by {
            By::Threads => self.opened.device.run(operation.into(), spec),
            By::Futures => self.opened.device.run_async(operation.into(), spec).await,
        };
        self.device.note(&self.opened, &outcome, bytes as u64, started.elapsed());
        if let Err(why) = &outcome {
            self.failure.get_or_init(|| why.clone());
        }
        outcome
    }
}

impl<W: Word> Queue<'_, '_, W> {
    /// Runs the parts until one fails, which stays in the queue.
    async fn work(&mut self, by: By, spec: Spec) {
        while let Some(part) = self.parts.last_mut() {
            if self.member.run(by, part.by_ref(), spec).await.is_err() {
                return;
            }
            self.parts.pop();
        }
    }
}

impl Call<'_> {
    /// Runs an operation on one device, if that is best or only one is left. Otherwise returns the shares of the devices.
    ///
    /// # Errors
    /// If all devices have failed, the failure of the first one.
    pub(crate) async fn alone<W: Word>(&self, operation: &mut Operation<'_, W>, spec: Spec) -> Result<Option<Shares>, Error> {
        loop {
            let shares = self.shares(operation)?;
            let member = match shares.of[..] {
                [] => {
                    match operation {
                        Operation::Runs { offsets, .. } => **offsets = vec![0],
                        // Without keys, these operations write nothing.
                        Operation::Sort { .. }
                        | Operation::SortPairs { .. }
                        | Operation::SortInto { .. }
                        | Operation::SortPairsInto { .. }
                        | Operation::PartialSort { .. }
                        | Operation::Argsort { .. }
                        | Operation::TopK { .. } => {}
                    }
                    return Ok(None);
                }
                [(member, share)] if share <= self.crew[member].limit(operation) => &self.crew[member],
                _ => return Ok(Some(shares)),
            };
            if member.run(self.by, operation.by_ref(), spec).await.is_ok() {
                return Ok(None);
            }
        }
    }

    fn shares<W>(&self, operation: &Operation<'_, W>) -> Result<Shares, Error> {
        let able: Vec<(usize, usize)> =
            self.crew.iter().map(|member| member.limit(operation)).enumerate().filter(|&(_, limit)| limit > 0).collect();
        let limit = able.iter().map(|&(_, limit)| limit).min().ok_or_else(|| self.failure())?;
        let speeds: Vec<f64> = able.iter().map(|&(member, _)| self.crew[member].speed).collect();
        let len = operation.keys().len();
        if len == 0 {
            return Ok(Shares { of: vec![], limit });
        }
        let shares = shares(len, self.least, &speeds, self.merge_speed);
        let of = able.into_iter().zip(shares).map(|((member, _), share)| (member, share)).filter(|&(_, share)| share > 0);
        Ok(Shares { of: of.collect(), limit })
    }

    /// Why no device takes a part.
    fn failure(&self) -> Error {
        let failure = self.crew.iter().find_map(|member| member.failure.get().cloned());
        failure.unwrap_or_else(|| Error::Unsupported { what: "elements of this size: no device takes one".into() })
    }

    /// Runs all parts, those of different devices at the same time. When all devices have ended, the parts of devices that failed go to the others, and so on.
    ///
    /// # Errors
    /// If all devices have failed, the failure of the first one. What the parts wrote is then unspecified.
    ///
    /// # Panics
    /// If a device panics, after all devices have ended.
    pub(crate) async fn run<W: Word>(&self, mut parts: Vec<Part<'_, W>>, spec: Spec) -> Result<(), Error> {
        while !parts.is_empty() {
            let mut queues: Vec<Queue<'_, '_, W>> = self.crew.iter().map(|member| Queue { member, parts: vec![] }).collect();
            for part in parts.drain(..).rev() {
                queues[part.member].parts.push(part.operation);
            }
            queues.retain(|queue| !queue.parts.is_empty());
            // Futures of devices that work while the task does something else are polled first.
            queues.sort_by_key(|queue| queue.member.is_in_current_pool());
            match self.by {
                By::Threads => on_threads(&mut queues, spec),
                By::Futures => as_futures(&mut queues, spec).await,
            }
            let left = queues.into_iter().flat_map(|queue| queue.parts.into_iter().rev()).collect();
            parts = self.handed_over(left)?;
        }
        Ok(())
    }

    /// Deals the parts of devices that failed: each goes to the device that is done with it first.
    fn handed_over<'a, W: Word>(&self, left: Vec<Operation<'a, W>>) -> Result<Vec<Part<'a, W>>, Error> {
        let mut elements = vec![0; self.crew.len()];
        let mut parts = vec![];
        for operation in left {
            let len = operation.keys().len();
            let time = |&member: &usize| (elements[member] + len) as f64 / self.crew[member].speed;
            // A device that has failed has the limit 0 and gets no empty part either.
            let able = (0..self.crew.len()).filter(|&member| len.max(1) <= self.crew[member].limit(&operation));
            let member = able.min_by(|a, b| time(a).total_cmp(&time(b))).ok_or_else(|| self.failure())?;
            elements[member] += len;
            parts.push(Part { member, operation });
        }
        Ok(parts)
    }

    /// Merges on the CPU what the devices have sorted, and notes how long it takes. `bytes` are those of the result.
    pub(crate) fn merge(
        &self,
        bytes: usize,
        merge: impl FnOnce(&RayonBackend) -> Result<Vec<usize>, Error>,
    ) -> Result<(), Error> {
        let started = Instant::now();
        merge(self.merger)?;
        self.merges.note(bytes as u64, started.elapsed());
        Ok(())
    }
}

impl Shares {
    /// The shares in pieces that each device takes.
    pub(crate) fn pieces(&self) -> Vec<Piece> {
        pieces(&self.of, self.limit)
    }
}

fn on_threads<W: Word>(queues: &mut [Queue<'_, '_, W>], spec: Spec) {
    let count = queues.iter().filter(|queue| !queue.member.is_in_current_pool()).count();
    let mut works: Vec<_> = queues.iter_mut().map(|queue| move || now(queue.work(By::Threads, spec))).collect();
    let (elsewhere, here) = works.split_at_mut(count);
    fn erased<F: FnMut() + Send>(works: &mut [F]) -> Vec<Work<'_>> {
        works.iter_mut().map(|work| work as Work<'_>).collect()
    }
    side_by_side(erased(here), erased(elsewhere));
}

/// Polls all futures, each until it is ready.
async fn as_futures<W: Word>(queues: &mut [Queue<'_, '_, W>], spec: Spec) {
    let mut futures: Vec<_> = queues.iter_mut().map(|queue| Some(Box::pin(queue.work(By::Futures, spec)))).collect();
    poll_fn(|context| {
        for slot in &mut futures {
            if let Some(future) = slot
                && future.as_mut().poll(context).is_ready()
            {
                *slot = None;
            }
        }
        if futures.iter().all(Option::is_none) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// The result of a future that never waits.
pub(crate) fn now<T>(ready: impl Future<Output = T>) -> T {
    match pin!(ready).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => unreachable!("a blocking call is ready at its first poll"),
    }
}
