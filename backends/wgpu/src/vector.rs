//! Vector search: stores on the device, and searches in them. A search is one sequence of launches.
//!
//! A store that does not fit one binding has several pages. A search computes its distances page by page.

use crate::backend::WgpuBackend;
use crate::bind::{Bound, Part};
use crate::call::Call;
use crate::compile_all::kernels;
use crate::copy::{Copiers, PART};
use crate::engine::{Engine, PASS};
use crate::gpu::{Gpu, STORAGE};
use crate::launch::{Count, Launch, Launches};
use crate::profile::{self, Profile, Profiled};
use crate::wait::{Waiting, blocking};
use crate::way::Ways;
use crate::workspace::Staging;
use half::f16;
use polysort_core::{BoxFuture, Error, Segments, selected_len};
use polysort_shaders::abi;
use polysort_shaders::plan::{Buffer as Role, Command, SearchPlan, SearchSize, SortPlan};
use polysort_vector::{
    BY_DISTANCE, Distances, Metric, Nearest, Precision, Search, Shape, VectorError, VectorSearch, VectorStore, nearest_of,
};
use std::borrow::Cow;
use std::sync::Arc;
use wgpu::{Buffer, BufferUsages, CommandEncoder, ComputePass};

/// Vectors on a GPU.
#[derive(Debug)]
pub struct WgpuStore {
    backend: WgpuBackend,
    memory: Memory,
}

/// The buffers of a store: its vectors and its entries. [`WgpuStore`] checks what the caller passes.
#[derive(Debug)]
struct Memory {
    shape: Shape,
    /// Slots of each page; the last one may have fewer.
    page_slots: usize,
    pages: Vec<Buffer>,
    entries: Buffer,
    entry_count: usize,
}

impl Memory {
    fn new(gpu: &Gpu, shape: Shape) -> Result<Self, Error> {
        let (bytes, limit) = (SearchPlan::stride_bytes(shape), gpu.facts.max_binding);
        let page_slots = usize::try_from(limit / bytes).unwrap_or(usize::MAX).min(shape.capacity.max(1));
        if page_slots == 0 {
            let what = "a binding of the GPU, counted in numbers of one vector".into();
            return Err(Error::TooLong { what, asked: shape.dimension as u64, limit: limit / 4 });
        }
        // A page has memory for at least one vector: in place of a slot that does not exist, kernels read slot 0 and ignore
        // the result.
        let starts = (0..shape.capacity.max(1)).step_by(page_slots);
        let page = |start| {
            let slots = page_slots.min(shape.capacity.max(1) - start);
            gpu.buffer("polysort vectors", bytes * slots as u64, STORAGE)
        };
        let pages = starts.map(page).collect::<Result<_, _>>()?;
        let entries = gpu.buffer("polysort entries", 4, STORAGE)?;
        Ok(Self { shape, page_slots, pages, entries, entry_count: 0 })
    }

    /// Writes `vectors` to the slots from `slot` on. On an error, or if the future is dropped, it writes none of them.
    async fn write(&self, engine: &Arc<Engine>, waiting: Waiting, slot: u32, vectors: &[f32]) -> Result<(), Error> {
        let rows = self.rows(vectors, &engine.gpu().copiers);
        let stride = SearchPlan::stride_bytes(self.shape);
        let (mut places, mut slot, mut count) = (vec![], slot as usize, vectors.len() / self.shape.dimension);
        while count > 0 {
            let (page, first) = (slot / self.page_slots, slot % self.page_slots);
            let there = (self.page_slots - first).min(count);
            places.push((&self.pages[page], first as u64 * stride, there as u64 * stride));
            (slot, count) = (slot + there, count - there);
        }
        Call::replace(engine, waiting, &rows, &places, None).await
    }

