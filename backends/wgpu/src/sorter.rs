//! `DeviceSorter`: prepares sorts of buffers on the caller's device, for the caller's command encoders.

use crate::adapters::wanted;
use crate::ask::{Ask, Bounds};
use crate::bind::{Bound, Part, invalid};
use crate::compile_all::kernels;
use crate::engine::{Engine, Memory};
use crate::gpu::{Gpu, Lost, STORAGE};
use crate::kinds::Kinds;
use crate::launch::Launches;
use crate::portion_launches::{PortionLaunches, portion_kernels};
use crate::prepared::{AnyLaunches, Prepared};
use crate::queued::Queued;
use crate::setup::Setup;
use crate::wait::{Waiting, blocking};
use crate::way::Way;
use crate::workspace::{Bindable, needs};
use bytemuck::Pod;
use polysort_core::{BoxFuture, Error, MaskKey, Options, Spec};
use polysort_shaders::plan::{Buffer as Role, MergePlan, Payload, Place, PortionPlan, Request, Segmented, SortPlan, Top};
use std::collections::BTreeMap;
use std::sync::Arc;
use wgpu::{Adapter, Buffer, Device, Features, Queue};

/// Prepares sorts of buffers on the caller's device. The caller records them into its own command encoders.
///
/// ```no_run
/// # fn frame(device: &wgpu::Device, queue: &wgpu::Queue, depths: &wgpu::Buffer, splats: &wgpu::Buffer) -> Result<(), polysort_core::Error> {
/// use polysort_wgpu::{Ask, Count, DeviceSorter};
///
/// // Once: compiles and tests kernels, allocates scratch.
/// let sorter = DeviceSorter::new(device, queue)?;
/// let by_depth = sorter.prepare_sort_pairs::<f32, u32>(depths, splats, Ask::up_to(1_000_000))?;
///
/// // Each frame: only records commands.
/// let mut encoder = device.create_command_encoder(&Default::default());
/// by_depth.record_in(&mut encoder, Count::Fixed(900_000))?;
/// queue.submit([encoder.finish()]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct DeviceSorter {
    pub(crate) gpu: Arc<Gpu>,
    pub(crate) kinds: Arc<Kinds>,
    /// Runs self-tests; `None` for a sorter that does not test when it prepares.
    pub(crate) engine: Option<Arc<Engine>>,
}

/// The result that a prepared sort writes.
enum Wanted {
    /// All keys in order, or their indices.
    Sorted(Payload),
    /// The indices of this many keys, the first of the order.
    First(u32),
}

impl DeviceSorter {
    /// Returns the features with which to open a device of this adapter. Without them, sorts are slower and cannot be
    /// profiled.
    pub fn wanted_features(adapter: &Adapter) -> Features {
        wanted(&adapter.get_info(), adapter.features())
    }

    /// Creates a sorter on `device`, whose queue is `queue`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device has no memory for a small table, or another failure of the device.
    pub fn new(device: &Device, queue: &Queue) -> Result<Self, Error> {
        Self::with(device, Setup::tested_on(queue))
    }

    /// Creates a sorter on `device` as `setup` says.
    ///
    /// ```no_run
    /// # fn start(device: &wgpu::Device, queue: &wgpu::Queue, keys: &wgpu::Buffer) -> Result<(), polysort_core::Error> {
    /// use polysort_wgpu::{Ask, DeviceSorter, Setup};
    ///
    /// // At the start of the program: compiles kernels, and does not wait for the device.
    /// let sorter = DeviceSorter::with(device, Setup::untested())?;
    /// let sort = sorter.prepare_sort::<u32>(keys, Ask::up_to(1_000_000))?;
    ///
    /// // When there is time, on any thread: sorts known keys with the kernels of `sort`.
    /// sorter.self_test(queue)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The same as those of [`new`](DeviceSorter::new).
    pub fn with(device: &Device, setup: Setup<'_>) -> Result<Self, Error> {
        let mut gpu = Gpu::on(device.clone(), Lost::default())?;
        gpu.facts.tuned = setup.tuned;
        gpu.cache = setup.cache.cloned();
        let (gpu, kinds) = (Arc::new(gpu), Arc::new(Kinds::default()));
        let mut sorter = Self { gpu, kinds, engine: None };
        sorter.engine = setup.queue.map(|queue| sorter.engine_on(queue));
        Ok(sorter)
    }

