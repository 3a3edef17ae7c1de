//! Sorts of host slices: buffers and launches that are kept from call to call.

use crate::gpu::Gpu;
use crate::launch::{Bound, Count, Launches};
use crate::self_test;
use crate::staging::{Down, Up, encoder};
use polysort_core::Error;
use polysort_core::plan::{self, Algorithm, Payload, Request, SortPlan};
use polysort_shaders::abi;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use wgpu::{Buffer, BufferUsages, ComputePassDescriptor};

/// Sorts that are kept bound for the next call of the same kind.
const KEPT: usize = 32;

const PASS: ComputePassDescriptor<'_> = ComputePassDescriptor { label: Some("polysort"), timestamp_writes: None };

/// What a host wants sorted, as bytes.
pub(crate) enum Data<'a> {
    /// Keys, in place.
    Keys(&'a mut [u8]),
    /// Keys and values, in place.
    Pairs(&'a mut [u8], &'a mut [u8]),
    /// Keys that stay, and where their indices go.
    Indices(&'a [u8], &'a mut [u8]),
}

/// The memory of one device, and what is bound in it.
pub(crate) struct Engine {
    gpu: Arc<Gpu>,
    buffers: BTreeMap<plan::Buffer, Buffer>,
    launches: Vec<(Request, Arc<Launches>)>,
    /// The way to sort keys and payloads of a kind that passed its test.
    tested: HashMap<(u32, Payload), Option<Algorithm>>,
    up: Up,
    down: Down,
    /// What every sort is asked to do besides.
    pub(crate) algorithm: Option<Algorithm>,
    pub(crate) blocked: plan::Blocked,
}

impl Engine {
    pub(crate) fn new(gpu: Arc<Gpu>) -> Self {
        Self {
            gpu,
            buffers: BTreeMap::new(),
            launches: vec![],
            tested: HashMap::new(),
            up: Up::default(),
            down: Down::default(),
            algorithm: None,
            blocked: plan::Blocked::NONE,
        }
    }

    /// Sorts the host's data by a way that has passed its test. The request's maximum is the number of keys.
    pub(crate) fn sort(&mut self, request: Request, data: Data<'_>) -> Result<(), Error> {
        if let Some(lost) = self.gpu.lost() {
            return Err(lost);
        }
        let request = Request { algorithm: self.algorithm, blocked: self.blocked, ..request };
        let request = self.tested(request)?;
        self.sort_untested(request, data)
    }

    /// Sorts the host's data.
    pub(crate) fn sort_untested(&mut self, request: Request, data: Data<'_>) -> Result<(), Error> {
        let count = request.max;
        // Lengths that are much the same share buffers and launches.
        let step = (count / 8).next_power_of_two();
        let most = self.gpu.facts.limits(request.payload.words()).longest(4 * request.key_words() as usize);
        let request = Request { max: count.next_multiple_of(step).min(most).max(count), ..request };
        let launches = self.launches(request)?;
        let gpu = self.gpu.clone();
        let buffer = |role| &self.buffers[&role];
        match &data {
            Data::Keys(keys) => self.up.copy(&gpu, keys, buffer(plan::Buffer::Keys))?,
            Data::Indices(keys, _) => self.up.copy(&gpu, keys, buffer(plan::Buffer::Keys))?,
            Data::Pairs(keys, values) => {
                self.up.copy(&gpu, keys, buffer(plan::Buffer::Keys))?;
                self.up.copy(&gpu, values, buffer(plan::Buffer::Values))?;
            }
        }
        let encoder = gpu.guarded(|| -> Result<_, Error> {
            let mut encoder = encoder(&gpu);
            launches.record(&mut encoder.begin_compute_pass(&PASS), Count::Fixed(count as u32))?;
            Ok(encoder)
        })??;
        let (keys_from, values_from) = (plan::Buffer::Keys, plan::Buffer::Values);
        match data {
            Data::Keys(keys) => self.down.copy(&gpu, encoder, &[buffer(keys_from)], &mut [keys]),
            Data::Indices(_, indices) => self.down.copy(&gpu, encoder, &[buffer(values_from)], &mut [indices]),
            Data::Pairs(keys, values) => {
                self.down.copy(&gpu, encoder, &[buffer(keys_from), buffer(values_from)], &mut [keys, values])
            }
        }
    }