    /// Returns the vectors in the format of a page.
    fn rows<'a>(&self, vectors: &'a [f32], copiers: &Copiers) -> Cow<'a, [u8]> {
        if self.shape.precision == Precision::F32 {
            return bytemuck::cast_slice(vectors).into();
        }
        let (dimension, stride) = (self.shape.dimension, SearchPlan::stride_bytes(self.shape) as usize / 2);
        let count = vectors.len() / dimension;
        let mut halves = vec![f16::ZERO; count * stride];
        let part = PART.div_ceil(2 * stride);
        let rows = halves.chunks_mut(part * stride).zip(vectors.chunks(part * dimension)).collect();
        copiers.each(rows, |(halves, vectors)| {
            for (row, vector) in halves.chunks_exact_mut(stride).zip(vectors.chunks_exact(dimension)) {
                row.iter_mut().zip(vector).for_each(|(half, &number)| *half = f16::from_f32(number));
            }
        });
        bytemuck::pod_collect_to_vec(&halves).into()
    }

    /// Replaces the entries. On an error, or if the future is dropped, the old entries stay.
    async fn set_entries(&mut self, engine: &Arc<Engine>, waiting: Waiting, slots: &[u32]) -> Result<(), Error> {
        let gpu = engine.gpu();
        fits(gpu, "entries", slots.len(), 4)?;
        let bytes: &[u8] = bytemuck::cast_slice(slots);
        let entries = engine.allocating(waiting, || gpu.buffer("polysort entries", bytes.len() as u64, STORAGE)).await?;
        Call::fill(engine, waiting, bytes, &entries.clone().into()).await?;
        (self.entries, self.entry_count) = (entries, slots.len());
        Ok(())
    }
}

impl WgpuStore {
    /// Async variant of [`VectorStore::write`].
    ///
    /// # Errors
    /// The same as those of [`VectorStore::write`].
    pub async fn write_async(&mut self, slot: u32, vectors: &[f32]) -> Result<(), VectorError> {
        self.put(Waiting::Elsewhere, slot, vectors).await
    }

    /// Async variant of [`VectorStore::set_entries`].
    ///
    /// # Errors
    /// The same as those of [`VectorStore::set_entries`].
    pub async fn set_entries_async(&mut self, slots: &[u32]) -> Result<(), VectorError> {
        self.name(Waiting::Elsewhere, slots).await
    }

    fn put<'a>(&'a mut self, waiting: Waiting, slot: u32, vectors: &'a [f32]) -> BoxFuture<'a, Result<(), VectorError>> {
        Box::pin(async move {
            self.memory.shape.check_write(slot, vectors)?;
            Ok(self.memory.write(self.backend.engine(), waiting, slot, vectors).await?)
        })
    }

    fn name<'a>(&'a mut self, waiting: Waiting, slots: &'a [u32]) -> BoxFuture<'a, Result<(), VectorError>> {
        Box::pin(async move {
            self.memory.shape.check_entries(slots)?;
            Ok(self.memory.set_entries(self.backend.engine(), waiting, slots).await?)
        })
    }
}

impl VectorStore for WgpuStore {
    fn shape(&self) -> Shape {
        self.memory.shape
    }

    fn entries(&self) -> usize {
        self.memory.entry_count
    }

    fn write(&mut self, slot: u32, vectors: &[f32]) -> Result<(), VectorError> {
        blocking(self.put(Waiting::Here, slot, vectors))
    }

    fn set_entries(&mut self, slots: &[u32]) -> Result<(), VectorError> {
        blocking(self.name(Waiting::Here, slots))
    }
}

impl VectorSearch for WgpuBackend {
    type Store = WgpuStore;

    fn vector_store(&self, shape: Shape) -> Result<WgpuStore, VectorError> {
        shape.check()?;
        Ok(WgpuStore { backend: self.clone(), memory: Memory::new(self.gpu(), shape)? })
    }

    fn distances(&self, store: &WgpuStore, search: &Search<'_>) -> Result<Distances, VectorError> {
        blocking(self.all_distances(Waiting::Here, store, search))
    }

    fn nearest(&self, store: &WgpuStore, search: &Search<'_>, k: usize) -> Result<Nearest, VectorError> {
        blocking(self.some_nearest(Waiting::Here, store, search, k))
    }
}

impl WgpuBackend {
    /// Async variant of [`VectorSearch::distances`].
    ///
    /// # Errors
    /// The same as those of [`VectorSearch::distances`].
    pub async fn distances_async(&self, store: &WgpuStore, search: &Search<'_>) -> Result<Distances, VectorError> {
        self.all_distances(Waiting::Elsewhere, store, search).await
    }

    /// Async variant of [`VectorSearch::nearest`].
    ///
    /// # Errors
    /// The same as those of [`VectorSearch::nearest`].
    pub async fn nearest_async(&self, store: &WgpuStore, search: &Search<'_>, k: usize) -> Result<Nearest, VectorError> {
        self.some_nearest(Waiting::Elsewhere, store, search, k).await
    }