    /// Returns an engine that shares the device and the kinds of this sorter.
    fn engine_on(&self, queue: &Queue) -> Arc<Engine> {
        let gpu = Queued { shared: self.gpu.clone(), queue: queue.clone() };
        Arc::new(Engine::new(gpu, self.kinds.clone(), Memory::default()))
    }

    /// Tests each kind of sorts that this sorter and its clones have prepared without a test. `queue` is the queue of the
    /// device. Waits for the device. This does nothing for a sorter that tests when it prepares.
    ///
    /// # Errors
    /// - [`Error::SelfTest`] if a prepared sort gives wrong results on this device. All kinds are tested all the same. Sorts
    ///   that you prepare afterwards use other kernels, which have passed the test, if there are any.
    /// - [`Error::DeviceLost`], [`Error::OutOfMemory`], or another failure of the device. A later call tests the rest.
    pub fn self_test(&self, queue: &Queue) -> Result<(), Error> {
        blocking(self.test_untested(Waiting::Here, queue))
    }

    /// Async variant of [`self_test`](DeviceSorter::self_test).
    ///
    /// # Errors
    /// The same as those of [`self_test`](DeviceSorter::self_test).
    pub async fn self_test_async(&self, queue: &Queue) -> Result<(), Error> {
        self.test_untested(Waiting::Elsewhere, queue).await
    }

    async fn test_untested(&self, waiting: Waiting, queue: &Queue) -> Result<(), Error> {
        let engine = self.engine_on(queue);
        let mut result = Ok(());
        for (kind, request) in self.kinds.untested.all() {
            let used = kind.ways(self.gpu.is_native).current();
            match engine.tested(waiting, request).await.and_then(|passed| is_the_way_used(self.gpu.name(), passed, used)) {
                Ok(()) => {}
                Err(error @ Error::SelfTest { .. }) => result = Err(error),
                Err(error) => return Err(error),
            }
            self.kinds.untested.remove(&kind);
        }
        for (kind, request) in self.kinds.untested_merges.all() {
            match engine.tested_merge(waiting, request).await {
                Ok(()) => {}
                Err(error @ Error::SelfTest { .. }) => result = Err(error),
                Err(error) => return Err(error),
            }
            self.kinds.untested_merges.remove(&kind);
        }
        result
    }

    /// Returns the request with an algorithm, and whether native kernels run it: tested, unless the sorter was created
    /// without tests.
    async fn way(&self, waiting: Waiting, request: Request) -> Result<Bindable, Error> {
        if let Some(engine) = &self.engine {
            return engine.tested(waiting, request).await;
        }
        let (request, kind) = self.kinds.of(request, &self.gpu.facts)?;
        let way = self.kinds.tested.get(&kind).unwrap_or_else(|| {
            self.kinds.untested.set(kind, request);
            kind.ways(self.gpu.is_native).current()
        });
        Ok(way.of(request))
    }

    /// Returns the bytes of scratch of a sort of up to `max` keys of type `K`. A value has `value_bytes` bytes; 0 means
    /// no values. For segments, argsorts and top-k selections, call `scratch_bytes` on the plan that [`Prepared::plan`] returns.
    ///
    /// # Errors
    /// The same as those of [`prepare_sort_pairs`](DeviceSorter::prepare_sort_pairs).
    pub fn scratch_bytes<K: MaskKey>(&self, value_bytes: usize, max: u32) -> Result<u64, Error> {
        let payload = payload(value_bytes)?;
        let request = Request { payload, ..Request::keys(bits::<K>(), Spec::of_masks::<K>(Options::ascending())?, max.into()) };
        let facts = &self.gpu.facts;
        if PortionPlan::is_needed(&request, facts) {
            return Ok(PortionPlan::new(request, [None; 2], facts)?.scratch_bytes());
        }
        Ok(SortPlan::new(request, facts)?.scratch_bytes())
    }

