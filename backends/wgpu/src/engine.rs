//! Sorts of host slices: buffers and launches that are kept from call to call.

use crate::gpu::{Gpu, STORAGE};
use crate::launch::{Bound, Count, Launches};
use crate::self_test;
use crate::staging::{Down, Up, encoder};
use crate::wait::Waiting;
use crate::way::{Way, Ways};
use async_lock::{Mutex, MutexGuard};
use polysort_core::Error;
use polysort_core::plan::{self, Algorithm, Payload, Request, Segmented, SortPlan, Top, Vectors};
use polysort_shaders::abi;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use wgpu::{Buffer, BufferUsages, CommandEncoder, ComputePassDescriptor};

/// Sorts that are kept bound for the next call of the same kind.
const KEPT: usize = 32;

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

/// Sorts that share a way: keys of so many bits, their payload, what is selected, whether each segment by itself, by which algorithm, and the
/// fewest keys that have the same kernels.
type Kind = (u32, Payload, Option<Top>, bool, Option<Algorithm>, u64);

/// The memory of one device, and what is bound in it.
pub(crate) struct Engine {
    gpu: Arc<Gpu>,
    buffers: BTreeMap<plan::Buffer, Buffer>,
    launches: Vec<((Request, bool), Arc<Launches>)>,
    /// The way that passed its test, for keys and payloads of a kind and the algorithm that was asked for.
    tested: HashMap<Kind, Way>,
    /// Distances that passed their test, and whether by native kernels.
    pub(crate) tested_distances: HashMap<Vectors, bool>,
    up: Up,
    down: Down,
    /// How the call that has the engine waits.
    waiting: Waiting,
    /// What every sort is asked to do besides.
    pub(crate) algorithm: Option<Algorithm>,
    pub(crate) blocked: plan::Blocked,
    pub(crate) batch: Option<u32>,
    pub(crate) small_bucket: Option<u32>,
}

impl Engine {
    pub(crate) fn new(gpu: Arc<Gpu>) -> Self {
        Self {
            gpu,
            buffers: BTreeMap::new(),
            launches: vec![],
            tested: HashMap::new(),
            tested_distances: HashMap::new(),
            up: Up::default(),
            down: Down::default(),
            waiting: Waiting::default(),
            algorithm: None,
            blocked: plan::Blocked::NONE,
            batch: None,
            small_bucket: None,
        }
    }