    /// Runs a search `trials` times, and returns the device times of the search and of each launch.
    ///
    /// It searches the `k` nearest vectors; if `k` is 0, it computes all distances. The data is uploaded once, before the
    /// runs. It waits for the device. The profile is empty if there are no candidates. With
    /// [`Check::Device`](polysort_vector::Check::Device), it does not report wrong candidates.
    ///
    /// # Errors
    /// Those of [`VectorSearch::nearest`], and [`Error::Unsupported`] in a browser or if `k` is more than
    /// [`Facts::most_selected`](polysort_shaders::plan::Facts::most_selected).
    pub fn profile_search(&self, store: &WgpuStore, search: &Search<'_>, k: u32, trials: usize) -> Result<Profile, VectorError> {
        blocking(async {
            let native = self.searching(Waiting::Here, store, search).await?;
            match SearchCall::begin(self.engine(), Waiting::Here, &store.memory, search, k, native).await? {
                Some(mut search) => {
                    // Submits the uploads.
                    search.call.run(|_| Ok(()), &[], &mut []).await?;
                    Ok(profile::profile(self.gpu(), &search.launches, trials, |_| {})?)
                }
                None => Ok(Profile::default()),
            }
        })
    }

    fn all_distances<'a>(
        &'a self,
        waiting: Waiting,
        store: &'a WgpuStore,
        search: &'a Search<'a>,
    ) -> BoxFuture<'a, Result<Distances, VectorError>> {
        Box::pin(async move {
            let native = self.searching(waiting, store, search).await?;
            let count = search.candidate_indices.len();
            let mut found = Distances { distances: vec![0.0; count], slots: vec![0; count] };
            let Distances { distances, slots } = &mut found;
            let (distances, slots) = (bytemuck::cast_slice_mut(distances), bytemuck::cast_slice_mut(slots));
            let wrong = SearchCall::run(self.engine(), waiting, &store.memory, search, (0, native), distances, slots).await?;
            VectorError::check_candidates(wrong)?;
            Ok(found)
        })
    }

    fn some_nearest<'a>(
        &'a self,
        waiting: Waiting,
        store: &'a WgpuStore,
        search: &'a Search<'a>,
        k: usize,
    ) -> BoxFuture<'a, Result<Nearest, VectorError>> {
        Box::pin(async move {
            let k = k.min(longest(search));
            if k == 0 {
                // The result is empty, but wrong candidates are an error for every `k`.
                self.all_distances(waiting, store, search).await?;
                return Nearest::new(0, vec![], vec![]);
            }
            if k > self.facts().most_selected() as usize {
                let found = self.all_distances(waiting, store, search).await?;
                let offsets: Vec<usize> = search.candidate_offsets.iter().map(|&offset| offset as usize).collect();
                let keys = bytemuck::cast_slice::<f32, u32>(&found.distances);
                let segments = Segments::Offsets(&offsets);
                let mut selected = vec![0; selected_len(k, Some(segments), keys.len())];
                self.top_k_segment_words(waiting, keys, k, segments, &mut selected, BY_DISTANCE).await?;
                return nearest_of(&found, search.candidate_offsets, k, &selected);
            }
            let native = self.searching(waiting, store, search).await?;
            let count = k * (search.candidate_offsets.len() - 1);
            let mut found = Distances { distances: vec![0.0; count], slots: vec![0; count] };
            let Distances { distances, slots } = &mut found;
            let (near, near_slots) = (bytemuck::cast_slice_mut(distances), bytemuck::cast_slice_mut(slots));
            let wrong =
                SearchCall::run(self.engine(), waiting, &store.memory, search, (k as u32, native), near, near_slots).await?;
            VectorError::check_candidates(wrong)?;
            Nearest::new(k, found.distances, found.slots)
        })
    }

    /// Checks a search, and runs the self-test of its kind of distances if it has not run yet. Returns whether the search
    /// uses native kernels.
    async fn searching(&self, waiting: Waiting, store: &WgpuStore, search: &Search<'_>) -> Result<bool, VectorError> {
        let shape = store.memory.shape;
        if !self.is_same(&store.backend) {
            let why = "the store lies on another device; make it with a clone of this backend".into();
            return Err(Error::InvalidBuffer { why }.into());
        }
        search.queries(shape.dimension, store.memory.entry_count)?;
        let engine = self.engine();
        let kind = SearchPlan::new(shape, search.metric, self.facts()).distances.variant;
        if let Some(native) = engine.tested_distances.get(&kind) {
            return Ok(native);
        }
        let mut ways = Ways::in_languages(self.gpu().is_native);
        while !ways.takes(check(engine, waiting, shape, search.metric, ways.current().native).await)? {}
        let native = ways.current().native;
        engine.tested_distances.set(kind, native);
        Ok(native)
    }
}