    /// Prepares to sort keys in place.
    ///
    /// The scratch has about the size of the keys; for keys of 8 and 16 bits, up to 8 bytes for each key (see
    /// [`scratch_bytes`](DeviceSorter::scratch_bytes)). Keys that do not fit a binding, or 2³⁰ or more of them, are sorted in
    /// portions, which are then merged. A key of 8 or 16 bits counts as 4 bytes here. Each round of merges reads and writes all
    /// keys, and halves the number of sorted runs. After an odd number of rounds, the device copies all keys back.
    /// [`Prepared::portions`] returns the plan of the portions and their merges, or `None` if one sort takes all keys.
    ///
    /// The first call for a kind of sorts (of this size of keys, on this device) compiles its kernels and tests them with known
    /// keys. The call then waits for the device; [`Setup::untested`] leaves the test out of it.
    ///
    /// Records of 8 or 16 bytes are sorted in place as keys of type `u64` or `u128`, by the bits in which they have an unsigned
    /// key. The first word of a record has the least significant bits. This sorts records of a key and an index by the key:
    ///
    /// ```no_run
    /// # fn demo(sorter: &polysort_wgpu::DeviceSorter, records: &wgpu::Buffer) -> Result<(), polysort_core::Error> {
    /// use polysort_core::Options;
    /// use polysort_wgpu::Ask;
    ///
    /// // struct Record { key: u32, index: u32 }
    /// let by_key = Ask::up_to(1_000_000).options(Options::ascending().bits(0..32));
    /// let sort = sorter.prepare_sort::<u64>(records, by_key)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`Error::InvalidBuffer`] if a buffer is too small, lacks a usage, or does not start at a multiple of 4 bytes.
    /// - [`Error::TooLong`] if an argsort, a selection or a sort of segments has more keys than fit a binding, or too many segments.
    /// - [`Error::InvalidOffsets`] if the rows of [`Ask::rows`] overlap.
    /// - [`Error::InvalidRange`] if the key does not have the requested range of bits.
    /// - [`Error::Unsupported`] if `ask` has [wide indices](Ask::wide_indices), and the call writes no indices.
    /// - [`Error::OutOfMemory`], or another failure of the device.
    /// - [`Error::SelfTest`] if the device sorts wrongly.
    pub fn prepare_sort<'a, K: MaskKey>(&self, keys: impl Into<Part<'a>>, ask: Ask<'_>) -> Result<Prepared, Error> {
        blocking(self.prepare::<K>(Waiting::Here, keys.into(), None, Wanted::Sorted(Payload::None), ask))
    }

    /// Async variant of [`prepare_sort`](DeviceSorter::prepare_sort). The thread that polls the future neither compiles
    /// kernels nor waits for the device: other threads do, or the browser. It allocates scratch, and binds buffers. A
    /// program that draws frames can poll the future once a frame.
    ///
    /// # Errors
    /// The same as those of [`prepare_sort`](DeviceSorter::prepare_sort).
    pub async fn prepare_sort_async<'a, K: MaskKey>(&self, keys: impl Into<Part<'a>>, ask: Ask<'_>) -> Result<Prepared, Error> {
        self.prepare::<K>(Waiting::Elsewhere, keys.into(), None, Wanted::Sorted(Payload::None), ask).await
    }

    /// Prepares to sort keys in place, and to move each value with its key. A value has 4, 8, 12 or 16 bytes.
    ///
    /// # Errors
    /// Those of [`prepare_sort`](DeviceSorter::prepare_sort), [`Error::InvalidBuffer`] if keys and values overlap, and
    /// [`Error::Unsupported`] for values of another size.
    pub fn prepare_sort_pairs<'a, K: MaskKey, V: Pod>(
        &self,
        keys: impl Into<Part<'a>>,
        values: impl Into<Part<'a>>,
        ask: Ask<'_>,
    ) -> Result<Prepared, Error> {
        let payload = payload(size_of::<V>())?;
        blocking(self.prepare::<K>(Waiting::Here, keys.into(), Some(values.into()), Wanted::Sorted(payload), ask))
    }

    /// Async variant of [`prepare_sort_pairs`](DeviceSorter::prepare_sort_pairs).
    ///
    /// # Errors
    /// The same as those of [`prepare_sort_pairs`](DeviceSorter::prepare_sort_pairs).
    pub async fn prepare_sort_pairs_async<'a, K: MaskKey, V: Pod>(
        &self,
        keys: impl Into<Part<'a>>,
        values: impl Into<Part<'a>>,
        ask: Ask<'_>,
    ) -> Result<Prepared, Error> {
        let payload = payload(size_of::<V>())?;
        self.prepare::<K>(Waiting::Elsewhere, keys.into(), Some(values.into()), Wanted::Sorted(payload), ask).await
    }

    /// Prepares to write the stable sorting permutation of the keys to `indices`, as `u32`. The keys stay as they are. With segments, a key that lies in none
    /// gets its own index. [`Ask::wide_indices`] writes numbers of 64 bits.
    ///
    /// # Errors
    /// The same as those of [`prepare_sort_pairs`](DeviceSorter::prepare_sort_pairs).
    pub fn prepare_argsort<'a, K: MaskKey>(
        &self,
        keys: impl Into<Part<'a>>,
        indices: impl Into<Part<'a>>,
        ask: Ask<'_>,
    ) -> Result<Prepared, Error> {
        blocking(self.prepare::<K>(Waiting::Here, keys.into(), Some(indices.into()), Wanted::Sorted(Payload::Indices), ask))
    }

    /// Async variant of [`prepare_argsort`](DeviceSorter::prepare_argsort).
    ///
    /// # Errors
    /// The same as those of [`prepare_argsort`](DeviceSorter::prepare_argsort).
    pub async fn prepare_argsort_async<'a, K: MaskKey>(
        &self,
        keys: impl Into<Part<'a>>,
        indices: impl Into<Part<'a>>,
        ask: Ask<'_>,
    ) -> Result<Prepared, Error> {
        self.prepare::<K>(Waiting::Elsewhere, keys.into(), Some(indices.into()), Wanted::Sorted(Payload::Indices), ask).await
    }

    /// Prepares to write the indices of the first `k` keys of the order to `indices`.
    ///
    /// The result is `k` numbers of type `u32`, or of 64 bits with [`Ask::wide_indices`], in the order of their keys; equal keys
    /// are in the order of their indices.
    /// If there are fewer than `k` keys, the last numbers are [`u32::MAX`]. The keys stay as they are. The device selects
    /// the keys without a sort of all of them (Alabi et al., "Fast k-selection algorithms for graphics processing units",
    /// 2012). To select the last keys, request the descending order.
    ///
    /// If `ask` has segments, the device selects the first `k` keys of each segment. The result is `k` numbers for each
    /// segment, one segment after the other, and the last of them are [`u32::MAX`] if a segment has fewer keys. Indices
    /// count from the first key of the buffer, not from the start of the segment. Here, segments may overlap.
    ///
    /// # Errors
    /// - [`Error::Unsupported`] if `k` is 0, or, with segments, more than [`Facts::most_selected`](crate::Facts::most_selected)
    ///   (2048 on most devices): then sort the segments instead.
    /// - The errors of [`prepare_sort_pairs`](DeviceSorter::prepare_sort_pairs).
    pub fn prepare_top_k<'a, K: MaskKey>(
        &self,
        keys: impl Into<Part<'a>>,
        indices: impl Into<Part<'a>>,
        k: u32,
        ask: Ask<'_>,
    ) -> Result<Prepared, Error> {
        blocking(self.prepare::<K>(Waiting::Here, keys.into(), Some(indices.into()), Wanted::First(k), ask))
    }

    /// Async variant of [`prepare_top_k`](DeviceSorter::prepare_top_k).
    ///
    /// # Errors
    /// The same as those of [`prepare_top_k`](DeviceSorter::prepare_top_k).
    pub async fn prepare_top_k_async<'a, K: MaskKey>(
        &self,
        keys: impl Into<Part<'a>>,
        indices: impl Into<Part<'a>>,
        k: u32,
        ask: Ask<'_>,
    ) -> Result<Prepared, Error> {
        self.prepare::<K>(Waiting::Elsewhere, keys.into(), Some(indices.into()), Wanted::First(k), ask).await
    }

    async fn prepare<K: MaskKey>(
        &self,
        waiting: Waiting,
        keys: Part<'_>,
        values: Option<Part<'_>>,
        wanted: Wanted,
        ask: Ask<'_>,
    ) -> Result<Prepared, Error> {
        let gpu = &self.gpu;
        let request = Request {
            // The checks need the size of an index before its place is known.
            wide_indices: ask.wide_indices.then(Place::default),
            ..Request::keys(bits::<K>(), Spec::of_masks::<K>(ask.options)?, ask.max.into())
        };
        let request = match wanted {
            Wanted::Sorted(payload) => Request { payload, ..request },
            Wanted::First(k) => request.select(Top { k, segmented: ask.segments.is_some() }),
        };
        request.check_writes_indices()?;
        let place = |part: Part<'_>, role| part.place(gpu, role);
        let of_rows;
        let segments: Option<(Part<'_>, Part<'_>, u32)> = match ask.segments {
            None => None,
            Some(Bounds::Given { begins, ends, max }) => Some((begins, ends, max)),
            Some(Bounds::Rows { rows, len, stride }) => {
                check_rows(rows, len, stride)?;
                // Fails if the device does not take so many rows, before it gets their bounds.
                let anywhere = Segmented { max: rows, begins: Place::default(), ends: Place::default() };
                SortPlan::new(Request { segments: Some(anywhere), ..request }, &gpu.facts)?;
                of_rows = gpu.watched(|| bounds_of_rows(gpu, rows, len, stride)).await?;
                let [begins, ends] = [0, rows].map(|row| Part { buffer: &of_rows, offset: 4 * u64::from(row) });
                Some((begins, ends, rows))
            }
        };
        check_apart(&request, keys, values, segments.map(|(begins, ends, _)| [begins, ends]), ask.count)?;
        let segmented =
            |(begins, ends, max)| Ok(Segmented { max, begins: place(begins, Role::Begins)?, ends: place(ends, Role::Ends)? });
        let request = Request {
            segments: segments.map(segmented).transpose()?,
            keys: place(keys, Role::Keys)?,
            algorithm: ask.algorithm,
            quick: ask.quick,
            ..request
        };
        let values_place = values.map_or(Ok(Place::default()), |values| place(values, Role::Values))?;
        let request = if ask.wide_indices {
            // Only `widen_indices` writes the caller's buffer of indices. It does not read the keys.
            request.with_wide_indices(values_place)
        } else {
            let aliased = request.top.is_some() && values.is_some_and(|values| values.buffer == keys.buffer);
            Request { values: values_place, aliased, ..request }
        };
        let callers = |role| match role {
            Role::Keys => Some(keys),
            role if role == request.value_buffer() => values,
            Role::Begins => segments.map(|(begins, ..)| begins),
            Role::Ends => segments.map(|(_, ends, _)| ends),
            _ => None,
        };
        if PortionPlan::is_needed(&request, &gpu.facts) {
            return self.prepare_portions(waiting, request, (keys, values), &ask).await;
        }
        self.prepare_on(waiting, request, ask.count, &callers).await
    }

    /// Returns the device.
    pub(crate) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Prepares `request` on the caller's buffers. `callers` returns the buffer in a role; `None` means scratch. `count` is
    /// the count buffer and the index of its word.
    pub(crate) fn prepare_on<'a>(
        &'a self,
        waiting: Waiting,
        request: Request,
        count: Option<(&'a Buffer, u32)>,
        callers: &'a (dyn Fn(Role) -> Option<Part<'a>> + Sync),
    ) -> BoxFuture<'a, Result<Prepared, Error>> {
        Box::pin(async move {
            let gpu = &self.gpu;
            // Checks the caller's buffers before it compiles a kernel.
            let plan = SortPlan::new(request, &gpu.facts)?;
            for role in needs(&plan).into_iter().map(|(role, _)| role) {
                if let Some(part) = callers(role) {
                    Bound::new(gpu, role, part, plan.touched_bytes(role))?;
                }
            }
            let (request, native) = self.way(waiting, request).await?;
            let plan = SortPlan::new(request, &gpu.facts)?;
            gpu.compile_all(waiting, kernels(&plan, native)).await?;
            let launches = gpu.watched(|| {
                let mut scratch = BTreeMap::new();
                for &(role, bytes) in &plan.scratch {
                    scratch.insert(role, gpu.buffer(&format!("polysort {role:?}"), bytes, STORAGE)?);
                }
                let counted = count.map(|(buffer, index)| (Part::from(buffer), index));
                Launches::new(gpu, plan, native, counted, &|role| callers(role).unwrap_or_else(|| Part::from(&scratch[&role])))
            });
            Ok(Prepared::new(gpu.clone(), AnyLaunches::Whole(Box::new(launches.await?))))
        })
    }

    /// Prepares a sort of more keys than one sort takes.
    fn prepare_portions<'a>(
        &'a self,
        waiting: Waiting,
        request: Request,
        (keys, values): (Part<'a>, Option<Part<'a>>),
        ask: &'a Ask<'a>,
    ) -> BoxFuture<'a, Result<Prepared, Error>> {
        Box::pin(async move {
            let gpu = &self.gpu;
            // Checks the caller's buffers before it compiles a kernel.
            let [key_bytes, value_bytes] = PortionPlan::new(request, [request.algorithm; 2], &gpu.facts)?.touched_bytes();
            Bound::check(gpu, Role::Keys, keys, key_bytes)?;
            values.map_or(Ok(()), |values| Bound::check(gpu, Role::Values, values, value_bytes))?;
            let sorts = PortionPlan::sorts(&request, &gpu.facts)?;
            let (mut algorithms, mut native) = ([None; 2], [false; 2]);
            for (i, (_, sort)) in [sorts.first(), sorts.last()].into_iter().flatten().enumerate() {
                let (tested, is_native) = self.way(waiting, *sort).await?;
                (algorithms[i], native[i]) = (tested.algorithm, is_native);
            }
            let plan = PortionPlan::new(request, algorithms, &gpu.facts)?;
            if let Some(merge) = plan.merges.first() {
                self.merge_way(waiting, &merge.plan).await?;
            }
            gpu.compile_all(waiting, portion_kernels(&plan, native)).await?;
            let launches = gpu.watched(|| {
                let mut scratch = BTreeMap::new();
                for &(role, bytes) in &plan.scratch {
                    scratch.insert(role, gpu.buffer(&format!("polysort {role:?}"), bytes, STORAGE)?);
                }
                let counted = ask.count.map(|(buffer, index)| (Part::from(buffer), index));
                let part = |role, byte| {
                    let array = match role {
                        Role::Keys => keys,
                        Role::Values => values.unwrap_or(keys),
                        role => Part::from(&scratch[&role]),
                    };
                    array.behind(byte)
                };
                PortionLaunches::new(gpu, plan, native, counted, &part)
            });
            Ok(Prepared::new(gpu.clone(), AnyLaunches::Portions(Box::new(launches.await?))))
        })
    }

    /// Tests the kernels of a merge, unless the sorter was created without tests.
    pub(crate) async fn merge_way(&self, waiting: Waiting, plan: &MergePlan) -> Result<(), Error> {
        let kind = plan.tiles.variant;
        match &self.engine {
            Some(engine) => return engine.tested_merge(waiting, plan.request).await,
            None if self.kinds.tested_merges.get(&kind).is_some() => {}
            None => self.kinds.untested_merges.set(kind, plan.request),
        }
        Ok(())
    }
}

