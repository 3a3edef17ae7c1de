//! `MslBackend`: an executor of `polysort_shaders::plan` that runs the kernels on the CPU, as `launch.rs` runs them with wgpu.

use crate::buffer::Buffer;
use crate::error::Error as KernelError;
use crate::kernel::Kernel;
use crate::schedule::{FACTS, Schedule};
use crate::source::Source;
use core::sync::atomic::{AtomicU64, Ordering};
use polysort_core::{
    AnyOperation, Backend, Error, Limits, Operation, Segments, Spec, Word, first_of_each, pairs_by_argsort, permutation,
    sorts_by_run, with_word,
};
use polysort_shaders::abi;
use polysort_shaders::plan::{
    self, Algorithm, Blocked, Command, Facts, Groups, Length, Payload, Request, Segmented, SortPlan, Top, Variant,
};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// The configuration of an [`MslBackend`].
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The source of the kernels.
    pub source: Source,
    /// The facts of the emulated device.
    pub facts: Facts,
    /// The forced algorithm. If it does not support a request, the planner chooses one that does.
    pub algorithm: Option<Algorithm>,
    /// The blocked tiles, which publish no counts.
    pub blocked: Blocked,
    /// The keys of a batch; `None` means the planner's choice.
    pub batch: Option<u32>,
    /// The most keys of a bucket that one threadgroup sorts; `None` means the planner's choice.
    pub small_bucket: Option<u32>,
    /// The smallest number of keys that plans are made for. With a large number, short sorts have the shapes of long ones.
    pub planned_for: u64,
    /// The seed of the seeds of all schedules. Each launch has a schedule of its own.
    pub seed: u64,
    /// The most threadgroups of kernels that take segments or tiles until none is left.
    pub most_groups: u32,
    /// Whether races in buffers are allowed. Segments that overlap cause races.
    pub races: bool,
    /// Whether threadgroups and lanes run in order and without preemption, instead of in the order of a seed.
    pub in_order: bool,
}

impl Config {
    /// Returns the configuration with kernels of this source and the planner's choices.
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

/// The buffers of a sort, or of a search, by their roles.
pub type Memory = BTreeMap<plan::Buffer, Buffer>;

/// Sorts with kernels in Metal Shading Language, on the CPU. A fault of a kernel is an error of the sort.
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

/// The memory accesses of all sorts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    /// The number of launches.
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
    /// Opens a backend with this configuration.
    ///
    /// # Errors
    /// None. Kernels are compiled at their first launch.
    pub fn open_with(config: Config) -> Result<Self, Error> {
        Ok(Self {
            inner: Arc::new(Inner { config, kernels: Mutex::default(), launches: AtomicU64::new(0), traffic: Mutex::default() }),
        })
    }