    /// Sorts what is on the device. The request's maximum is the number of keys.
    pub(crate) fn sort_resident(&mut self, request: Request, keys: &Buffer, values: Option<&Buffer>) -> Result<(), Error> {
        if let Some(lost) = self.gpu.lost() {
            return Err(lost);
        }
        let count = request.max;
        let request = Request { algorithm: self.algorithm, blocked: self.blocked, ..request };
        let request = self.tested(request)?;
        let launches = self.bind(request, |role| match role {
            plan::Buffer::Keys => Some(keys),
            plan::Buffer::Values => values,
            _ => None,
        })?;
        let gpu = self.gpu.clone();
        gpu.guarded(|| {
            let mut encoder = encoder(&gpu);
            let recorded = launches.record(&mut encoder.begin_compute_pass(&PASS), Count::Fixed(count as u32));
            gpu.queue.submit([encoder.finish()]);
            recorded
        })?
    }

    /// Copies `bytes` to the start of a buffer.
    pub(crate) fn upload(&mut self, bytes: &[u8], buffer: &Buffer) -> Result<(), Error> {
        self.up.copy(&self.gpu, bytes, buffer)
    }

    /// Copies the start of a buffer to `bytes`.
    pub(crate) fn download(&mut self, buffer: &Buffer, bytes: &mut [u8]) -> Result<(), Error> {
        self.down.copy(&self.gpu, encoder(&self.gpu), &[buffer], &mut [bytes])
    }

    /// The request by a way that has passed its test on this device.
    pub(crate) fn tested(&mut self, request: Request) -> Result<Request, Error> {
        let kind = (request.key_bits, request.payload);
        if request.algorithm.is_none() {
            if let Some(&algorithm) = self.tested.get(&kind) {
                return Ok(Request { algorithm, ..request });
            }
            let algorithm = self_test::choose(self, request)?;
            self.tested.insert(kind, algorithm);
            return Ok(Request { algorithm, ..request });
        }
        Ok(request)
    }

    /// The launches of a request, bound in buffers that are large enough.
    fn launches(&mut self, request: Request) -> Result<Arc<Launches>, Error> {
        if let Some(at) = self.launches.iter().position(|(kept, _)| *kept == request) {
            let found = self.launches.remove(at);
            self.launches.push(found.clone());
            return Ok(found.1);
        }
        let keys = (request.max * u64::from(request.key_bits)).div_ceil(8);
        self.grow(plan::Buffer::Keys, keys)?;
        self.grow(plan::Buffer::Values, 4 * u64::from(request.payload.words()) * request.max)?;
        let launches = Arc::new(self.bind(request, |_| None)?);
        if self.launches.len() == KEPT {
            self.launches.remove(0);
        }
        self.launches.push((request, launches.clone()));
        Ok(launches)
    }

    /// Binds a request: to the buffers that `given` gives, else to our own.
    fn bind<'a>(&mut self, request: Request, given: impl Fn(plan::Buffer) -> Option<&'a Buffer>) -> Result<Launches, Error> {
        let plan = SortPlan::new(request, &self.gpu.facts)?;
        for &(role, bytes) in &plan.scratch {
            self.grow(role, bytes)?;
        }
        let gpu = self.gpu.clone();
        let uniform =
            gpu.buffer("polysort sort", size_of::<abi::Sort>() as u64, BufferUsages::UNIFORM | BufferUsages::COPY_DST)?;
        gpu.guarded(|| gpu.queue.write_buffer(&uniform, 0, bytemuck::bytes_of(&abi::Sort::of(&plan))))?;
        Launches::new(&gpu, plan, |role| match role {
            plan::Buffer::Sort => Bound { buffer: uniform.clone(), offset: 0, size: size_of::<abi::Sort>() as u64 },
            // There is no count on the device: anything that can be read.
            plan::Buffer::Count => Bound { buffer: gpu.numbers.clone(), offset: 0, size: 16 },
            role => Bound::whole(given(role).unwrap_or_else(|| &self.buffers[&role])).at_most(gpu.facts.max_binding),
        })
    }

    /// Makes sure that a buffer has `bytes` bytes. What is bound to one that had not is forgotten.
    fn grow(&mut self, role: plan::Buffer, bytes: u64) -> Result<(), Error> {
        if self.buffers.get(&role).is_some_and(|buffer| buffer.size() >= bytes) {
            return Ok(());
        }
        // The old one is given back first: both may not fit.
        self.buffers.remove(&role);
        self.launches.clear();
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
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

    /// How many tiles the last sort counted on behalf of others.
    pub(crate) fn recounts(&mut self) -> Result<u32, Error> {
        let gpu = self.gpu.clone();
        let Some(state) = self.buffers.get(&plan::Buffer::State) else { return Ok(0) };
        let mut words = [0_u32; abi::STATE_HISTOGRAM as usize];
        self.down.copy(&gpu, encoder(&gpu), &[state], &mut [bytemuck::cast_slice_mut(&mut words)])?;
        Ok(words[abi::STATE_RECOUNTS as usize])
    }

    pub(crate) fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }
}
