//! `Engine`: runs the sorts of one device, of host slices and of buffers on the device.
//!
//! A call takes a workspace from a pool, submits, waits, and returns the workspace. It holds no lock while it waits. So
//! any number of calls may be in flight at a time, blocking and async, from any thread.

use crate::budget::{Budget, Permit, Refused};
use crate::call::Call;
use crate::data::{Data, Lists};
use crate::gpu::Gpu;
use crate::launch::Count;
use crate::pool::Pool;
use crate::readers::unless_read;
use crate::resident::Resident;
use crate::self_test;
use crate::sync::start_thread;
use crate::wait::{Waiting, polled};
use crate::way::{Way, Ways};
use crate::workspace::{Bindable, Staging, Workspace};
use futures_channel::oneshot;
use polysort_core::Error;
use polysort_shaders::abi;
use polysort_shaders::plan::{self, Algorithm, Buffer as Role, Payload, Request, Segmented, SortPlan, Top};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use wgpu::{Buffer, CommandEncoder, ComputePassDescriptor};

pub(crate) const PASS: ComputePassDescriptor<'_> = ComputePassDescriptor { label: Some("polysort"), timestamp_writes: None };

/// Limits of the memory that calls take, and of the memory that is kept between calls.
///
/// A call takes about three times its data: the keys and values on the device, scratch of the same size, and staging
/// for the result. Staging for uploads takes up to 24 MiB more. A call is in flight until the device has finished its
/// commands, even if the call has returned before.
///
/// - Calls in flight may take up to [`in_flight`](Memory::in_flight) bytes together. A call that is alone may take more.
/// - A call for which there is no room waits for others to end. If none ends within [`patience`](Memory::patience), the
///   call fails with [`Error::OutOfMemory`]; [`Fallback`](polysort_core::Fallback) then calls its second backend. So a
///   caller that suspends the future of one call and makes another call gets an error instead of a deadlock.
/// - In a browser, a call for which there is no room fails at once.
///
/// The memory of a call is kept for later calls: up to [`kept`](Memory::kept) bytes in all, or the memory of one call
/// if that is more. If none of the next 32 calls needs half of it, it is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// The most bytes that calls in flight may take together. The default is 16 GiB.
    pub in_flight: u64,
    /// The most bytes that are kept for later calls. The default is 1 GiB.
    pub kept: u64,
    /// The time that a call waits for room while no other call ends. The default is 10 seconds.
    pub patience: Duration,
}

impl Default for Memory {
    fn default() -> Self {
        Self { in_flight: 16 << 30, kept: 1 << 30, patience: Duration::from_secs(10) }
    }
}

/// Settings of the configuration that apply to every sort of an engine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) algorithm: Option<Algorithm>,
    pub(crate) blocked: plan::Blocked,
    pub(crate) batch: Option<u32>,
    pub(crate) small_bucket: Option<u32>,
}

/// The properties of a request that decide which self-test it needs: key bits, payload, selection, whether there are
/// segments, the requested algorithm, and the smallest number of keys with the same kernels.
type Kind = (u32, Payload, Option<Top>, bool, Option<Algorithm>, u64);

/// A device, the memory that is kept on it, and the results of its self-tests.
pub(crate) struct Engine {
    gpu: Arc<Gpu>,
    asked: Asked,
    pub(crate) pool: Pool<Workspace>,
    pub(crate) budget: Arc<Budget>,
    patience: Duration,
    /// The algorithm and kernel language that have passed the self-test, for each kind of sorts.
    tested: Known<Kind, Way>,
    /// The kinds of distances whose self-test has passed. The value is true if native kernels passed it.
    #[cfg(feature = "vector")]
    pub(crate) tested_distances: Known<plan::Vectors, bool>,
}

/// Results of self-tests.
pub(crate) struct Known<K, V>(Mutex<HashMap<K, V>>);

impl<K: Eq + Hash, V: Copy> Known<K, V> {
    pub(crate) fn get(&self, of: &K) -> Option<V> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(of).copied()
    }

    pub(crate) fn set(&self, of: K, found: V) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(of, found);
    }
}

