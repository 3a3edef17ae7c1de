//! `WgpuBackend`: the engine, as a [`Backend`].

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
/// The device moves keys of 8 to 128 bits, and payloads of 4, 8, 12 and 16 bytes. For other payloads it computes an
/// argsort, and the host gathers them.
///
/// Calls may be made from any number of threads, rayon tasks and async tasks at the same time. Each call takes memory
/// of its own, within the limits of [`Memory`]. No call holds a lock while it waits for the device.
/// [`release`](WgpuBackend::release) gives back the memory that is kept for later calls.
#[derive(Clone)]
pub struct WgpuBackend {
    gpu: Arc<Gpu>,
    engine: Arc<Engine>,
}

/// How to open a [`WgpuBackend`]. The default opens the best real GPU and uses everything that it can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// The interfaces to look for adapters in.
    pub backends: Backends,
    /// For tests: whether an adapter that runs on the CPU may be opened.
    pub software: bool,
    /// Whether subgroup operations may be used.
    pub subgroups: bool,
    /// Whether kernels in the device's own language may be used: Metal's, on Apple's GPUs. `MetalBackend` sets this.
    pub native: bool,
    /// The algorithm to use instead of the planner's choice. If it does not support a request, the planner chooses one
    /// that does.
    pub algorithm: Option<Algorithm>,
    /// Shapes of passes that were measured on this device. They replace the built-in ones.
    pub tuned: Tuned,
    /// For tests: tiles that publish nothing, so that other workgroups have to count them.
    pub blocked: Blocked,
    /// For tests of several batches: the keys of a batch, instead of the planner's choice.
    pub batch: Option<u32>,
    /// For tests: the most keys of a bucket that one workgroup sorts, instead of the planner's choice.
    pub small_bucket: Option<u32>,
    /// For tests: the most bytes of a binding, if fewer than the device allows.
    pub max_binding: Option<u64>,
    /// How much memory calls may take, and how much is kept between them.
    pub memory: Memory,
    /// Threads that copy between the host's slices and the device, with the calling thread. `None` means one for each
    /// core, up to eight.
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
    /// Returns the default. With the environment variable `POLYSORT_SOFTWARE_GPU=1`, an adapter that runs on the CPU
    /// may be opened too.
    pub fn from_env() -> Self {
        let software = std::env::var_os("POLYSORT_SOFTWARE_GPU").is_some_and(|value| value == "1");
        Self { software, ..Self::default() }
    }
}

impl WgpuBackend {
    /// Opens a device for this backend alone.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if there is no adapter that `config` allows, or if it does not open.
    pub fn open_with(config: Config) -> Result<Self, Error> {
        blocking(Self::open_async(config))
    }

    /// Async variant of [`open_with`](WgpuBackend::open_with).
    ///
    /// # Errors
    /// The same as those of [`open_with`](WgpuBackend::open_with).
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

    /// Returns the bytes of memory that are kept for later calls: on the device, and on the host where the device sees
    /// them. Calls in flight do not count.
    ///
    /// # Errors
    /// None yet.
    pub fn scratch_bytes(&self) -> Result<u64, Error> {
        Ok(self.engine.bytes())
    }

    /// Gives back the memory that is kept for later calls. Calls in flight are not affected; their memory is kept again
    /// when they end.
    ///
    /// # Errors
    /// None yet.
    pub fn release(&self) -> Result<(), Error> {
        self.engine.release();
        Ok(())
    }

    /// Returns how many tiles workgroups have counted on behalf of slower ones. This is for the last sort of more than
    /// one tile.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] if the device is lost, or another failure of the device.
    pub fn recounts(&self) -> Result<u32, Error> {
        blocking(self.engine.recounts(Waiting::Here))
    }

    /// What wgpu knows of the device.
    pub fn info(&self) -> &wgpu::AdapterInfo {
        &self.gpu.info
    }

    /// The device that this backend sorts on.
    pub fn device(&self) -> &wgpu::Device {
        &self.gpu.device
    }

    /// The queue of the device.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.gpu.queue
    }

    pub(crate) fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// Returns whether both are handles to one device.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.gpu, &other.gpu)
    }

    /// What plans know of the device.
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

    /// Sorts words in place, and moves each value with its word.
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

    /// Returns the permutation that sorts the words.
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
        // A shorter key takes a word while it is sorted.
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
    /// Opens the best real GPU. With the environment variable `POLYSORT_SOFTWARE_GPU=1`, it may be an adapter that runs
    /// on the CPU.
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
        // A driver reports a lost device only when it is polled.
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
