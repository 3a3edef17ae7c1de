//! `WgpuBackend`: the engine behind the contract of all backends.

use crate::adapters::{Allowed, BACKENDS};
use crate::copy::Copiers;
use crate::engine::{Asked, Data, Engine, Memory};
use crate::gpu::Gpu;
use crate::sorter::payload;
use crate::wait::{Waiting, blocking};
use bytemuck::Pod;
use polysort_core::{Backend, Error, Limits, Segments, Spec, Word, permutation};
use polysort_shaders::plan::{Algorithm, Blocked, Facts, Payload, Request, Tuned};
use std::sync::Arc;
use wgpu::Backends;

/// Sorts on a GPU.
///
/// Keys of 8 to 128 bits, and payloads of 4, 8, 12 and 16 bytes, move on the device; other payloads by an argsort there and a gather
/// here.
///
/// Calls may be made from any number of threads, rayon tasks and async tasks at the same time. Each takes memory of its own, as [`Memory`]
/// says; no lock is held while one of them waits for the device. [`release`](WgpuBackend::release) gives back the memory that is kept for later
/// calls.
#[derive(Clone)]
pub struct WgpuBackend {
    gpu: Arc<Gpu>,
    engine: Arc<Engine>,
}

/// How to open a [`WgpuBackend`]. The default takes the best real GPU, and all that it can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// The interfaces whose adapters will do.
    pub backends: Backends,
    /// Whether an adapter that runs on the CPU will do: for tests.
    pub software: bool,
    /// Whether subgroup operations may be used.
    pub subgroups: bool,
    /// Whether kernels in the device's own language may be used: Metal's, on Apple's GPUs. `MetalBackend` asks for them.
    pub native: bool,
    /// The way to sort, where not the planner is to choose: what it cannot sort at all is left to the planner.
    pub algorithm: Option<Algorithm>,
    /// Shapes of passes that were found on this device, where they are to take the place of the built-in ones.
    pub tuned: Tuned,
    /// Tiles that are made to starve: for tests of what then happens.
    pub blocked: Blocked,
    /// Keys in which the buckets of a batch start, where not the planner is to choose: for tests of several batches.
    pub batch: Option<u32>,
    /// Keys of a bucket, at most, that one group sorts, where not the planner is to choose: for tests of others.
    pub small_bucket: Option<u32>,
    /// Bytes of a binding, if fewer than the device allows: for tests of what does not fit one.
    pub max_binding: Option<u64>,
    /// How much memory calls may take, and how much is kept between them.
    pub memory: Memory,
    /// Threads that copy between the host's slices and the device, the caller's included. `None` is one for each core, up to eight.
    pub copy_threads: Option<usize>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            backends: BACKENDS,
            software: false,
            subgroups: true,
            native: false,
            algorithm: None,
            tuned: Tuned::NONE,
            blocked: Blocked::NONE,
            batch: None,
            small_bucket: None,
            max_binding: None,
            memory: Memory::default(),
            copy_threads: None,
        }
    }
}

impl Config {
    /// The default; with the environment variable `POLYSORT_SOFTWARE_GPU=1`, an adapter that runs on the CPU will do as well.
    pub fn from_env() -> Self {
        let software = std::env::var_os("POLYSORT_SOFTWARE_GPU").is_some_and(|value| value == "1");
        Self { software, ..Self::default() }
    }
}

impl WgpuBackend {
    /// Opens a device of its own.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if there is no such adapter.
    pub fn open_with(config: Config) -> Result<Self, Error> {
        blocking(Self::open_async(config))
    }

    /// As [`open_with`](WgpuBackend::open_with), without blocking.
    ///
    /// # Errors
    /// As [`open_with`](WgpuBackend::open_with).
    pub async fn open_async(config: Config) -> Result<Self, Error> {
        let Config { backends, software, subgroups, native, .. } = config;
        let mut gpu = Gpu::open(Allowed { backends, software, subgroups, native }).await?;
        gpu.facts.tuned = config.tuned;
        gpu.facts.max_binding = config.max_binding.unwrap_or(u64::MAX).min(gpu.facts.max_binding);
        gpu.copiers = Copiers::new(config.copy_threads);
        let gpu = Arc::new(gpu);
        tracing::info!(device = gpu.name(), "opened");
        let Config { algorithm, blocked, batch, small_bucket, memory, .. } = config;
        let engine = Engine::new(gpu.clone(), Asked { algorithm, blocked, batch, small_bucket }, memory);
        Ok(Self { gpu, engine: Arc::new(engine) })
    }

    /// Bytes of device memory, and of host memory that the device sees, that are kept for later calls. Calls in flight do not count.
    ///
    /// # Errors
    /// None yet.
    pub fn scratch_bytes(&self) -> Result<u64, Error> {
        Ok(self.engine.bytes())
    }

    /// Gives back the memory that is kept for later calls. Calls in flight go on; what they took is kept again when they end.
    ///
    /// # Errors
    /// None yet.
    pub fn release(&self) -> Result<(), Error> {
        self.engine.release();
        Ok(())
    }