impl<K, V> Default for Known<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl Engine {
    pub(crate) fn new(gpu: Arc<Gpu>, asked: Asked, memory: Memory) -> Self {
        Self {
            gpu,
            asked,
            pool: Pool::new(memory.kept),
            budget: Arc::new(Budget::new(memory.in_flight)),
            // In a browser, no call may wait.
            patience: if cfg!(target_arch = "wasm32") { Duration::ZERO } else { memory.patience },
            tested: Known::default(),
            #[cfg(feature = "vector")]
            tested_distances: Known::default(),
        }
    }

    pub(crate) fn gpu(&self) -> &Arc<Gpu> {
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

    /// Rounds the lengths of a request up by less than 1/4. So sorts of similar lengths use the same buffers and bind
    /// groups.
    fn shared(&self, request: Request) -> Request {
        let rounded = |count: u64| count.next_multiple_of((count / 8).next_power_of_two());
        let most = self.gpu.facts.limits(request.payload.words()).longest(request.unit_bytes());
        let segments = request.segments.map(|segments| Segmented { max: rounded(segments.max.into()) as u32, ..segments });
        Request { max: rounded(request.max).min(most).max(request.max), segments, ..request }
    }

    /// Sorts data of the host, with an algorithm and kernels that have passed their self-test. `request.max` is the
    /// number of keys, or of segments to select from.
    pub(crate) async fn sort(
        self: &Arc<Self>,
        waiting: Waiting,
        request: Request,
        data: Data<'_>,
        lists: Option<Lists<'_>>,
    ) -> Result<(), Error> {
        let (tested, native) = self.tested(waiting, self.shared(request)).await?;
        let request = Request { max: request.max, segments: request.segments, ..tested };
        self.sort_untested(waiting, (request, native), data, lists).await
    }

    /// Sorts data of the host, without a self-test. `request.max` is at least the number of keys. With `lists`, it sorts
    /// each segment by itself.
    pub(crate) async fn sort_untested(
        self: &Arc<Self>,
        waiting: Waiting,
        (request, native): Bindable,
        mut data: Data<'_>,
        lists: Option<Lists<'_>>,
    ) -> Result<(), Error> {
        let count = match (&data, request.segments) {
            (_, Some(segments)) => segments.max.into(),
            // `max` of such a request is the number of keys, or of segments to select from.
            (Data::Top(..), None) => request.max,
            (data, None) => 8 * data.keys().len() as u64 / u64::from(request.key_bits),
        };
        let request = self.shared(request);
        let gpu = self.gpu.clone();
        let results: Vec<usize> = data.results().iter().map(|(_, bytes)| bytes.len()).collect();
        let bytes = data.keys().len() as u64;
        let uploads = data.uploads().into_iter().chain(lists.into_iter().flat_map(Lists::uploads));
        let uploads: Vec<(Role, &[u8])> = uploads.filter(|(_, bytes)| !bytes.is_empty()).collect();
        // The plan of a selection from segments does not have the number of keys.
        let roomy = || bytes.next_power_of_two().min(gpu.facts.max_binding).max(bytes);
        let keys = if request.top.is_some_and(|top| top.segmented) { vec![(Role::Keys, roomy())] } else { vec![] };
        let up: Vec<usize> = uploads.iter().map(|(_, bytes)| bytes.len()).collect();
        let mut call = Call::begin(self, waiting, Some((request, native)), &keys, Staging { up: &up, down: &results }).await?;
        let bind = || {
            let workspace = call.workspace_mut();
            keys.iter().try_for_each(|&(role, bytes)| workspace.grow(&gpu, role, bytes))?;
            workspace.launches(&gpu, (request, native))
        };
        let launches = self.allocating(waiting, bind).await?;
        for (role, bytes) in uploads {
            call.upload(bytes, role).await?;
        }
        let mut results = data.results();
        let sources: Vec<Buffer> = results.iter().map(|(role, _)| call.workspace().buffer(*role).clone()).collect();
        let mut targets: Vec<&mut [u8]> = results.iter_mut().map(|(_, bytes)| &mut **bytes).collect();
        let record =
            |encoder: &mut CommandEncoder| launches.record(&mut encoder.begin_compute_pass(&PASS), Count::Fixed(count as u32));
        call.run(record, &sources, &mut targets).await
    }

    /// Sorts buffers on the device. `request.max` is the number of keys. Returns when the commands are submitted.
    pub(crate) async fn sort_resident(
        self: &Arc<Self>,
        waiting: Waiting,
        request: Request,
        resident: Resident<'_>,
    ) -> Result<(), Error> {
        let count = Count::Fixed(request.max as u32);
        let (request, native) = self.tested(waiting, request).await?;
        let gpu = self.gpu.clone();
        let plan = SortPlan::new(request, &gpu.facts)?;
        let mut call = Call::begin(self, waiting, None, &plan.scratch, Staging::default()).await?;
        let given = |role| match role {
            Role::Keys => Some(resident.keys),
            Role::Values => resident.values,
            _ => None,
        };
        let launches = self.allocating(waiting, || call.workspace_mut().bind(&gpu, &plan, native, given)).await?;
        let submit = || {
            gpu.guarded(|| {
                let mut encoder = gpu.encoder();
                for &(from, to, bytes) in resident.copies.iter().filter(|(.., bytes)| *bytes > 0) {
                    encoder.copy_buffer_to_buffer(from, 0, to, 0, bytes);
                }
                launches.record(&mut encoder.begin_compute_pass(&PASS), count)?;
                // No thread may map a buffer between this check and the submission.
                unless_read(&resident.readers, || gpu.queue.submit([encoder.finish()]))
            })?
        };
        call.submitted();
        gpu.watched(submit).await?;
        call.succeeded();
        Ok(())
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

    /// Returns the request with the engine's settings and a tested algorithm, and whether native kernels run it. If this
    /// kind of sorts has not passed the self-test on this device yet, this runs the self-test. Two calls of a new kind at
    /// the same time both run it: neither waits for the other.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] if the device is lost, [`Error::SelfTest`] if the device sorts wrongly, or a failure of the
    /// device.
    pub(crate) async fn tested(self: &Arc<Self>, waiting: Waiting, request: Request) -> Result<Bindable, Error> {
        if let Some(lost) = self.gpu.lost() {
            return Err(lost);
        }
        let Asked { blocked, batch, small_bucket, .. } = self.asked;
        let asked = self.asked.algorithm.filter(|algorithm| algorithm.sorts(&request)).or(request.algorithm);
        let request = Request { blocked, batch, small_bucket, ..request };
        // Selections with the same kernel are of one kind. The self-test selects as many keys as the kernel's tile has.
        let top = match request.top {
            None => None,
            Some(top) => {
                let plan = SortPlan::new(Request { algorithm: asked, ..request }, &self.gpu.facts)?;
                let tile = plan.long_commands().last().map_or(0, |command| command.variant.tile);
                Some(Top { k: tile, ..top })
            }
        };
        let least = self.gpu.facts.least_alike(&Request { algorithm: asked, ..request });
        let kind = (request.key_bits, request.payload, top, request.segments.is_some(), asked, least);
        let way = match self.tested.get(&kind) {
            Some(way) => way,
            None => {
                let mut ways = Ways::new(self.gpu.is_native, asked);
                while !ways.takes(self_test::check(self, waiting, request, least, ways.current()).await)? {}
                self.tested.set(kind, ways.current());
                ways.current()
            }
        };
        Ok((Request { algorithm: way.algorithm, ..request }, way.native))
    }

    /// Bytes that are kept for later calls: on the device, and on the host where the device sees them.
    pub(crate) fn bytes(&self) -> u64 {
        self.pool.bytes()
    }

    /// Frees the memory that is kept for later calls.
    pub(crate) fn release(&self) {
        drop(self.pool.clear());
    }

    /// Returns the number of recounts in the last sort of more than one tile: tiles that other workgroups have counted.
    pub(crate) async fn recounts(self: &Arc<Self>, waiting: Waiting) -> Result<u32, Error> {
        let Some(state) = self.pool.find(|workspace| workspace.find(Role::State).cloned()) else { return Ok(0) };
        let mut words = [0_u32; abi::STATE_HISTOGRAM as usize];
        let bytes = bytemuck::cast_slice_mut(&mut words);
        Call::download(self, waiting, &state, &[], bytes).await?;
        Ok(words[abi::STATE_RECOUNTS as usize])
    }
}
