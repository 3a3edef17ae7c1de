//! Sorts on one device: of host slices, and of buffers that are there already.
//!
//! Nothing here is locked while anything waits. A call takes a workspace from a pool, submits, waits, and gives the workspace back, so that any number
//! of calls are in flight at a time, blocking ones and async ones, from any thread.

use crate::budget::{Budget, Permit};
use crate::call::Call;
use crate::gpu::Gpu;
use crate::launch::Count;
use crate::pool::Pool;
use crate::readers::Readers;
use crate::resident::Resident;
use crate::self_test;
use crate::wait::Waiting;
use crate::way::{Way, Ways};
use crate::workspace::{Bindable, Workspace};
use polysort_core::Error;
use polysort_shaders::abi;
use polysort_shaders::plan::{self, Algorithm, Buffer as Role, Payload, Request, Segmented, SortPlan, Top, Vectors};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use wgpu::{Buffer, CommandEncoder, ComputePassDescriptor};

pub(crate) const PASS: ComputePassDescriptor<'_> = ComputePassDescriptor { label: Some("polysort"), timestamp_writes: None };

/// What a host wants sorted, as bytes.
pub(crate) enum Data<'a> {
    /// Keys, in place.
    Keys(&'a mut [u8]),
    /// Keys and values, in place.
    Pairs(&'a mut [u8], &'a mut [u8]),
    /// Keys that stay, and where their indices go.
    Indices(&'a [u8], &'a mut [u8]),
    /// Keys that stay, begin and end of each segment if there are any, and where the indices of what is selected go.
    Top(&'a [u8], &'a [u8], &'a mut [u8]),
}

/// Where segments that are sorted by themselves begin and end, as bytes.
#[derive(Clone, Copy)]
pub(crate) struct Lists<'a> {
    pub(crate) begins: &'a [u8],
    pub(crate) ends: &'a [u8],
}

/// How much memory calls may take, and how much is kept between them.
///
/// A call takes what its sort needs: the keys and values, as much again, and some MiB. Calls in flight may take up to
/// [`in_flight`](Memory::in_flight) bytes together; a call that is alone may take more. A call that finds no room waits for others to end. If none ends for as
/// long as [`patience`](Memory::patience), the call is refused with [`Error::OutOfMemory`], which [`Fallback`](polysort_core::Fallback) answers on another
/// backend. So a caller that leaves the future of one call half done, and then makes another call, gets an error and not a hang. In a browser the call is
/// refused at once.
///
/// What a call took is kept for the next one, up to [`kept`](Memory::kept) bytes in all, or that of one call if that is more. Memory of a
/// large call that none of the 32 calls after it needed half of is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// Bytes that calls in flight may take together. The default is 16 GiB.
    pub in_flight: u64,
    /// Bytes that are kept for later calls. The default is 1 GiB.
    pub kept: u64,
    /// How long a call that finds no room waits while no other call ends. The default is 10 seconds.
    pub patience: Duration,
}

impl Default for Memory {
    fn default() -> Self {
        Self { in_flight: 16 << 30, kept: 1 << 30, patience: Duration::from_secs(10) }
    }
}

/// What every sort of an engine is asked to do besides.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) algorithm: Option<Algorithm>,
    pub(crate) blocked: plan::Blocked,
    pub(crate) batch: Option<u32>,
    pub(crate) small_bucket: Option<u32>,
}

/// Sorts that share a way: keys of so many bits, their payload, what is selected, whether each segment by itself, by which algorithm, and the
/// fewest keys that have the same kernels.
type Kind = (u32, Payload, Option<Top>, bool, Option<Algorithm>, u64);

/// One device, the memory that is kept on it, and what was found out about it.
pub(crate) struct Engine {
    gpu: Arc<Gpu>,
    asked: Asked,
    pub(crate) pool: Pool<Workspace>,
    pub(crate) budget: Arc<Budget>,
    patience: Duration,
    /// The way that passed its test, for keys and payloads of a kind and the algorithm that was asked for.
    tested: Known<Kind, Way>,
    /// Distances that passed their test, and whether by native kernels.
    pub(crate) tested_distances: Known<Vectors, bool>,
}

