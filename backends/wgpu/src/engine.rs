//! `Engine`: what all calls of one device share. `tested`, `untested` and `resident` run sorts with it.
//!
//! A call takes a workspace from a pool, submits, waits, and returns the workspace. It holds no lock while it waits. So
//! any number of calls may be in flight at a time, blocking and async, from any thread.

use crate::budget::{Budget, Permit, Refused};
use crate::device_memory;
use crate::gpu::Gpu;
use crate::kinds::Kinds;
#[cfg(feature = "vector")]
use crate::known::Known;
use crate::pool::Pool;
use crate::queued::Queued;
use crate::sync::start_thread;
use crate::wait::{Waiting, polled};
use crate::workspace::Workspace;
use futures_channel::oneshot;
use polysort_core::Error;
#[cfg(feature = "vector")]
use polysort_shaders::plan::Variant;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use wgpu::{ComputePassDescriptor, DeviceType};

pub(crate) const PASS: ComputePassDescriptor<'_> = ComputePassDescriptor { label: Some("polysort"), timestamp_writes: None };

/// Limits of the memory that calls take, and of the memory that is kept between calls.
///
/// A call takes about three times its data: the keys and values on the device, scratch of the same size, and staging
/// for the result. Staging for uploads takes up to 96 MiB more. A call is in flight until the device has finished its
/// commands, even if the call has returned before.
///
/// A call of more keys than one sort on the device takes is a long call. If [`in_flight`](Memory::in_flight) leaves room for about twice its
/// data, a long sort takes this memory. Otherwise the call sorts portions, up to three at a time, and reserves memory for all of them at once:
/// up to half of `in_flight`, or what its smallest portions need. Its portions use this memory one after another. On the host, a long call
/// takes memory for a copy of its data.
///
/// - Calls in flight may take up to [`in_flight`](Memory::in_flight) bytes together. A call that is alone may take more.
/// - A call for which there is no room waits for others to end. If none ends within [`patience`](Memory::patience), the
///   call fails with [`Error::OutOfMemory`]; `Fallback` of the crate `polysort` then calls its second backend. So a
///   caller that suspends the future of one call and makes another call gets an error instead of a deadlock.
/// - In a browser, a call for which there is no room fails at once.
///
/// The memory of a call is kept for later calls: up to [`kept`](Memory::kept) bytes in all, or the memory of one call
/// if that is more. If none of the next 32 calls needs half of it, it is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// The most bytes that calls in flight may take together. `None`, the default, means three quarters of the largest memory
    /// heap of a discrete GPU, where Vulkan reports it, and at least 16 GiB; on all other devices it means 16 GiB.
    pub in_flight: Option<u64>,
    /// The most bytes that are kept for later calls. The default is 4 GiB: the portions of a long call take about 3 GiB.
    pub kept: u64,
    /// The time that a call waits for room while no other call ends. The default is 10 seconds.
    pub patience: Duration,
}

impl Default for Memory {
    fn default() -> Self {
        Self { in_flight: None, kept: 4 << 30, patience: Duration::from_secs(10) }
    }
}

/// Returns the most bytes that calls in flight take together if the caller does not choose.
fn usual_in_flight(gpu: &Gpu) -> u64 {
    let is_own = gpu.info.device_type == DeviceType::DiscreteGpu;
    let own = if is_own { device_memory::bytes(&gpu.device) } else { None };
    (16 << 30).max(own.unwrap_or(0) / 4 * 3)
}

/// A device, the memory that is kept on it, and the kinds of sorts that it has tested.
pub(crate) struct Engine {
    gpu: Queued,
    pub(crate) kinds: Arc<Kinds>,
    pub(crate) pool: Arc<Pool<Workspace>>,
    pub(crate) budget: Arc<Budget>,
    patience: Duration,
    /// The most bytes that a long sort in one trip takes: the device had no memory for more.
    pub(crate) one_trip: Arc<AtomicU64>,
    /// Whether the host may fill upload chunks for all of a slice, ahead of the device.
    pub(crate) ahead: bool,
    /// The kinds of distances whose self-test has passed. The value is true if native kernels passed it.
    #[cfg(feature = "vector")]
    pub(crate) tested_distances: Arc<Known<Variant, bool>>,
}

