//! `WgpuBackend`: the engine, as a [`Backend`].

use crate::adapter::{Adapter, BACKENDS};
use crate::adapters::{Allowed, adapters};
use crate::call::Call;
use crate::copy::Copiers;
use crate::engine::{Engine, Memory};
use crate::gpu::Gpu;
use crate::kinds::{Asked, Kinds};
use crate::knobs::Knobs;
use crate::queued::Queued;
use crate::wait::{Waiting, blocking};
use crate::workspace::Workspace;
use polysort_core::{AnyOperation, Backend, BoxFuture, Error, Limits, Spec, sorts_by_run, with_word};
use polysort_shaders::abi;
use polysort_shaders::plan::{Algorithm, Buffer as Role, Facts, Tuned};
use std::sync::Arc;
use wgpu::{AdapterInfo, Backends};

/// Sorts on a GPU.
///
/// The device moves keys of 8 to 128 bits, and payloads of 4, 8, 12 and 16 bytes. For other payloads it computes an
/// argsort, and the host gathers them.
///
/// A call takes any number of keys that the host's memory holds. Above what one sort on the device takes (about 2^30 keys, or a binding of
/// the device), it sorts portions and merges them, and needs memory of the host for a copy of the keys and values. The data make one trip to
/// the device if the keys have 32 bits or more, the device has memory for twice the data (see [`Memory`]), and there are at most 2³² keys;
/// otherwise they make two trips.
///
/// If a long call has written a part of its result and the device fails, the host merges the rest and the call succeeds. If the future of
/// such a call is dropped, the host merges the rest before the drop returns.
///
/// Calls may be made from any number of threads, rayon tasks and async tasks at the same time. Each call takes memory
/// of its own, within the limits of [`Memory`]. No call holds a lock while it waits for the device.
/// [`release`](WgpuBackend::release) gives back the memory that is kept for later calls.
#[derive(Clone)]
pub struct WgpuBackend {
    pub(crate) engine: Arc<Engine>,
    /// How this device was opened, if the caller chose that.
    pub(crate) config: Option<Arc<Config>>,
}

/// How to open a [`WgpuBackend`]. The default opens the best real GPU and uses everything that it can do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// The interfaces to look for adapters in.
    pub backends: Backends,
    /// The adapter to open, of those that the interfaces reach.
    pub adapter: Adapter,
    /// Whether [`Adapter::Best`] may be an adapter that runs on the CPU. The CPU backend is faster than such an adapter.
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
    /// How much memory calls may take, and how much is kept between them.
    pub memory: Memory,
    /// Threads that copy between the host's slices and the device, with the calling thread. `None` means one for each
    /// core, up to 16.
    pub copy_threads: Option<usize>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            backends: BACKENDS,
            adapter: Adapter::Best,
            software: false,
            subgroups: true,
            native: false,
            algorithm: None,
            tuned: Tuned::NONE,
            memory: Memory::default(),
            copy_threads: None,
        }
    }
}

impl Config {
    /// Returns the default, changed by environment variables:
    /// - `POLYSORT_ADAPTER` sets [`adapter`](Config::adapter): an index, or a part of the adapter's name;
    /// - `POLYSORT_SOFTWARE_GPU=1` sets [`software`](Config::software).
    pub fn from_env() -> Self {
        let adapter = std::env::var_os("POLYSORT_ADAPTER").map_or(Adapter::Best, |value| (&*value.to_string_lossy()).into());
        let software = std::env::var_os("POLYSORT_SOFTWARE_GPU").is_some_and(|value| value == "1");
        Self { adapter, software, ..Self::default() }
    }

    /// Returns the adapters of this machine that [`backends`](Config::backends) reaches. The first has [index](Adapter::Index) 0.
    ///
    /// # Errors
    /// [`Error::Unsupported`] in a browser, where no call may wait.
    pub fn adapters(&self) -> Result<Vec<AdapterInfo>, Error> {
        blocking(async { Ok(adapters(self.backends).await.iter().map(wgpu::Adapter::get_info).collect()) })
    }
}

impl WgpuBackend {
    /// Opens a device for this backend alone.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if there is no adapter that `config` allows, or if it does not open. If no adapter fits
    /// [`Config::adapter`], the error lists the adapters.
    pub fn open_with(config: Config) -> Result<Self, Error> {
        blocking(Self::open_async(config))
    }