/// What was found out, by what it was found out about.
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
            // In a browser nobody may wait.
            patience: if cfg!(target_arch = "wasm32") { Duration::ZERO } else { memory.patience },
            tested: Known::default(),
            tested_distances: Known::default(),
        }
    }

    pub(crate) fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// Waits until calls in flight leave room for `bytes`.
    pub(crate) async fn wait_for_room(&self, waiting: Waiting, bytes: u64) -> Result<Permit, Error> {
        let (budget, patience) = (self.budget.clone(), self.patience);
        let refused = |_| Error::OutOfMemory { asked: bytes, limit: Some(self.budget.cap()) };
        waiting.run(move || budget.take(bytes, patience)).await.map_err(refused)
    }

    /// The request whose buffers and launches requests of much the same lengths share.
    fn shared(&self, request: Request) -> Request {
        let rounded = |count: u64| count.next_multiple_of((count / 8).next_power_of_two());
        let most = self.gpu.facts.limits(request.payload.words()).longest(request.unit_bytes());
        let segments = request.segments.map(|segments| Segmented { max: rounded(segments.max.into()) as u32, ..segments });
        Request { max: rounded(request.max).min(most).max(request.max), segments, ..request }
    }

    /// Sorts the host's data by a way that has passed its test. The request's maximum is the number of keys.
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

    /// Sorts the host's data, of the request's maximum or less, by native kernels or not; where there are lists, each of them by itself.
    pub(crate) async fn sort_untested(
        self: &Arc<Self>,
        waiting: Waiting,
        (request, native): Bindable,
        data: Data<'_>,
        lists: Option<Lists<'_>>,
    ) -> Result<(), Error> {
        let keys_in = |bytes: &[u8]| 8 * bytes.len() as u64 / u64::from(request.key_bits);
        let count = match (&data, request.segments) {
            (_, Some(segments)) => segments.max.into(),
            // The request has the number of segments.
            (Data::Top(..), None) => request.max,
            (Data::Keys(bytes) | Data::Pairs(bytes, _), None) => keys_in(bytes),
            (Data::Indices(bytes, _), None) => keys_in(bytes),
        };
        let request = self.shared(request);
        let gpu = self.gpu.clone();
        let (bytes, others): (&[u8], Option<(Role, &[u8])>) = match &data {
            Data::Keys(bytes) => (bytes, None),
            Data::Indices(bytes, _) => (bytes, None),
            Data::Top(bytes, bounds, _) => (bytes, Some((Role::Bounds, bounds))),
            Data::Pairs(bytes, value_bytes) => (bytes, Some((Role::Values, value_bytes))),
        };
        let lists = lists.map(|lists| [(Role::Begins, lists.begins), (Role::Ends, lists.ends)]);
        let uploads = [(Role::Keys, bytes)].into_iter().chain(others).chain(lists.into_iter().flatten());
        let uploads: Vec<(Role, &[u8])> = uploads.filter(|(_, bytes)| !bytes.is_empty()).collect();
        let results = match &data {
            Data::Keys(bytes) => bytes.len(),
            Data::Indices(_, indices) | Data::Top(_, _, indices) => indices.len(),
            Data::Pairs(bytes, value_bytes) => bytes.len() + value_bytes.len(),
        };
        // The plan of a selection from segments does not know how many keys there are.
        let keys = if request.top.is_some() { vec![(Role::Keys, (bytes.len() as u64).next_power_of_two())] } else { vec![] };
        let mut call = Call::begin(self, waiting, Some((request, native)), &keys, results as u64).await?;
        let bind = || {
            let workspace = call.workspace_mut();
            keys.iter().try_for_each(|&(role, bytes)| workspace.grow(&gpu, role, bytes))?;
            workspace.launches(&gpu, (request, native))
        };
        let launches = gpu.watched(bind).await?;
        for (role, bytes) in uploads {
            call.upload(bytes, role).await?;
        }
        let mut results: Vec<(Role, &mut [u8])> = match data {
            Data::Keys(bytes) => vec![(Role::Keys, bytes)],
            Data::Indices(_, indices) | Data::Top(_, _, indices) => vec![(Role::Values, indices)],
            Data::Pairs(bytes, value_bytes) => vec![(Role::Keys, bytes), (Role::Values, value_bytes)],
        };
        let sources: Vec<Buffer> = results.iter().map(|(role, _)| call.workspace().buffer(*role).clone()).collect();
        let mut targets: Vec<&mut [u8]> = results.iter_mut().map(|(_, bytes)| &mut **bytes).collect();
        let record =
            |encoder: &mut CommandEncoder| launches.record(&mut encoder.begin_compute_pass(&PASS), Count::Fixed(count as u32));
        call.run(record, &sources, &mut targets).await
    }

    /// Sorts what is on the device. The request's maximum is the number of keys. Returns when the commands are submitted.
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
        let mut call = Call::begin(self, waiting, None, &plan.scratch, 0).await?;
        let submit = || {
            let launches = call.workspace_mut().bind(&gpu, plan, native, |role| match role {
                Role::Keys => Some(resident.keys),
                Role::Values => resident.values,
                _ => None,
            })?;
            gpu.guarded(|| {
                let mut encoder = gpu.encoder();
                for &(from, to, bytes) in resident.copies.iter().filter(|(.., bytes)| *bytes > 0) {
                    encoder.copy_buffer_to_buffer(from, 0, to, 0, bytes);
                }
                let recorded = launches.record(&mut encoder.begin_compute_pass(&PASS), count);
                gpu.queue.submit([encoder.finish()]);
                recorded
            })?
        };
        // Nobody may map a buffer between the check that nobody has and the submission.
        gpu.watched(|| unless_read(&resident.readers, submit)).await
    }

    /// The request as this engine is asked to do it, by a way that has passed its test on this device, which is there; and whether
    /// by native kernels. Two calls of a new kind at the same time both test it: neither waits for the other.
    pub(crate) async fn tested(self: &Arc<Self>, waiting: Waiting, request: Request) -> Result<Bindable, Error> {
        if let Some(lost) = self.gpu.lost() {
            return Err(lost);
        }
        let Asked { blocked, batch, small_bucket, .. } = self.asked;
        let asked = self.asked.algorithm.filter(|algorithm| algorithm.sorts(&request)).or(request.algorithm);
        let request = Request { blocked, batch, small_bucket, ..request };
        // Selections by the same kernel are of one kind: of all numbers of keys that it selects, this one is as good as any.
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

    /// Bytes that are kept for the next call, on the device and in memory that both see.
    pub(crate) fn bytes(&self) -> u64 {
        self.pool.bytes()
    }

    /// Gives that memory back.
    pub(crate) fn release(&self) {
        drop(self.pool.clear());
    }

    /// How many tiles the last sort of more than one tile counted on behalf of others.
    pub(crate) async fn recounts(self: &Arc<Self>, waiting: Waiting) -> Result<u32, Error> {
        let Some(state) = self.pool.find(|workspace| workspace.find(Role::State).cloned()) else { return Ok(0) };
        let mut words = [0_u32; abi::STATE_HISTOGRAM as usize];
        let bytes = bytemuck::cast_slice_mut(&mut words);
        Call::begin(self, waiting, None, &[], bytes.len() as u64).await?.download(&state, bytes).await?;
        Ok(words[abi::STATE_RECOUNTS as usize])
    }
}

/// Calls `work` unless one of these buffers is read, and keeps new readers out until it is done.
fn unless_read<T>(readers: &[&Readers], work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    match readers {
        [] => work(),
        [first, rest @ ..] => first.unless_read(|| unless_read(rest, work))?,
    }
}