impl Engine {
    pub(crate) fn new(gpu: Queued, kinds: Arc<Kinds>, memory: Memory) -> Self {
        Self {
            budget: Arc::new(Budget::new(memory.in_flight.unwrap_or_else(|| usual_in_flight(&gpu)))),
            gpu,
            kinds,
            pool: Arc::new(Pool::new(memory.kept)),
            // In a browser, no call may wait.
            patience: if cfg!(target_arch = "wasm32") { Duration::ZERO } else { memory.patience },
            one_trip: Arc::new(AtomicU64::new(u64::MAX)),
            ahead: false,
            #[cfg(feature = "vector")]
            tested_distances: Arc::default(),
        }
    }

    /// Reserves `bytes` for several calls of one long call, which share the rest with this engine. Returns their engine.
    ///
    /// These calls wait for each other only, and as long as necessary. So they must be async ones, whose futures the long call polls in
    /// turn.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if calls in flight leave too little room and none of them ends in time.
    pub(crate) async fn reserve(&self, waiting: Waiting, bytes: u64) -> Result<Arc<Self>, Error> {
        let permit = match self.budget.try_take(bytes) {
            Some(permit) => permit,
            None => self.wait_for_room(waiting, bytes).await?,
        };
        Ok(self.within(permit, true))
    }

    /// Reserves `bytes` for one call, if calls in flight leave room for them now. Returns the engine of that call.
    pub(crate) fn reserve_now(&self, bytes: u64) -> Option<Arc<Self>> {
        self.budget.try_take(bytes).map(|permit| self.within(permit, false))
    }

    /// Returns an engine whose calls take the memory of a permit.
    fn within(&self, permit: Permit, ahead: bool) -> Arc<Self> {
        Arc::new(Self {
            gpu: self.gpu.clone(),
            kinds: self.kinds.clone(),
            pool: Arc::new(Pool::within(self.pool.clone())),
            budget: Arc::new(Budget::within(permit)),
            patience: if self.patience.is_zero() { Duration::ZERO } else { Duration::MAX },
            one_trip: self.one_trip.clone(),
            ahead,
            #[cfg(feature = "vector")]
            tested_distances: self.tested_distances.clone(),
        })
    }

    pub(crate) fn gpu(&self) -> &Queued {
        &self.gpu
    }

    /// Waits until calls in flight leave room for `bytes`.
    pub(crate) async fn wait_for_room(&self, waiting: Waiting, bytes: u64) -> Result<Permit, Error> {
        let (budget, patience) = (self.budget.clone(), self.patience);
        let device = self.gpu.device.clone();
        // Calls that do not wait for the device return their permits when the device is polled.
        let ask = move || drop(device.poll(wgpu::PollType::Poll));
        let taken = match waiting {
            Waiting::Elsewhere if !patience.is_zero() => {
                // A new thread waits for room. The threads that wait for the device must stay free: the calls in flight
                // need them to end.
                let (sender, permit) = oneshot::channel();
                let take = move || {
                    let taken = budget.take(bytes, patience, || {
                        ask();
                        !sender.is_canceled()
                    });
                    // If the future was dropped, this drops the permit.
                    drop(sender.send(taken));
                };
                let started = start_thread(take);
                match permit.await {
                    Ok(taken) if started => taken,
                    _ => Err(Refused { in_flight: self.budget.cap() }),
                }
            }
            _ => budget.take(bytes, patience, || {
                ask();
                true
            }),
        };
        let refused = |Refused { in_flight }| {
            let limit = Some(self.budget.cap().saturating_sub(in_flight));
            Error::OutOfMemory { asked: bytes, limit }
        };
        taken.map_err(refused)
    }

    /// Runs `work`, which allocates memory on the device. If the device is out of memory, frees the memory that is kept
    /// for later calls, and runs `work` once more.
    pub(crate) async fn allocating<T>(&self, waiting: Waiting, mut work: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
        match self.gpu.watched(&mut work).await {
            Err(Error::OutOfMemory { .. }) if self.bytes() > 0 => {
                self.release();
                // The device frees memory only after the commands that use it.
                polled(&self.gpu, waiting).await?;
                self.gpu.watched(work).await
            }
            outcome => outcome,
        }
    }

    /// Bytes that are kept for later calls: on the device, and on the host where the device sees them.
    pub(crate) fn bytes(&self) -> u64 {
        self.pool.bytes()
    }

    /// Frees the memory that is kept for later calls.
    pub(crate) fn release(&self) {
        drop(self.pool.clear());
    }
}
