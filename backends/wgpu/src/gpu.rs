//! `Gpu`: an open device, its error handling, and the allocation of its memory.

use crate::adapters::{Allowed, adapters, facts, shares_memory, wanted};
use crate::compile::{Pipeline, Pipelines, compile};
use crate::copy::Copiers;
use crate::faults::Faults;
use crate::host_memory;
use crate::turns::Turns;
use crate::way::takes_native;
use polysort_core::{Cause, Error};
use polysort_shaders::abi;
use polysort_shaders::plan::{Facts, Variant};
use std::sync::{Arc, Mutex, PoisonError};
use wgpu::{
    AdapterInfo, Buffer, BufferDescriptor, BufferUsages, CommandEncoder, CommandEncoderDescriptor, Device, DeviceDescriptor,
    ErrorFilter, ErrorScopeGuard, Features, MapMode, MemoryHints, PipelineCache, PollType, Queue,
};

/// The name of this backend in errors.
pub(crate) const NAME: &str = "wgpu";

/// The usages of the backend's own storage buffers.
pub(crate) const STORAGE: BufferUsages = BufferUsages::STORAGE.union(BufferUsages::COPY_SRC).union(BufferUsages::COPY_DST);

/// An open device, and the objects that all calls on it share.
pub(crate) struct Gpu {
    pub(crate) device: Device,
    pub(crate) info: AdapterInfo,
    pub(crate) facts: Facts,
    /// The most bytes of an array that lies in one buffer. A longer one has pages.
    pub(crate) max_buffer: u64,
    /// Whether kernels in the device's own language may be used.
    pub(crate) is_native: bool,
    /// Whether the device works in the memory of the host, and can map buffers that it sorts.
    pub(crate) is_shared: bool,
    /// The table of numbers. A launch gets a number by binding an entry of the table.
    pub(crate) numbers: Buffer,
    pub(crate) pipelines: Pipelines,
    /// The caller's cache of compiled kernels.
    pub(crate) cache: Option<PipelineCache>,
    lost: Lost,
    /// The threads that copy between the host's slices and memory that the device sees.
    pub(crate) copiers: Copiers,
    /// The threads that wait for the device.
    pub(crate) turns: Arc<Turns>,
    /// The failures that a test causes.
    pub(crate) faults: Faults,
}

impl Gpu {
    /// Opens the adapter that is allowed. Returns the device and its queue.
    pub(crate) async fn open(allowed: Allowed) -> Result<(Self, Queue), Error> {
        let unavailable = |why: String, source| Error::Unavailable { backend: NAME.into(), why, source };
        let adapters = adapters(allowed.backends).await;
        let infos: Vec<AdapterInfo> = adapters.iter().map(wgpu::Adapter::get_info).collect();
        let chosen = allowed.adapter.choose(&infos, allowed.software).map_err(|why| unavailable(why, None))?;
        let adapter = &adapters[chosen];
        let mut wanted = wanted(&adapter.get_info(), adapter.features());
        if !allowed.native {
            wanted.remove(Features::PASSTHROUGH_SHADERS);
        }
        if !allowed.subgroups {
            wanted.remove(Features::SUBGROUP | Features::SUBGROUP_BARRIER);
        }
        let descriptor = DeviceDescriptor {
            label: Some("polysort"),
            required_features: wanted,
            required_limits: adapter.limits(),
            memory_hints: MemoryHints::Performance,
            ..Default::default()
        };
        let opened = adapter.request_device(&descriptor).await;
        let (device, queue) = opened.map_err(|error| unavailable(error.to_string(), Some(Arc::new(error) as Cause)))?;
        let lost = Lost::default();
        let noted = lost.clone();
        device.set_device_lost_callback(move |reason, message| drop(noted.note(&format!("{reason:?}: {message}"))));
        // No error scope catches some errors, such as that of unmapping a buffer of a lost device. wgpu would panic; this
        // logs them.
        device.on_uncaptured_error(Arc::new(|error| tracing::error!(%error, "outside every scope")));
        Ok((Self::on(device, lost)?, queue))
    }

