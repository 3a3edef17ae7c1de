//! Sorts by the kernels of a plan, run here: another executor of `polysort_shaders::plan`, as `launch.rs` is on wgpu.

use crate::buffer::Buffer;
use crate::error::Error as KernelError;
use crate::kernel::{Kernel, Schedule};
use crate::source::Source;
use core::sync::atomic::{AtomicU64, Ordering};
use polysort_core::{
    AnyOperation, Backend, Error, Limits, Operation, Segments, Spec, Word, first_of_each, pairs_by_argsort, permutation,
    sorts_by_run, with_word,
};
use polysort_shaders::abi;
use polysort_shaders::plan::{
    self, Algorithm, Blocked, Class, Command, Facts, Groups, Length, Payload, Request, Segmented, SortPlan, Top, Variant,
};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// What a GPU of Apple's is to a plan.
pub const FACTS: Facts = Facts { max_binding: 1 << 30, class: Class::Apple, ..Facts::new(Some((32, 32)), 32 << 10, 1024) };

/// How an [`MslBackend`] sorts.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Where kernels come from.
    pub source: Source,
    /// The device that plans are made for.
    pub facts: Facts,
    /// The way to sort, if it is to be this one: what it cannot sort at all is left to the plan.
    pub algorithm: Option<Algorithm>,
    /// Tiles that publish nothing.
    pub blocked: Blocked,
    /// Keys in which the buckets of a batch start, if this is not for plans to choose.
    pub batch: Option<u32>,
    /// Keys of a bucket, at most, that one group sorts, if this is not for plans to choose.
    pub small_bucket: Option<u32>,
    /// So many keys at least sorts are planned for: the shapes of long ones come with fewer keys as well.
    pub planned_for: u64,
    /// What the seeds of all schedules are drawn from. Each launch has one of its own.
    pub seed: u64,
    /// Groups, at most, of kernels that share their work out among as many as there are: segments, and tiles.
    pub most_groups: u32,
    /// Whether threads may race for buffers, as they do for segments that overlap.
    pub races: bool,
    /// Whether groups, and lanes, go in their order, and none is pre-empted: no seed says otherwise.
    pub in_order: bool,
}

impl Config {
    /// With kernels of this source, by the way that plans choose.
    pub fn of(source: Source) -> Self {
        let (batch, small_bucket) = (None, None);
        Self {
            source,
            facts: FACTS,
            algorithm: None,
            blocked: Blocked::NONE,
            batch,
            small_bucket,
            planned_for: 0,
            seed: 1,
            most_groups: u32::MAX,
            races: false,
            in_order: false,
        }
    }
}

/// The buffers of a sort, or of a search, by what they are for.
pub type Memory = BTreeMap<plan::Buffer, Buffer>;

/// Sorts with kernels in Metal's language, on the CPU. A mistake of a kernel is an error of the sort.
#[derive(Clone)]
pub struct MslBackend {
    inner: Arc<Inner>,
}

impl core::fmt::Debug for MslBackend {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("MslBackend").field("source", &self.inner.config.source.name).finish_non_exhaustive()
    }
}

struct Inner {
    config: Config,
    kernels: Mutex<HashMap<Variant, Arc<Compiled>>>,
    launches: AtomicU64,
    traffic: Mutex<Traffic>,
}

/// What sorts did to device memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    /// Launches.
    pub launches: u64,
    /// Bytes read and written by accesses that are not atomic.
    pub bytes: u64,
    /// Atomic operations.
    pub atomics: u64,
    /// Atomic accesses to threadgroup memory.
    pub threadgroup_atomics: u64,
    /// Ballots, sums, shuffles and barriers of simdgroups, of each lane.
    pub simd_operations: u64,
}

struct Compiled {
    kernel: Kernel,
    takes_sizes: bool,
}

impl MslBackend {
    /// Sorts as `config` says.
    ///
    /// # Errors
    /// None so far: kernels are compiled when they are launched.
    pub fn open_with(config: Config) -> Result<Self, Error> {
        Ok(Self {
            inner: Arc::new(Inner { config, kernels: Mutex::default(), launches: AtomicU64::new(0), traffic: Mutex::default() }),
        })
    }