impl core::fmt::Debug for DeviceSorter {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("DeviceSorter").field(&self.gpu.name()).finish()
    }
}

/// Fails if the kernels that have passed the self-test are not those of `used`, with which sorts are prepared.
fn is_the_way_used(backend: String, passed: Bindable, used: Way) -> Result<(), Error> {
    if passed == used.of(passed.0) {
        return Ok(());
    }
    let what = format!("{used:?} of keys of {} bits with payload {:?}", passed.0.key_bits, passed.0.payload);
    let why = "sorts of this kind that are prepared are wrong; prepare them again".into();
    Err(Error::SelfTest { backend, what, why })
}

/// Returns the begin and the end of a row. Numbers that saturate are those of keys that no sort takes.
fn row_bounds(row: u32, len: u32, stride: u32) -> [u32; 2] {
    let begin = row.saturating_mul(stride);
    [begin, begin.saturating_add(len)]
}

/// Fails if the rows of a matrix overlap.
fn check_rows(rows: u32, len: u32, stride: u32) -> Result<(), Error> {
    if rows < 2 {
        return Ok(());
    }
    let [begin, end] = row_bounds(1, len, stride).map(|key| key as usize);
    let [_, keys] = row_bounds(rows - 1, len, stride);
    Error::check_segment(1, begin..end, len as usize, keys as usize)
}