/// The most candidates of a query.
fn longest(search: &Search<'_>) -> usize {
    search.candidate_offsets.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max().unwrap_or(0) as usize
}

/// Returns an error if `count` elements of `bytes` bytes do not fit a binding.
fn fits(gpu: &Gpu, what: &str, count: usize, bytes: u64) -> Result<(), Error> {
    let limit = gpu.facts.max_binding / bytes;
    if count as u64 <= limit {
        return Ok(());
    }
    Err(Error::TooLong { what: format!("a binding of the GPU, counted in {what}"), asked: count as u64, limit })
}

/// The launches of a search, with compiled kernels and bind groups.
struct SearchLaunches {
    /// The distances to the vectors of each page.
    pages: Vec<Launch>,
    grid: (u32, u32),
    /// The launches after the distances; `None` if all distances are the result. First the launches of the selection and
    /// its number of queries. Then the launch that writes the distances and slots of the selected candidates, and its grid.
    nearest: Option<(Launches, Count, Launch, (u32, u32))>,
}

impl Profiled for SearchLaunches {
    fn most(&self) -> usize {
        self.pages.len() + self.nearest.as_ref().map_or(0, |(select, ..)| select.most() + 1)
    }

    fn record_whole(&self, pass: &mut ComputePass<'_>) -> Result<(), Error> {
        self.pages.iter().for_each(|launch| launch.record(pass, Count::Fixed(0), self.grid));
        if let Some((select, count, nearest, grid)) = &self.nearest {
            select.record(pass, *count)?;
            nearest.record(pass, Count::Fixed(0), *grid);
        }
        Ok(())
    }

    fn record_apart<'a>(&self, begin: &mut dyn FnMut(&'static str) -> ComputePass<'a>) -> Result<(), Error> {
        self.pages.iter().for_each(|launch| launch.record(&mut begin(launch.name()), Count::Fixed(0), self.grid));
        if let Some((select, count, nearest, grid)) = &self.nearest {
            select.record_apart(*count, &mut *begin)?;
            nearest.record(&mut begin(nearest.name()), Count::Fixed(0), *grid);
        }
        Ok(())
    }
}

/// A search whose data is uploaded and whose launches are bound.
struct SearchCall {
    call: Call,
    launches: SearchLaunches,
}