    /// Wraps a device that is already open.
    pub(crate) fn on(device: Device, lost: Lost) -> Result<Self, Error> {
        let info = device.adapter_info();
        let facts = facts(&device, &info);
        let mut words = vec![0_u32; (abi::NUMBERS * abi::NUMBER_STRIDE / 4) as usize];
        for (number, entry) in (0..).zip(words.chunks_exact_mut(abi::NUMBER_STRIDE as usize / 4)) {
            entry[0] = number;
        }
        let size = size_of_val(&*words) as u64;
        let usage = BufferUsages::UNIFORM | BufferUsages::STORAGE;
        let numbers = guarded(&device, &lost, || unfilled(&device, "polysort numbers", size, usage))?;
        fill(&numbers, bytemuck::cast_slice(&words)).map_err(|why| lost.note(&why))?;
        let is_shared = device.features().contains(Features::MAPPABLE_PRIMARY_BUFFERS) && shares_memory(info.device_type);
        let is_native = takes_native(&info, device.features());
        Ok(Self {
            max_buffer: device.limits().max_buffer_size,
            device,
            info,
            facts,
            is_native,
            is_shared,
            numbers,
            pipelines: Pipelines::default(),
            cache: None,
            lost,
            copiers: Copiers::new(None),
            turns: Arc::new(Turns::new()),
            faults: Faults::default(),
        })
    }

    /// Returns a description of the device for people.
    pub(crate) fn name(&self) -> String {
        let lanes = match self.facts.subgroups {
            None => "no subgroups".into(),
            Some((least, most)) if least == most => format!("{least} lanes"),
            Some((least, most)) => format!("{least} to {most} lanes"),
        };
        format!("{} ({:?}, {lanes})", self.info.name, self.info.backend)
    }

    /// The error of a lost device; `None` if the device is not lost.
    pub(crate) fn lost(&self) -> Option<Error> {
        self.lost.error()
    }

    /// Records that the device is lost, and returns the error.
    pub(crate) fn give_up(&self, why: &str) -> Error {
        self.lost.note(why)
    }

    /// Returns the error of a lost device if the device is lost, else `error`.
    pub(crate) fn lost_or(&self, error: Error) -> Error {
        probe(&self.device, &self.lost);
        self.lost().unwrap_or(error)
    }

    /// Runs `work`, and returns the errors that the device reports for it. None of them reaches the device's own error
    /// handler. A browser reports errors later: there, [`watched`](Gpu::watched) returns them.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] if the device is lost, instead of other errors.
    pub(crate) fn guarded<T>(&self, work: impl FnOnce() -> T) -> Result<T, Error> {
        guarded(&self.device, &self.lost, work)
    }

    /// Runs `work`, and returns its error or the device's. A browser reports errors of the device asynchronously: there,
    /// this waits for them.
    pub(crate) async fn watched<T>(&self, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        #[cfg(target_arch = "wasm32")]
        {
            let scopes = Scopes::begin(&self.device);
            let result = work();
            scopes.end().await?;
            result
        }
        #[cfg(not(target_arch = "wasm32"))]
        work()
    }

    /// Returns the kernel of a variant, as [`compile`] makes it. The first call compiles it.
    pub(crate) fn pipeline(&self, variant: &Variant, native: bool) -> Result<Arc<Pipeline>, Error> {
        let compile = || compile(&self.device, self.cache.as_ref(), &self.faults, variant, native);
        self.pipelines.get(variant, native, || self.guarded(compile))
    }

    /// Returns a new encoder.
    pub(crate) fn encoder(&self) -> CommandEncoder {
        self.device.create_command_encoder(&CommandEncoderDescriptor { label: Some("polysort") })
    }

    /// Returns a new buffer of `bytes` bytes, rounded up to a multiple of 16, and at least 16.
    pub(crate) fn buffer(&self, label: &str, bytes: u64, usage: BufferUsages) -> Result<Buffer, Error> {
        let size = allocated_bytes(bytes);
        self.allocated(size, || {
            self.device.create_buffer(&BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false })
        })
    }

    /// Returns a new buffer for uploads of `bytes` bytes, a multiple of 4, that the host has mapped. The host need not wait
    /// for it. With `of_host`, it lies in the memory of the host, where the API allows that.
    pub(crate) fn upload_buffer(&self, label: &str, bytes: u64, of_host: bool) -> Result<Buffer, Error> {
        self.allocated(bytes, || {
            let of_host = of_host.then(|| host_memory::mapped(&self.device, label, bytes)).flatten();
            of_host.unwrap_or_else(|| unfilled(&self.device, label, bytes, BufferUsages::MAP_WRITE | BufferUsages::COPY_SRC))
        })
    }

    /// Returns a new buffer with these bytes, rounded up to whole words.
    pub(crate) fn buffer_of(&self, label: &str, contents: &[u8], usage: BufferUsages) -> Result<Buffer, Error> {
        let size = (contents.len() as u64).next_multiple_of(4).max(4);
        let buffer = self.allocated(size, || unfilled(&self.device, label, size, usage))?;
        fill(&buffer, contents).map_err(|why| self.give_up(&why))?;
        Ok(buffer)
    }

    /// Returns the buffer of `size` bytes that `create` makes.
    fn allocated(&self, size: u64, create: impl FnOnce() -> Buffer) -> Result<Buffer, Error> {
        let limit = self.device.limits().max_buffer_size;
        if size > limit {
            return Err(Error::OutOfMemory { asked: size, limit: Some(limit) });
        }
        self.faults.at_allocation(size)?;
        let _span = tracing::trace_span!("allocate").entered();
        self.guarded(create).map_err(|error| match error {
            Error::OutOfMemory { limit, .. } => Error::OutOfMemory { asked: size, limit },
            other => other,
        })
    }
}