    /// The engine, for a call that waits like this. What a call that was given up left in it, the next one fills again.
    pub(crate) async fn locked(engine: &Mutex<Self>, waiting: Waiting) -> MutexGuard<'_, Self> {
        let mut engine = engine.lock().await;
        engine.waiting = waiting;
        engine
    }

    /// The request whose buffers and launches requests of much the same lengths share.
    fn shared(&self, request: Request) -> Request {
        let rounded = |count: u64| count.next_multiple_of((count / 8).next_power_of_two());
        let most = self.gpu.facts.limits(request.payload.words()).longest(request.unit_bytes());
        let segments = request.segments.map(|segments| Segmented { max: rounded(segments.max.into()) as u32, ..segments });
        Request { max: rounded(request.max).min(most).max(request.max), segments, ..request }
    }

    /// Sorts the host's data by a way that has passed its test. The request's maximum is the number of keys.
    pub(crate) async fn sort(&mut self, request: Request, data: Data<'_>, lists: Option<Lists<'_>>) -> Result<(), Error> {
        let (tested, native) = self.tested(self.shared(request)).await?;
        let request = Request { max: request.max, segments: request.segments, ..tested };
        self.sort_untested(request, native, data, lists).await
    }

    /// Sorts the host's data, of the request's maximum or less, by native kernels or not; where there are lists, each of them by itself.
    pub(crate) async fn sort_untested(
        &mut self,
        request: Request,
        native: bool,
        data: Data<'_>,
        lists: Option<Lists<'_>>,
    ) -> Result<(), Error> {
        let keys_in = |bytes: &[u8]| 8 * bytes.len() as u64 / u64::from(request.key_bits);
        let count = match (&data, request.segments) {
            (_, Some(segments)) => segments.max.into(),
            // The request tells how many segments there are.
            (Data::Top(..), None) => request.max,
            (Data::Keys(bytes) | Data::Pairs(bytes, _), None) => keys_in(bytes),
            (Data::Indices(bytes, _), None) => keys_in(bytes),
        };
        let request = self.shared(request);
        let segments = request.segments;
        let gpu = self.gpu.clone();
        if let Data::Top(bytes, bounds, _) = &data {
            gpu.watched(|| {
                // The request tells how many segments there are, not how many keys.
                self.grow(plan::Buffer::Keys, (bytes.len() as u64).next_power_of_two())?;
                self.grow(plan::Buffer::Bounds, (bounds.len() as u64).next_power_of_two())
            })
            .await?;
        }
        if let Some(segments) = segments {
            gpu.watched(|| {
                self.grow(plan::Buffer::Begins, 4 * u64::from(segments.max))?;
                self.grow(plan::Buffer::Ends, 4 * u64::from(segments.max))
            })
            .await?;
        }
        let launches = gpu.watched(|| self.launches(request, native)).await?;
        let (keys, values) = (plan::Buffer::Keys, plan::Buffer::Values);
        let buffer = |role| &self.buffers[&role];
        let (bytes, others): (&[u8], Option<(plan::Buffer, &[u8])>) = match &data {
            Data::Keys(bytes) => (bytes, None),
            Data::Indices(bytes, _) => (bytes, None),
            Data::Top(bytes, bounds, _) => (bytes, Some((plan::Buffer::Bounds, bounds))),
            Data::Pairs(bytes, value_bytes) => (bytes, Some((values, value_bytes))),
        };
        let lists = lists.map(|lists| [(plan::Buffer::Begins, lists.begins), (plan::Buffer::Ends, lists.ends)]);
        for (role, bytes) in [(keys, bytes)].into_iter().chain(others).chain(lists.into_iter().flatten()) {
            self.up.copy(&gpu, self.waiting, bytes, (buffer(role), 0)).await?;
        }
        let mut results: Vec<(plan::Buffer, &mut [u8])> = match data {
            Data::Keys(bytes) => vec![(keys, bytes)],
            Data::Indices(_, indices) | Data::Top(_, _, indices) => vec![(values, indices)],
            Data::Pairs(bytes, value_bytes) => vec![(keys, bytes), (values, value_bytes)],
        };
        let down = &mut self.down;
        let record = || {
            let encoder = gpu.guarded(|| -> Result<_, Error> {
                let mut encoder = encoder(&gpu);
                launches.record(&mut encoder.begin_compute_pass(&PASS), Count::Fixed(count as u32))?;
                Ok(encoder)
            })??;
            let sources: Vec<_> = results.iter().map(|(role, bytes)| (buffer(*role), bytes.len())).collect();
            down.begin(&gpu, encoder, &sources)
        };
        let coming = gpu.watched(record).await?;
        let mut targets: Vec<&mut [u8]> = results.iter_mut().map(|(_, bytes)| &mut **bytes).collect();
        self.down.finish(&gpu, self.waiting, coming, &mut targets).await
    }

    /// Sorts what is on the device. The request's maximum is the number of keys.
    pub(crate) async fn sort_resident(&mut self, request: Request, keys: &Buffer, values: Option<&Buffer>) -> Result<(), Error> {
        let count = Count::Fixed(request.max as u32);
        let (request, native) = self.tested(request).await?;
        let gpu = self.gpu.clone();
        gpu.watched(|| {
            let launches = self.bind(request, native, |role| match role {
                plan::Buffer::Keys => Some(keys),
                plan::Buffer::Values => values,
                _ => None,
            })?;
            gpu.guarded(|| {
                let mut encoder = encoder(&gpu);
                let recorded = launches.record(&mut encoder.begin_compute_pass(&PASS), count);
                gpu.queue.submit([encoder.finish()]);
                recorded
            })?
        })
        .await
    }

    /// Copies `bytes` to a buffer, from byte `start` on.
    pub(crate) async fn upload(&mut self, bytes: &[u8], buffer: &Buffer, start: u64) -> Result<(), Error> {
        self.up.copy(&self.gpu, self.waiting, bytes, (buffer, start)).await
    }

    /// Submits commands, and copies the first bytes of buffers, as many as go with each, to `targets`: all of them or nothing.
    pub(crate) async fn finish(
        &mut self,
        encoder: CommandEncoder,
        sources: &[Buffer],
        targets: &mut [&mut [u8]],
    ) -> Result<(), Error> {
        let gpu = self.gpu.clone();
        let sources: Vec<_> = sources.iter().zip(targets.iter()).map(|(source, target)| (source, target.len())).collect();
        let coming = gpu.watched(|| self.down.begin(&gpu, encoder, &sources)).await?;
        self.down.finish(&gpu, self.waiting, coming, targets).await
    }

    /// Copies the start of a buffer to `bytes`.
    pub(crate) async fn download(&mut self, buffer: &Buffer, bytes: &mut [u8]) -> Result<(), Error> {
        self.down.copy(&self.gpu, self.waiting, buffer, bytes).await
    }

    /// The request as this engine is asked to do it, by a way that has passed its test on this device, which is there; and whether
    /// by native kernels.
    pub(crate) async fn tested(&mut self, request: Request) -> Result<(Request, bool), Error> {
        if let Some(lost) = self.gpu.lost() {
            return Err(lost);
        }
        let asked = self.algorithm.filter(|algorithm| algorithm.sorts(&request)).or(request.algorithm);
        let request = Request { blocked: self.blocked, batch: self.batch, small_bucket: self.small_bucket, ..request };
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
            Some(&way) => way,
            None => {
                let mut ways = Ways::new(self.gpu.is_native, asked);
                while !ways.takes(self_test::check(self, request, least, ways.current()).await)? {}
                self.tested.insert(kind, ways.current());
                ways.current()
            }
        };
        Ok((Request { algorithm: way.algorithm, ..request }, way.native))
    }

    /// The launches of a request, bound in buffers that are large enough.
    fn launches(&mut self, request: Request, native: bool) -> Result<Arc<Launches>, Error> {
        if let Some(at) = self.launches.iter().position(|(kept, _)| *kept == (request, native)) {
            let found = self.launches.remove(at);
            self.launches.push(found.clone());
            return Ok(found.1);
        }
        if !request.top.is_some_and(|top| top.segmented) {
            self.grow(plan::Buffer::Keys, (request.max * u64::from(request.key_bits)).div_ceil(8))?;
        }
        self.grow(plan::Buffer::Values, request.value_bytes())?;
        let launches = Arc::new(self.bind(request, native, |_| None)?);
        if self.launches.len() == KEPT {
            self.launches.remove(0);
        }
        self.launches.push(((request, native), launches.clone()));
        Ok(launches)
    }

    /// Binds a request: to the buffers that `given` gives, else to our own.
    fn bind<'a>(
        &mut self,
        request: Request,
        native: bool,
        given: impl Fn(plan::Buffer) -> Option<&'a Buffer>,
    ) -> Result<Launches, Error> {
        let plan = SortPlan::new(request, &self.gpu.facts)?;
        for &(role, bytes) in &plan.scratch {
            self.grow(role, bytes)?;
        }
        let gpu = self.gpu.clone();
        Launches::new(&gpu, plan, native, None, &|role| {
            Bound::whole(given(role).unwrap_or_else(|| &self.buffers[&role])).at_most(gpu.facts.max_binding)
        })
    }

    /// Makes sure that a buffer has `bytes` bytes. What is bound to one that had not is forgotten.
    pub(crate) fn grow(&mut self, role: plan::Buffer, bytes: u64) -> Result<(), Error> {
        if self.buffers.get(&role).is_some_and(|buffer| buffer.size() >= bytes) {
            return Ok(());
        }
        // The old one is given back first: both may not fit.
        self.buffers.remove(&role);
        self.launches.clear();
        // In memory of the host, its data goes there without a detour.
        use plan::Buffer::{Begins, Bounds, Ends, Keys, Values};
        let is_filled = self.gpu.is_shared && matches!(role, Keys | Values | Bounds | Begins | Ends);
        let usage = if is_filled { STORAGE | BufferUsages::MAP_WRITE } else { STORAGE };
        let buffer = self.gpu.buffer(&format!("polysort {role:?}"), bytes, usage)?;
        self.buffers.insert(role, buffer);
        Ok(())
    }

    /// Bytes on the device, and in memory that both see.
    pub(crate) fn bytes(&self) -> u64 {
        self.buffers.values().map(Buffer::size).sum::<u64>() + self.up.bytes() + self.down.bytes()
    }

    /// Gives all memory back.
    pub(crate) fn release(&mut self) {
        self.buffers.clear();
        self.launches.clear();
        (self.up, self.down) = (Up::default(), Down::default());
    }

    /// How many tiles the last sort of more than one tile counted on behalf of others.
    pub(crate) async fn recounts(&mut self) -> Result<u32, Error> {
        let gpu = self.gpu.clone();
        let Some(state) = self.buffers.get(&plan::Buffer::State) else { return Ok(0) };
        let mut words = [0_u32; abi::STATE_HISTOGRAM as usize];
        self.down.copy(&gpu, self.waiting, state, bytemuck::cast_slice_mut(&mut words)).await?;
        Ok(words[abi::STATE_RECOUNTS as usize])
    }

    /// A buffer that was grown.
    pub(crate) fn buffer(&self, role: plan::Buffer) -> &Buffer {
        &self.buffers[&role]
    }

    pub(crate) fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }
}