impl SearchCall {
    /// Uploads the data of a search and binds its launches. The launches compute the distances, with native kernels if
    /// `native` is set, and select the `k` nearest vectors of each query, unless `k` is 0. Returns `None` if there are no
    /// candidates.
    async fn begin(
        engine: &Arc<Engine>,
        waiting: Waiting,
        memory: &Memory,
        search: &Search<'_>,
        k: u32,
        native: bool,
    ) -> Result<Option<Self>, Error> {
        let queries = search.candidate_offsets.len().saturating_sub(1);
        let candidates = search.candidate_indices.len();
        if candidates == 0 {
            return Ok(None);
        }
        let gpu = engine.gpu().clone();
        fits(&gpu, "candidates", candidates, 4)?;
        fits(&gpu, "numbers of all queries", search.queries.len(), 4)?;
        fits(&gpu, "queries", queries + 1, 8)?;
        fits(&gpu, "near candidates", queries * k as usize, 4)?;
        let plan = SearchPlan::new(memory.shape, search.metric, &gpu.facts);
        let selected = queries as u64 * u64::from(k);
        let select = match k {
            0 => None,
            k => {
                let (request, native) = engine.tested(waiting, SearchPlan::select(k, queries as u64)).await?;
                Some((SortPlan::new(request, &gpu.facts)?, native))
            }
        };
        let of_select =
            select.iter().flat_map(|(select, is_native)| kernels(select, *is_native).chain([(plan.nearest.variant, native)]));
        gpu.shared.compile_all(waiting, of_select.chain([(plan.distances.variant, native)])).await?;
        let bounds: Vec<[u32; 2]> = match k {
            0 => vec![],
            _ => search.candidate_offsets.windows(2).map(|pair| [pair[0], pair[1]]).collect(),
        };
        let uploads: [(Role, &[u8]); 4] = [
            (Role::Queries, bytemuck::cast_slice(search.queries)),
            (Role::Listed, bytemuck::cast_slice(search.candidate_indices)),
            (Role::Offsets, bytemuck::cast_slice(search.candidate_offsets)),
            (Role::Bounds, bytemuck::cast_slice(&bounds)),
        ];
        let size = SearchSize {
            queries: queries as u64,
            candidates: candidates as u64,
            entries: memory.entry_count as u64,
            page_slots: 0,
            selected,
        };
        let results = [Role::Distances, Role::Slots, Role::Faults, Role::Positions, Role::NearDistances, Role::NearSlots];
        let touched = |role| SearchPlan::touched_bytes(memory.shape, size, role);
        let roomy = |bytes: u64| bytes.next_power_of_two().min(gpu.facts.max_binding).max(bytes);
        let needs: Vec<(Role, u64)> = uploads
            .iter()
            .map(|&(role, bytes)| (role, touched(role).max(bytes.len() as u64)))
            .chain(results.map(|role| (role, touched(role))))
            .map(|(role, bytes)| (role, roomy(bytes)))
            .chain(select.iter().flat_map(|(plan, _)| plan.scratch.iter().copied()))
            .collect();
        let up = uploads.map(|(_, bytes)| bytes.len());
        let one = 4 * if k == 0 { candidates } else { selected as usize };
        let mut call = Call::begin(engine, waiting, None, &needs, Staging { up: &up, down: &[one, one, 4] }).await?;
        let mut grow = || needs.iter().try_for_each(|&(role, bytes)| call.workspace_mut().grow(&gpu, role, bytes));
        engine.allocating(waiting, &mut grow).await?;
        for (role, bytes) in uploads {
            call.upload(&bytes.into(), role).await?;
        }
        let about = abi::Search {
            queries: queries as u32,
            dimension: memory.shape.dimension as u32,
            candidates: candidates as u32,
            entries: memory.entry_count as u32,
            capacity: memory.shape.capacity as u32,
            stride: SearchPlan::stride(memory.shape),
            selected: selected as u32,
            ..abi::Search::default()
        };
        let launch = |command: &Command, about: abi::Search, page: &Buffer| {
            let uniform = gpu.buffer_of("polysort search", bytemuck::bytes_of(&about), BufferUsages::UNIFORM)?;
            let size = SearchSize { page_slots: about.page_slots.into(), ..size };
            Launch::new(&gpu, command, native, |role| match role {
                Role::Search => Bound::new(&gpu, role, Part::from(&uniform), size_of::<abi::Search>() as u64),
                role => {
                    let buffer = match role {
                        Role::Vectors => page,
                        Role::Entries => &memory.entries,
                        role => call.workspace().buffer(role),
                    };
                    Bound::new(&gpu, role, Part::from(buffer), SearchPlan::touched_bytes(memory.shape, size, role))
                }
            })
        };
        let bind = || {
            let mut pages = vec![];
            for (page, vectors) in memory.pages.iter().enumerate() {
                let first = page * memory.page_slots;
                let page_slots = memory.page_slots.min(memory.shape.capacity - first.min(memory.shape.capacity));
                let about = abi::Search { page_first: first as u32, page_slots: page_slots as u32, ..about };
                pages.push(launch(&plan.distances, about, vectors)?);
            }
            let grid = plan.distances.groups.grid(candidates as u64, gpu.facts.max_groups)?;
            let Some((select, selects_natively)) = select else {
                return Ok(SearchLaunches { pages, grid, nearest: None });
            };
            let data = |role| match role {
                Role::Keys => Role::Distances,
                Role::Values => Role::Positions,
                role => role,
            };
            let part = |role| Part::from(call.workspace().buffer(data(role)));
            let select = Launches::new(&gpu, select, selects_natively, None, &part)?;
            let nearest = launch(&plan.nearest, about, &memory.entries)?;
            let near_grid = plan.nearest.groups.grid(selected, gpu.facts.max_groups)?;
            let nearest = Some((select, Count::Fixed(queries as u32), nearest, near_grid));
            Ok(SearchLaunches { pages, grid, nearest })
        };
        let launches = gpu.watched(bind).await?;
        Ok(Some(Self { call, launches }))
    }