    /// Async variant of [`open_with`](WgpuBackend::open_with).
    ///
    /// # Errors
    /// The same as those of [`open_with`](WgpuBackend::open_with).
    pub async fn open_async(config: Config) -> Result<Self, Error> {
        let asked = Some(Arc::new(config.clone()));
        Ok(Self { config: asked, ..Self::open_with_knobs(config, Knobs::default()).await? })
    }

    pub(crate) fn open_with_knobs(config: Config, knobs: Knobs) -> BoxFuture<'static, Result<Self, Error>> {
        Box::pin(async move {
            let Config { backends, adapter, software, subgroups, native, .. } = config;
            let (mut gpu, queue) = Gpu::open(Allowed { backends, adapter, software, subgroups, native }).await?;
            gpu.facts.tuned = config.tuned;
            gpu.facts.max_binding = knobs.max_binding.unwrap_or(u64::MAX).min(gpu.facts.max_binding);
            gpu.max_buffer = knobs.max_buffer.unwrap_or(u64::MAX).min(gpu.max_buffer);
            gpu.copiers = Copiers::new(config.copy_threads);
            let gpu = Queued { shared: Arc::new(gpu), queue };
            tracing::info!(device = gpu.name(), "opened");
            let kinds = Arc::new(Kinds::new(Asked { algorithm: config.algorithm, knobs }));
            Ok(Self { engine: Arc::new(Engine::new(gpu, kinds, config.memory)), config: None })
        })
    }

    /// Returns the number of bytes that this backend keeps for later calls: scratch on the device, and staging memory that
    /// host and device share. The memory of calls in flight does not count.
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

    /// Returns a number of the last sort of more than one tile: how often a workgroup counted the keys of a tile itself, because
    /// the workgroup that had taken the tile was not done with it. Waits for the device.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] if the device is lost, or another failure of the device.
    pub fn recounts(&self) -> Result<u32, Error> {
        if let Some(lost) = self.gpu().lost() {
            return Err(lost);
        }
        let find = |workspace: &Workspace| workspace.find(Role::State).cloned();
        let Some(state) = self.engine.pool.find(find) else { return Ok(0) };
        let mut words = [0_u32; abi::STATE_HISTOGRAM as usize];
        let bytes = bytemuck::cast_slice_mut(&mut words);
        blocking(Call::download(&self.engine, Waiting::Here, &state.into(), &[], bytes))?;
        Ok(words[abi::STATE_RECOUNTS as usize])
    }

    /// What wgpu knows of the device.
    pub fn info(&self) -> &AdapterInfo {
        &self.gpu().info
    }

    /// The device that this backend sorts on.
    pub fn device(&self) -> &wgpu::Device {
        &self.gpu().device
    }

    /// The queue of the device.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.gpu().queue
    }

    fn run_elsewhere<'a>(&'a self, operation: AnyOperation<'a>, spec: Spec) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move { with_word!(operation, operation => self.run_on_words(Waiting::Elsewhere, operation, spec).await) })
    }

    pub(crate) fn gpu(&self) -> &Queued {
        self.engine.gpu()
    }

    /// Returns whether both are handles to one device.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.gpu().shared, &other.gpu().shared)
    }

    /// What plans know of the device.
    pub fn facts(&self) -> &Facts {
        &self.gpu().facts
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }
}

impl core::fmt::Debug for WgpuBackend {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("WgpuBackend").field(&self.gpu().name()).finish()
    }
}

impl Backend for WgpuBackend {
    /// Opens the best GPU, or the adapter of the environment variable `POLYSORT_ADAPTER`: see [`Config::from_env`].
    fn open() -> Result<Self, Error> {
        blocking(Self::open_with_knobs(Config::from_env(), Knobs::default()))
    }

    /// Opens a device with the same [`Config`], so on the same adapter, if this one was opened with a `Config`; else returns the shared device.
    fn reopen(&self) -> Result<Self, Error> {
        self.config.as_ref().map_or_else(Self::global, |config| Self::open_with(Config::clone(config)))
    }

    fn name(&self) -> String {
        self.gpu().name()
    }

    /// No limits: inputs that are too long for the device are sorted in portions. As on every backend, an argsort and a selection take at most
    /// 2³² keys.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    fn is_lost(&self) -> bool {
        // A driver reports a lost device only when it is polled.
        let polled = self.gpu().device.poll(wgpu::PollType::Poll);
        polled.is_err() || self.gpu().lost().is_some()
    }

    sorts_by_run!();

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        with_word!(operation, operation => blocking(self.run_on_words(Waiting::Here, operation, spec)))
    }

    async fn run_async(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        self.run_elsewhere(operation, spec).await
    }
}