/// Returns a buffer with the begins of the rows of a matrix, and after them the ends.
fn bounds_of_rows(gpu: &Gpu, rows: u32, len: u32, stride: u32) -> Result<Buffer, Error> {
    let bounds = [0, 1].map(|side| (0..rows).map(move |row| row_bounds(row, len, stride)[side]));
    let bounds: Vec<u32> = bounds.into_iter().flatten().collect();
    gpu.buffer_of("polysort rows", bytemuck::cast_slice(&bounds), STORAGE)
}

/// Fails if keys and values overlap, or if segments or the count lie in a buffer that is sorted.
fn check_apart(
    request: &Request,
    keys: Part<'_>,
    values: Option<Part<'_>>,
    segments: Option<[Part<'_>; 2]>,
    count: Option<(&Buffer, u32)>,
) -> Result<(), Error> {
    let key_bytes = request.max * u64::from(request.key_bits) / 8;
    if values.is_some_and(|values| values.overlaps(request.value_bytes(), &keys, key_bytes)) {
        return Err(invalid("keys and values overlap; give them ranges of their own".into()));
    }
    let is_sorted = |buffer: &Buffer| buffer == keys.buffer || values.is_some_and(|values| values.buffer == buffer);
    if segments.is_some_and(|bounds| bounds.iter().any(|bound| is_sorted(bound.buffer))) {
        return Err(invalid("the segments lie in a buffer that is sorted; give them one of their own".into()));
    }
    if count.is_some_and(|(buffer, _)| is_sorted(buffer)) {
        return Err(invalid("the count lies in a buffer that is sorted; give it one of its own".into()));
    }
    Ok(())
}

pub(crate) fn bits<K: MaskKey>() -> u32 {
    8 * size_of::<K>() as u32
}

pub(crate) fn payload(value_bytes: usize) -> Result<Payload, Error> {
    match value_bytes {
        0 => Ok(Payload::None),
        4 | 8 | 12 | 16 => Ok(Payload::Words(value_bytes as u32 / 4)),
        _ => Err(Error::Unsupported {
            what: format!("values of {value_bytes} bytes; a value has 4, 8, 12 or 16. Move their indices instead"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polysort_core::Masks;
    use polysort_shaders::plan::Algorithm;

    #[test]
    fn a_sort_that_was_prepared_with_kernels_that_fail_is_reported() {
        let request = Request::keys(32, Spec::new::<u32>(Masks::UNSIGNED, 0, 32).unwrap(), 1000);
        let ways = [(None, true), (None, false), (Some(Algorithm::ReduceThenScan), false)];
        let ways = ways.map(|(algorithm, native)| Way { algorithm, native });
        for (used, passed) in ways.into_iter().flat_map(|used| ways.map(|passed| (used, passed))) {
            let verdict = is_the_way_used("a GPU".into(), passed.of(request), used);
            match verdict {
                Ok(()) => assert_eq!(used, passed),
                Err(Error::SelfTest { .. }) => assert_ne!(used, passed),
                Err(other) => panic!("{other}"),
            }
        }
    }
}