    /// Runs a search, and returns the number of wrong candidates that the device has found. It writes the distances and
    /// slots of the `k` nearest vectors of each query, or, if `k` is 0, of all candidates.
    async fn run(
        engine: &Arc<Engine>,
        waiting: Waiting,
        memory: &Memory,
        search: &Search<'_>,
        (k, native): (u32, bool),
        distances: &mut [u8],
        slots: &mut [u8],
    ) -> Result<u64, Error> {
        let Some(Self { mut call, launches }) = Self::begin(engine, waiting, memory, search, k, native).await? else {
            return Ok(0);
        };
        let results = if k == 0 { [Role::Distances, Role::Slots] } else { [Role::NearDistances, Role::NearSlots] };
        let sources = [results[0], results[1], Role::Faults].map(|role| call.workspace().buffer(role).clone());
        let mut faults = [0; 4];
        let faulty = sources[2].clone();
        let record = |encoder: &mut CommandEncoder| {
            encoder.clear_buffer(&faulty, 0, None);
            launches.record_whole(&mut encoder.begin_compute_pass(&PASS))
        };
        call.run(record, &sources, &mut [distances, slots, &mut faults]).await?;
        Ok(u32::from_ne_bytes(faults).into())
    }
}

/// Self-test: returns an error if distances in stores of this shape are wrong. The numbers of its vectors are small
/// integers, whose sums are exact in any order.
async fn check(engine: &Arc<Engine>, waiting: Waiting, shape: Shape, metric: Metric, native: bool) -> Result<(), Error> {
    let (dimension, slots) = (shape.dimension, [3_u32, 0, 4]);
    let number = |vector: usize, d: usize| ((7 * vector + 3 * d + vector * d) % 5) as f32 - 1.0;
    let vector = |vector: usize| (0..dimension).map(move |d| number(vector, d));
    let mut memory = Memory::new(engine.gpu(), shape.capacity(5))?;
    memory.write(engine, waiting, 0, &(0..5).flat_map(vector).collect::<Vec<_>>()).await?;
    memory.set_entries(engine, waiting, &slots).await?;
    let queries: Vec<f32> = (10..13).flat_map(vector).collect();
    let search = Search::new(&queries, &[2, 0, 1, 1, 2], &[0, 3, 3, 5]).metric(metric);
    let (mut distances, mut found) = ([0.0_f32; 5], [0_u32; 5]);
    let (out, slots_out) = (bytemuck::bytes_of_mut(&mut distances), bytemuck::bytes_of_mut(&mut found));
    let wrong = SearchCall::run(engine, waiting, &memory, &search, (0, native), out, slots_out).await?;
    let failed = |why: String| {
        let what = format!("{metric:?} distances of {shape:?}");
        Err(Error::SelfTest { backend: engine.gpu().name(), what, why })
    };
    if wrong > 0 {
        return failed(format!("it counts {wrong} wrong candidates, but all are right"));
    }
    let sum = |one: usize, other: usize, term: fn(f64, f64) -> f64| -> f64 {
        (0..dimension).map(|d| term(number(one, d).into(), number(other, d).into())).sum()
    };
    let product = |one, other| sum(one, other, |a, b| a * b);
    for (i, query) in [10, 10, 10, 12, 12].into_iter().enumerate() {
        let slot = slots[search.candidate_indices[i] as usize];
        let other = slot as usize;
        let lengths = product(query, query).sqrt() * product(other, other).sqrt();
        let expected = match metric {
            Metric::L2 => sum(query, other, |a, b| (a - b) * (a - b)),
            Metric::InnerProduct => -product(query, other),
            Metric::Cosine if lengths == 0.0 => 1.0,
            Metric::Cosine => 1.0 - product(query, other) / lengths,
            other => return Err(Error::Unsupported { what: format!("the metric {other:?}") }),
        };
        let allowed = if metric == Metric::Cosine { 1e-5 } else { 0.0 };
        // Sums beyond 2^24 are not exact any more.
        let allowed = if expected.abs() < 1e7 { allowed } else { expected.abs() * 1e-3 };
        if found[i] != slot || (f64::from(distances[i]) - expected).abs() > allowed {
            return failed(format!(
                "the distance of slot {slot} is {}, not {expected}; the reported slot is {}",
                distances[i], found[i]
            ));
        }
    }
    Ok(())
}