    /// How many tiles the last sort of more than one tile counted on behalf of groups that had not come so far.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn recounts(&self) -> Result<u32, Error> {
        blocking(self.engine.recounts(Waiting::Here))
    }

    /// What the device is, as wgpu knows it.
    pub fn info(&self) -> &wgpu::AdapterInfo {
        &self.gpu.info
    }

    /// The device that this backend sorts on.
    pub fn device(&self) -> &wgpu::Device {
        &self.gpu.device
    }

    /// Its queue.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.gpu.queue
    }

    pub(crate) fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// Whether both are handles to one device.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.gpu, &other.gpu)
    }

    /// What sorts are planned for.
    pub fn facts(&self) -> &Facts {
        &self.gpu.facts
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Sorts words in place.
    pub(crate) async fn sort_words<W: Word>(&self, waiting: Waiting, keys: &mut [W], spec: Spec) -> Result<(), Error> {
        spec.check::<W>()?;
        if keys.len() < 2 || spec.width() == 0 {
            return Ok(());
        }
        self.run::<W>(waiting, keys.len(), Payload::None, Data::Keys(bytemuck::cast_slice_mut(keys)), spec).await
    }

    /// Sorts words in place, and moves values along.
    pub(crate) async fn sort_word_pairs<W: Word, V: Pod>(
        &self,
        waiting: Waiting,
        keys: &mut [W],
        values: &mut [V],
        spec: Spec,
    ) -> Result<(), Error> {
        spec.check_pairs::<W>(keys.len(), values.len())?;
        if keys.len() < 2 || spec.width() == 0 || size_of::<V>() == 0 {
            return self.sort_words(waiting, keys, spec).await;
        }
        let Ok(payload @ Payload::Words(_)) = payload(size_of::<V>()) else {
            let order = self.argsort_words(waiting, keys, spec).await?;
            permutation::gather_pairs(keys, values, &order);
            return Ok(());
        };
        let count = keys.len();
        let data = Data::Pairs(bytemuck::cast_slice_mut(keys), bytemuck::cast_slice_mut(values));
        self.run::<W>(waiting, count, payload, data, spec).await
    }

    /// The permutation that sorts words.
    pub(crate) async fn argsort_words<W: Word>(&self, waiting: Waiting, keys: &[W], spec: Spec) -> Result<Vec<u32>, Error> {
        spec.check::<W>()?;
        if keys.len() < 2 || spec.width() == 0 {
            return permutation::identity(keys.len());
        }
        let mut indices = vec![0_u32; keys.len()];
        let data = Data::Indices(bytemuck::cast_slice(keys), bytemuck::cast_slice_mut(&mut indices));
        self.run::<W>(waiting, keys.len(), Payload::Indices, data, spec).await?;
        Ok(indices)
    }

    async fn run<W: Word>(
        &self,
        waiting: Waiting,
        count: usize,
        payload: Payload,
        data: Data<'_>,
        spec: Spec,
    ) -> Result<(), Error> {
        // Shorter keys take a word each while they are sorted.
        self.gpu.facts.limits(payload.words()).check("the GPU", count, size_of::<W>().max(4))?;
        let request = Request { payload, ..Request::keys(W::BITS, spec, count as u64) };
        self.engine.sort(waiting, request, data, None).await
    }
}

impl core::fmt::Debug for WgpuBackend {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("WgpuBackend").field(&self.gpu.name()).finish()
    }
}

impl Backend for WgpuBackend {
    /// The best real GPU; with the environment variable `POLYSORT_SOFTWARE_GPU=1`, one that runs on the CPU as well.
    fn open() -> Result<Self, Error> {
        Self::open_with(Config::from_env())
    }

    fn name(&self) -> String {
        self.gpu.name()
    }

    fn limits(&self) -> Limits {
        self.gpu.facts.limits(0)
    }

    fn is_lost(&self) -> bool {
        // A driver tells it when it is asked.
        let polled = self.gpu.device.poll(wgpu::PollType::Poll);
        polled.is_err() || self.gpu.lost().is_some()
    }

    fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error> {
        blocking(self.sort_words(Waiting::Here, keys, spec))
    }

    fn sort_pairs_bits<W: Word, V: Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error> {
        blocking(self.sort_word_pairs(Waiting::Here, keys, values, spec))
    }

    fn argsort_bits<W: Word>(&self, keys: &[W], spec: Spec) -> Result<Vec<u32>, Error> {
        blocking(self.argsort_words(Waiting::Here, keys, spec))
    }

    fn sort_segments_bits<W: Word>(&self, keys: &mut [W], segments: Segments<'_>, spec: Spec) -> Result<(), Error> {
        blocking(self.sort_segment_words(Waiting::Here, keys, segments, spec))
    }

    fn sort_pairs_segments_bits<W: Word, V: Pod>(
        &self,
        keys: &mut [W],
        values: &mut [V],
        segments: Segments<'_>,
        spec: Spec,
    ) -> Result<(), Error> {
        blocking(self.sort_segment_word_pairs(Waiting::Here, keys, values, segments, spec))
    }

    fn argsort_segments_bits<W: Word>(&self, keys: &[W], segments: Segments<'_>, spec: Spec) -> Result<Vec<u32>, Error> {
        blocking(self.argsort_segment_words(Waiting::Here, keys, segments, spec))
    }

    fn top_k_bits<W: Word>(&self, keys: &[W], k: usize, spec: Spec) -> Result<Vec<u32>, Error> {
        blocking(self.top_k_words(Waiting::Here, keys, k, spec))
    }

    fn top_k_segments_bits<W: Word>(&self, keys: &[W], k: usize, segments: Segments<'_>, spec: Spec) -> Result<Vec<u32>, Error> {
        blocking(self.top_k_segment_words(Waiting::Here, keys, k, segments, spec))
    }
}
