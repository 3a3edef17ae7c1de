//! A device: what it can do, how its errors are reported, and how memory is allocated on it.

use crate::adapters::{Allowed, BACKENDS, adapters, facts, shares_memory, wanted};
use crate::compile::Pipelines;
use crate::copy::Copiers;
use crate::turns::Turns;
use crate::way::takes_native;
use polysort_core::{Cause, Error};
use polysort_shaders::abi;
use polysort_shaders::plan::Facts;
use std::sync::{Arc, Mutex, PoisonError};
use wgpu::util::{BufferInitDescriptor, DeviceExt};
use wgpu::{
    AdapterInfo, Buffer, BufferDescriptor, BufferUsages, CommandEncoder, CommandEncoderDescriptor, Device, DeviceDescriptor,
    DeviceType, ErrorFilter, ErrorScopeGuard, Features, MapMode, MemoryHints, PollType, Queue,
};

/// The name by which errors call the backend.
pub(crate) const NAME: &str = "wgpu";

/// What storage of ours is for.
pub(crate) const STORAGE: BufferUsages = BufferUsages::STORAGE.union(BufferUsages::COPY_SRC).union(BufferUsages::COPY_DST);

/// A device and what was made on it.
pub(crate) struct Gpu {
    pub(crate) device: Device,
    pub(crate) queue: Queue,
    pub(crate) info: AdapterInfo,
    pub(crate) facts: Facts,
    /// Whether kernels in its own language may be used.
    pub(crate) is_native: bool,
    /// Whether the device works in the memory of the host, and lets it map what it sorts.
    pub(crate) is_shared: bool,
    /// The table that numbers are bound from.
    pub(crate) numbers: Buffer,
    pub(crate) pipelines: Pipelines,
    lost: Lost,
    /// What copies between the host's slices and memory that the device sees.
    pub(crate) copiers: Copiers,
    /// The threads that wait for the device.
    pub(crate) turns: Arc<Turns>,
}

impl Gpu {
    /// Opens the best adapter that is allowed.
    pub(crate) async fn open(allowed: Allowed) -> Result<Self, Error> {
        let unavailable = |why: String, source| Error::Unavailable { backend: NAME.into(), why, source };
        let adapters = adapters(allowed.backends & BACKENDS).await;
        let found = adapters.iter().map(|adapter| adapter.get_info().name).collect::<Vec<_>>().join(", ");
        let Some(adapter) = adapters.iter().find(|a| allowed.software || a.get_info().device_type != DeviceType::Cpu) else {
            let why = match adapters.len() {
                0 => "no adapter was found; is a driver for Vulkan, Metal or DX12 installed?".into(),
                _ => format!("there are only adapters that run on the CPU ({found}), which the CPU backend outruns"),
            };
            return Err(unavailable(why, None));
        };
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
        // What no scope catches, such as the unmapping of a buffer whose device is gone, is no reason to panic.
        device.on_uncaptured_error(Arc::new(|error| tracing::error!(%error, "outside every scope")));
        Self::on(device, queue, lost)
    }

    /// Wraps a device that is open.
    pub(crate) fn on(device: Device, queue: Queue, lost: Lost) -> Result<Self, Error> {
        let info = device.adapter_info();
        let facts = facts(&device, &info);
        let numbers = guarded(&device, &lost, || {
            let table = device.create_buffer(&BufferDescriptor {
                label: Some("polysort numbers"),
                size: u64::from(abi::NUMBERS * abi::NUMBER_STRIDE),
                usage: BufferUsages::UNIFORM | BufferUsages::STORAGE | BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            let mut words = vec![0_u32; (abi::NUMBERS * abi::NUMBER_STRIDE / 4) as usize];
            for (number, entry) in (0..).zip(words.chunks_exact_mut(abi::NUMBER_STRIDE as usize / 4)) {
                entry[0] = number;
            }
            queue.write_buffer(&table, 0, bytemuck::cast_slice(&words));
            table
        })?;
        let is_shared = device.features().contains(Features::MAPPABLE_PRIMARY_BUFFERS) && shares_memory(info.device_type);
        let is_native = takes_native(&info, device.features());
        Ok(Self {
            device,
            queue,
            info,
            facts,
            is_native,
            is_shared,
            numbers,
            pipelines: Pipelines::default(),
            lost,
            copiers: Copiers::new(None),
            turns: Arc::new(Turns::new()),
        })
    }

    /// What the device is called, for people.
    pub(crate) fn name(&self) -> String {
        let lanes = match self.facts.subgroups {
            None => "no subgroups".into(),
            Some((least, most)) if least == most => format!("{least} lanes"),
            Some((least, most)) => format!("{least} to {most} lanes"),
        };
        format!("{} ({:?}, {lanes})", self.info.name, self.info.backend)
    }

    /// The error of a device that is gone, if it is.
    pub(crate) fn lost(&self) -> Option<Error> {
        self.lost.error()
    }

    /// Notes that the device does not answer any more.
    pub(crate) fn give_up(&self, why: &str) -> Error {
        self.lost.note(why)
    }

    /// Runs `work` on the device and returns its errors, none of which reaches the device's own handler. In a browser errors are known later
    /// only: there [`watched`](Gpu::watched) returns them.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] if the device is gone, whatever it said of the work.
    pub(crate) fn guarded<T>(&self, work: impl FnOnce() -> T) -> Result<T, Error> {
        guarded(&self.device, &self.lost, work)
    }

    /// Runs `work` and tells its own errors and those of the device, for which a browser has to be waited.
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

    /// An encoder of ours.
    pub(crate) fn encoder(&self) -> CommandEncoder {
        self.device.create_command_encoder(&CommandEncoderDescriptor { label: Some("polysort") })
    }

    /// A buffer of `bytes` bytes, rounded up to whole words.
    pub(crate) fn buffer(&self, label: &str, bytes: u64, usage: BufferUsages) -> Result<Buffer, Error> {
        let size = bytes.checked_next_multiple_of(16).unwrap_or(u64::MAX).max(16);
        self.allocated(size, || {
            self.device.create_buffer(&BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false })
        })
    }

    /// A buffer that holds these bytes.
    pub(crate) fn buffer_of(&self, label: &str, contents: &[u8], usage: BufferUsages) -> Result<Buffer, Error> {
        let descriptor = BufferInitDescriptor { label: Some(label), contents, usage };
        self.allocated(contents.len() as u64, || self.device.create_buffer_init(&descriptor))
    }

    /// The buffer of `size` bytes that `create` makes.
    fn allocated(&self, size: u64, create: impl FnOnce() -> Buffer) -> Result<Buffer, Error> {
        let limit = self.device.limits().max_buffer_size;
        if size > limit {
            return Err(Error::OutOfMemory { asked: size, limit: Some(limit) });
        }
        self.guarded(create).map_err(|error| match error {
            Error::OutOfMemory { limit, .. } => Error::OutOfMemory { asked: size, limit },
            other => other,
        })
    }
}

/// Why a device is gone, if it is.
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

/// Notes that the device is gone if it cannot map a few bytes: a device that is gone calls its buffers invalid, and does not say why.
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
        // There is no memory for the probe, or the device has not come to it.
        (Err(Error::OutOfMemory { .. }), _) | (Ok(true), Some(Ok(())) | None) => {}
        (Err(error), _) => drop(lost.note(&error.to_string())),
        (Ok(_), _) => drop(lost.note("it cannot map memory any more")),
    }
}

/// Runs `work` and returns the errors of the device. In a browser they are not known yet.
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

/// What catches every error of a device between its beginning and its end.
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

    /// Ends at once; tells what was caught when it is known.
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