    /// Returns the memory accesses of all sorts so far.
    pub fn traffic(&self) -> Traffic {
        *self.inner.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the compiled kernel of a variant.
    fn kernel(&self, variant: &Variant) -> Result<Arc<Compiled>, Error> {
        let kernels = || self.inner.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(compiled) = kernels().get(variant) {
            return Ok(compiled.clone());
        }
        // Two calls may compile the same kernel: then both get equal libraries.
        let source = &self.inner.config.source;
        let text = (source.text)(variant);
        let kernel = Kernel::compile(&text.text, variant.kernel().name(), source.options)
            .map_err(|error| failed(&error, &format!("{variant:?}")))?;
        let compiled = Arc::new(Compiled { kernel, takes_sizes: text.takes_sizes });
        Ok(kernels().entry(*variant).or_insert(compiled).clone())
    }

    /// Returns the configuration.
    pub(crate) fn config(&self) -> &Config {
        &self.inner.config
    }

    /// Returns the indices of the first `k` keys of each segment, or of all keys without `segments`. There are `k` indices for each segment; the
    /// missing ones are [`abi::NOTHING`].
    ///
    /// # Errors
    /// [`Error::Unsupported`] if `k` is 0, or too large for segments; a fault of a kernel.
    pub fn select<W: Word>(&self, keys: &[W], k: u32, segments: Option<&[[u32; 2]]>, spec: Spec) -> Result<Vec<u32>, Error> {
        let max = segments.map_or(keys.len(), <[_]>::len) as u64;
        let top = Top { k, segmented: segments.is_some() };
        // The output starts with wrong values, so that no result is right by chance.
        let indices = vec![u32::MAX - 1; top.results(max) as usize];
        let request = Request::keys(W::BITS, spec, max).select(top);
        let memory = self.execute(keys, &indices, segments.unwrap_or(&[]), request)?;
        Ok(memory[&plan::Buffer::Values].values())
    }

    /// Executes `request`, and returns the buffers after the last launch.
    fn execute<W: Word>(&self, keys: &[W], values: &[u32], bounds: &[[u32; 2]], request: Request) -> Result<Memory, Error> {
        let Config { facts, algorithm, blocked, batch, small_bucket, planned_for, .. } = self.inner.config;
        facts.limits(request.payload.words()).check("the emulated GPU", keys.len(), size_of::<W>().max(4))?;
        let count = request.segments.map_or(request.max, |segments| segments.max.into());
        let max = if request.top.is_none() && request.segments.is_none() { count.max(planned_for) } else { request.max };
        let algorithm = algorithm.filter(|algorithm| algorithm.sorts(&request));
        let plan = SortPlan::new(Request { algorithm, blocked, batch, small_bucket, max, ..request }, &facts)?;
        // Kernels access whole words.
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

    /// Executes a plan for `count` keys, or segments.
    pub(crate) fn launch_plan(&self, plan: &SortPlan, count: u64, memory: &mut Memory) -> Result<(), Error> {
        self.launch_each(plan, count, memory, |_, _| {})
    }

    /// Executes a plan for `count` keys, or segments, on the caller's buffers. If [`plan::Buffer::Count`] is one of them, the count lies there.
    /// Calls the closure with each command and the buffers after it.
    ///
    /// # Errors
    /// A fault of a kernel, or an error of the plan.
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
        // New scratch has arbitrary contents.
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
                Groups::Fixed(groups) if command.variant.shape.classes().is_some() => {
                    Groups::Fixed(groups.min(self.config().most_groups))
                }
                Groups::AtMost { most, of, team } => Groups::AtMost { most: most.min(self.config().most_groups), of, team },
                groups => groups,
            };
            let grid = plan.grid(groups, Some(count), self.config().facts.max_groups)?;
            self.launch(command, grid, count as u32, memory)?;
            launched(command, memory);
        }
        let Some(then) = &plan.then else { return Ok(()) };
        // The keys of the plan that follows are the selected keys.
        let swap = |memory: &mut Memory| {
            let picked = [plan::Buffer::Keys, plan::Buffer::Picked].map(|role| memory.remove(&role).unwrap_or_default());
            memory.extend([plan::Buffer::Picked, plan::Buffer::Keys].into_iter().zip(picked));
        };
        swap(memory);
        self.launch_all(then, plan.then_count(Some(count)).unwrap_or(count), memory, launched)?;
        swap(memory);
        Ok(())
    }

    /// Launches a command for `count` keys.
    pub(crate) fn launch(&self, command: &Command, grid: (u32, u32), count: u32, memory: &mut Memory) -> Result<(), Error> {
        let compiled = self.kernel(&command.variant)?;
        let recorded = (!memory.contains_key(&plan::Buffer::Count)).then_some(count);
        let mut numbers = command.numbers.iter().map(|number| Buffer::of(&[abi::value(*number, recorded)]));
        // The buffers of all bindings are removed from `memory`, and inserted again after the launch.
        let mut bound: Vec<(plan::Buffer, Buffer)> = vec![];
        for &role in &command.bindings {
            let buffer = match role {
                plan::Buffer::Number => numbers.next().unwrap_or_default(),
                // Without a count on the device, kernels do not read this binding.
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
            Operation::Sort { keys, segments } | Operation::PartialSort { keys, segments, .. } => {
                self.sort_words(keys, &mut [], Payload::None, segments, spec)
            }
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
                    _ => permutation::fill_identity(indices),
                }
                self.sort_words(&mut keys.to_vec(), indices, Payload::Indices, segments, spec)
            }
            // No kernel in Metal's language finds runs.
            operation @ Operation::Runs { .. } => operation.by_two_sorts(self, spec),
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
    /// Opens a backend with naga's translations of the kernels.
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