    /// What all sorts so far did.
    pub fn traffic(&self) -> Traffic {
        *self.inner.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kernel of a variant.
    fn kernel(&self, variant: &Variant) -> Result<Arc<Compiled>, Error> {
        let kernels = || self.inner.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(compiled) = kernels().get(variant) {
            return Ok(compiled.clone());
        }
        // Two calls may compile the same kernel: the second finds the library of the first, or makes an equal one.
        let source = &self.inner.config.source;
        let text = (source.text)(variant);
        let kernel = Kernel::compile(&text.text, variant.kernel.name(), source.options)
            .map_err(|error| failed(&error, &format!("{variant:?}")))?;
        let compiled = Arc::new(Compiled { kernel, takes_sizes: text.takes_sizes });
        Ok(kernels().entry(*variant).or_insert(compiled).clone())
    }

    /// What it sorts by.
    pub(crate) fn config(&self) -> &Config {
        &self.inner.config
    }

    /// The positions of the first `k` keys of each segment, or of all keys where none are told, as kernels give them: `k` each, filled up
    /// with [`abi::NOTHING`].
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a `k` of 0, or of more than [`Facts::most_selected`]; what a sort gives.
    pub fn select<W: Word>(&self, keys: &[W], k: u32, segments: Option<&[[u32; 2]]>, spec: Spec) -> Result<Vec<u32>, Error> {
        let max = segments.map_or(keys.len(), <[_]>::len) as u64;
        let top = Top { k, segmented: segments.is_some() };
        // Not what it should be, so that nothing is right by chance.
        let indices = vec![u32::MAX - 1; top.results(max) as usize];
        let request = Request::keys(W::BITS, spec, max).select(top);
        let memory = self.execute(keys, &indices, segments.unwrap_or(&[]), request)?;
        Ok(memory[&plan::Buffer::Values].values())
    }

    /// Does what `request` asks for. Gives the buffers as they are then.
    fn execute<W: Word>(&self, keys: &[W], values: &[u32], bounds: &[[u32; 2]], request: Request) -> Result<Memory, Error> {
        let Config { facts, algorithm, blocked, batch, small_bucket, planned_for, .. } = self.inner.config;
        facts.limits(request.payload.words()).check("the emulated GPU", keys.len(), size_of::<W>().max(4))?;
        let count = request.segments.map_or(request.max, |segments| segments.max.into());
        let max = if request.top.is_none() && request.segments.is_none() { count.max(planned_for) } else { request.max };
        let algorithm = algorithm.filter(|algorithm| algorithm.sorts(&request));
        let plan = SortPlan::new(Request { algorithm, blocked, batch, small_bucket, max, ..request }, &facts)?;
        // Kernels address whole words.
        let mut bytes: Vec<u8> = bytemuck::cast_slice(keys).to_vec();
        bytes.resize(bytes.len().next_multiple_of(4), 0xa5);
        let mut memory = Memory::from([
            (plan::Buffer::Keys, Buffer::of(&bytes)),
            (plan::Buffer::Values, Buffer::of(values)),
            (plan::Buffer::Bounds, Buffer::of(bounds)),
            (plan::Buffer::Begins, Buffer::of(bounds)),
            (plan::Buffer::Ends, Buffer::of(bounds)),
        ]);
        self.launch_plan(&plan, count, &mut memory)?;
        Ok(memory)
    }

    /// Launches a plan for `count` keys, or segments.
    pub(crate) fn launch_plan(&self, plan: &SortPlan, count: u64, memory: &mut Memory) -> Result<(), Error> {
        self.launch_each(plan, count, memory, |_, _| {})
    }

    /// Launches a plan for `count` keys, or segments, on the caller's buffers; for as many as [`plan::Buffer::Count`] says, if that is one of
    /// them. Shows what buffers hold after each command.
    ///
    /// # Errors
    /// A mistake of a kernel, and what the plan cannot do.
    pub fn launch_each(
        &self,
        plan: &SortPlan,
        count: u64,
        memory: &mut Memory,
        mut launched: impl FnMut(&Command, &Memory),
    ) -> Result<(), Error> {
        self.launch_all(plan, count, memory, &mut launched)
    }

    fn launch_all(
        &self,
        plan: &SortPlan,
        count: u64,
        memory: &mut Memory,
        launched: &mut dyn FnMut(&Command, &Memory),
    ) -> Result<(), Error> {
        // Scratch is full of what is left there from before.
        let seed = self.inner.launches.fetch_add(1, Ordering::Relaxed);
        memory.extend(plan.scratch.iter().map(|&(role, bytes)| (role, Buffer::garbage(bytes as usize, seed ^ role as u64))));
        memory.insert(plan::Buffer::Sort, Buffer::of(&[abi::Sort::of(plan)]));
        let commands = match plan.length(Some(count)) {
            Length::Nothing => &[],
            Length::Short => plan.short_commands(),
            Length::Long => plan.long_commands(),
        };
        for command in commands {
            let groups = match command.groups {
                Groups::Fixed(groups) if command.variant.network_keys > 0 => Groups::Fixed(groups.min(self.config().most_groups)),
                Groups::AtMost { most, of, team } => Groups::AtMost { most: most.min(self.config().most_groups), of, team },
                groups => groups,
            };
            let grid = plan.grid(groups, Some(count), self.config().facts.max_groups)?;
            self.launch(command, grid, count as u32, memory)?;
            launched(command, memory);
        }
        let Some(then) = &plan.then else { return Ok(()) };
        // What was picked takes the place of the keys.
        let swap = |memory: &mut Memory| {
            let picked = [plan::Buffer::Keys, plan::Buffer::Picked].map(|role| memory.remove(&role).unwrap_or_default());
            memory.extend([plan::Buffer::Picked, plan::Buffer::Keys].into_iter().zip(picked));
        };
        swap(memory);
        self.launch_all(then, plan.then_count(Some(count)).unwrap_or(count), memory, launched)?;
        swap(memory);
        Ok(())
    }

    /// Launches a command, told that there are `count` keys.
    pub(crate) fn launch(&self, command: &Command, grid: (u32, u32), count: u32, memory: &mut Memory) -> Result<(), Error> {
        let compiled = self.kernel(&command.variant)?;
        let recorded = (!memory.contains_key(&plan::Buffer::Count)).then_some(count);
        let mut numbers = command.numbers.iter().map(|number| Buffer::of(&[abi::value(*number, recorded)]));
        // Each binding's buffer is taken out, and put back after the launch.
        let mut bound: Vec<(plan::Buffer, Buffer)> = vec![];
        for &role in &command.bindings {
            let buffer = match role {
                plan::Buffer::Number => numbers.next().unwrap_or_default(),
                // Without a count on the device: anything that can be read.
                plan::Buffer::Count if recorded.is_some() => Buffer::garbage(16, 0),
                role => memory.remove(&role).unwrap_or_default(),
            };
            bound.push((role, buffer));
        }
        let mut sizes = Buffer::garbage(128, 0);
        let mut buffers: Vec<&mut Buffer> = bound.iter_mut().map(|(_, buffer)| buffer).collect();
        if compiled.takes_sizes {
            buffers.push(&mut sizes);
        }
        let config = &self.inner.config;
        let seed = config.seed.wrapping_mul(0x9e37_79b9).wrapping_add(self.inner.launches.fetch_add(1, Ordering::Relaxed));
        let schedule =
            if config.in_order { Schedule { preempt: u32::MAX, ..Schedule::default() } } else { Schedule::seeded(seed) };
        let schedule = Schedule { races: config.races, memory: config.facts.workgroup_bytes, ..schedule };
        let ran = compiled.kernel.run(&mut buffers, grid, command.variant.group, schedule);
        memory.extend(bound.into_iter().filter(|(role, _)| *role != plan::Buffer::Count || recorded.is_none()));
        let counts = ran.map_err(|error| failed(&error, &format!("{schedule:?}, {:?}", command.variant)))?;
        let mut traffic = self.inner.traffic.lock().unwrap_or_else(PoisonError::into_inner);
        traffic.launches += 1;
        traffic.bytes += counts.device_read + counts.device_written;
        traffic.atomics += counts.device_atomics;
        traffic.threadgroup_atomics += counts.threadgroup_atomics;
        traffic.simd_operations += counts.simd_operations;
        Ok(())
    }

    /// Runs an operation.
    fn run_on_words<W: Word>(&self, operation: Operation<'_, W>, spec: Spec) -> Result<(), Error> {
        operation.check(spec)?;
        match operation {
            Operation::Sort { keys, segments } => self.sort_words(keys, &mut [], Payload::None, segments, spec),
            Operation::SortPairs { keys, mut values, segments } => match values.size() {
                0 => self.sort_words(keys, &mut [], Payload::None, segments, spec),
                size @ (4 | 8 | 12 | 16) => {
                    let mut words: Vec<u32> = bytemuck::pod_collect_to_vec(values.bytes_mut());
                    self.sort_words(keys, &mut words, Payload::Words(size as u32 / 4), segments, spec)?;
                    values.bytes_mut().copy_from_slice(bytemuck::cast_slice(&words));
                    Ok(())
                }
                _ => pairs_by_argsort(self, keys, values, segments, spec),
            },
            Operation::Argsort { keys, segments, indices } => {
                // Not what they should be, so that nothing is right by chance: but outside of segments.
                match segments {
                    None if keys.len() > 1 && spec.width() > 0 => indices.fill(u32::MAX),
                    _ => indices.copy_from_slice(&permutation::identity(keys.len())?),
                }
                self.sort_words(&mut keys.to_vec(), indices, Payload::Indices, segments, spec)
            }
            Operation::TopK { keys, k, segments, indices } => {
                let bounds: Option<Vec<[u32; 2]>> =
                    segments.map(|segments| segments.ranges().map(|range| [range.start as u32, range.end as u32]).collect());
                let longest = match &bounds {
                    None => keys.len(),
                    Some(bounds) => bounds.iter().map(|[begin, end]| end - begin).max().unwrap_or(0) as usize,
                };
                let k = k.min(longest);
                let is_whole = segments.is_none() && keys.len() < 2;
                if is_whole || spec.width() == 0 || k > self.inner.config.facts.most_selected() as usize || k == 0 {
                    let mut order = vec![0; keys.len()];
                    self.run_on_words(Operation::Argsort { keys, segments, indices: &mut order }, spec)?;
                    first_of_each(&order, k, segments, indices);
                    return Ok(());
                }
                let selected = self.select(keys, k as u32, bounds.as_deref(), spec)?;
                let bounds = bounds.unwrap_or_else(|| vec![[0, keys.len() as u32]]);
                let each = bounds.iter().zip(selected.chunks_exact(k));
                let there = each.flat_map(|([begin, end], selected)| &selected[..k.min((end - begin) as usize)]);
                indices.copy_from_slice(&there.copied().collect::<Vec<_>>());
                Ok(())
            }
            operation @ (Operation::SortInto { .. } | Operation::SortPairsInto { .. }) => operation.by_two_sorts(self, spec),
        }
    }

    /// Sorts the keys, all of them or each segment by itself, and moves or makes the values.
    fn sort_words<W: Word>(
        &self,
        keys: &mut [W],
        values: &mut [u32],
        payload: Payload,
        segments: Option<Segments<'_>>,
        spec: Spec,
    ) -> Result<(), Error> {
        let longest = segments.map_or(Some(keys.len()), |segments| segments.ranges().map(|range| range.len()).max());
        if longest.is_none_or(|longest| longest < 2) || spec.width() == 0 {
            return Ok(());
        }
        let all = Request { payload, ..Request::keys(W::BITS, spec, keys.len() as u64) };
        let memory = match segments {
            None => self.execute(keys, values, &[], all)?,
            Some(segments) => {
                // Ends behind begins, as with offsets.
                let begins = segments.ranges().map(|range| range.start as u32);
                let bounds: Vec<u32> = begins.chain(segments.ranges().map(|range| range.end as u32)).collect();
                let place = |first: usize| plan::Place { first: first as u32 };
                let of = Segmented { max: segments.len() as u32, begins: place(0), ends: place(segments.len()) };
                self.execute(keys, values, bytemuck::cast_slice(&bounds), all.in_segments(of))?
            }
        };
        if payload != Payload::Indices {
            let keys: &mut [u8] = bytemuck::cast_slice_mut(keys);
            let length = keys.len();
            keys.copy_from_slice(&memory[&plan::Buffer::Keys].bytes()[..length]);
        }
        bytemuck::cast_slice_mut(values).copy_from_slice(memory[&plan::Buffer::Values].bytes());
        Ok(())
    }
}

fn failed(error: &KernelError, context: &str) -> Error {
    Error::Backend { backend: "msl".into(), why: format!("{error}\n    in {context}"), source: Some(Arc::new(error.clone())) }
}

impl Backend for MslBackend {
    /// With naga's kernels.
    fn open() -> Result<Self, Error> {
        Self::open_with(Config::of(Source::NAGA))
    }

    fn name(&self) -> String {
        format!("Metal's language on the CPU, {} kernels", self.inner.config.source.name)
    }

    fn limits(&self) -> Limits {
        self.inner.config.facts.limits(0)
    }

    sorts_by_run!();

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        with_word!(operation, operation => self.run_on_words(operation, spec))
    }
}