/// Returns a new buffer that is mapped, for [`fill`].
fn unfilled(device: &Device, label: &str, size: u64, usage: BufferUsages) -> Buffer {
    device.create_buffer(&BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: true })
}

/// Writes the first bytes of a new buffer, and unmaps it. wgpu's own function for this panics if the device is lost.
fn fill(buffer: &Buffer, contents: &[u8]) -> Result<(), String> {
    let mut view = buffer.get_mapped_range_mut(..).map_err(|error| error.to_string())?;
    view.slice(..contents.len()).copy_from_slice(contents);
    drop(view);
    buffer.unmap();
    Ok(())
}

/// Returns the size of a new buffer for `bytes` bytes.
pub(crate) fn allocated_bytes(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(16).unwrap_or(u64::MAX).max(16)
}

/// The reason for the loss of a device; `None` if it is not lost.
#[derive(Clone, Default)]
pub(crate) struct Lost(Arc<Mutex<Option<String>>>);

impl Lost {
    fn note(&self, why: &str) -> Error {
        let why = self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| why.into()).clone();
        Error::DeviceLost { backend: NAME.into(), why, source: None }
    }

    fn error(&self) -> Option<Error> {
        let why = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        why.map(|why| self.note(&why))
    }
}

fn guarded<T>(device: &Device, lost: &Lost, work: impl FnOnce() -> T) -> Result<T, Error> {
    let result = caught(device, work);
    if result.is_err() {
        probe(device, lost);
    }
    lost.error().map_or(result, Err)
}

/// Maps a small buffer, and records that the device is lost if that fails. A lost device reports invalid buffers instead
/// of its loss.
fn probe(device: &Device, lost: &Lost) {
    let mapped = Arc::new(Mutex::new(None));
    let noted = mapped.clone();
    let probed = caught(device, || {
        let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
        let buffer =
            device.create_buffer(&BufferDescriptor { label: Some("polysort probe"), size: 16, usage, mapped_at_creation: false });
        buffer.map_async(MapMode::Read, .., move |result| {
            *noted.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        });
        device.poll(PollType::Poll).is_ok()
    });
    let mapped = mapped.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (probed, mapped) {
        // Out of memory is no loss. Without a result, the device is still busy.
        (Err(Error::OutOfMemory { .. }), _) | (Ok(true), Some(Ok(())) | None) => {}
        (Err(error), _) => drop(lost.note(&error.to_string())),
        (Ok(_), _) => drop(lost.note("it cannot map memory any more")),
    }
}

/// Runs `work`, and returns the errors of the device. In a browser it returns none, as they are not known yet.
fn caught<T>(device: &Device, work: impl FnOnce() -> T) -> Result<T, Error> {
    #[cfg(target_arch = "wasm32")]
    {
        let _ = device;
        Ok(work())
    }
    #[cfg(not(target_arch = "wasm32"))]
    {
        let scopes = Scopes::begin(device);
        let value = work();
        pollster::block_on(scopes.end())?;
        Ok(value)
    }
}

/// Error scopes that catch every error of a device between `begin` and `end`.
struct Scopes {
    memory: ErrorScopeGuard,
    internal: ErrorScopeGuard,
    validation: ErrorScopeGuard,
}

impl Scopes {
    fn begin(device: &Device) -> Self {
        let memory = device.push_error_scope(ErrorFilter::OutOfMemory);
        let internal = device.push_error_scope(ErrorFilter::Internal);
        let validation = device.push_error_scope(ErrorFilter::Validation);
        Self { memory, internal, validation }
    }

    /// Closes the scopes at once. The future returns the errors that they have caught, once these are known.
    fn end(self) -> impl Future<Output = Result<(), Error>> {
        let (validation, internal, memory) = (self.validation.pop(), self.internal.pop(), self.memory.pop());
        async {
            match validation.await.or(internal.await).or(memory.await) {
                None => Ok(()),
                Some(wgpu::Error::OutOfMemory { .. }) => Err(Error::OutOfMemory { asked: 0, limit: None }),
                Some(error) => {
                    Err(Error::Backend { backend: NAME.into(), why: error.to_string(), source: Some(Arc::new(error)) })
                }
            }
        }
    }
}
