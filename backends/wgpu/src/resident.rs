//! Sorts of [`SortBuffer`]s: in place, or into other buffers.

use crate::array::Array;
use crate::backend::WgpuBackend;
use crate::bind::{Part, invalid};
use crate::buffer::SortBuffer;
use crate::call::Call;
use crate::compile_all::kernels;
use crate::engine::{Engine, PASS};
use crate::gpu::Gpu;
use crate::launch::{Count, Launches};
use crate::portion_launches::{PortionLaunches, portion_kernels};
use crate::prepared::AnyLaunches;
use crate::profile::Profiled;
use crate::queued::Queued;
use crate::readers::{Readers, unless_read};
use crate::sorter::payload;
use crate::wait::{Waiting, blocking};
use crate::workspace::{Staging, Workspace};
use bytemuck::Pod;
use polysort_core::{BoxFuture, Error, MaskKey, Options, Spec};
use polysort_shaders::plan::{Buffer as Role, MAX_MERGED, Payload, PortionPlan, Request, SortPlan};
use std::sync::Arc;
use wgpu::CommandEncoder;

/// The buffers of a sort on the device.
pub(crate) struct Resident<'a> {
    pub(crate) keys: &'a Array,
    /// The values, or the array that receives the indices.
    pub(crate) values: Option<&'a Array>,
    /// The elements of the shortest page of keys and values.
    pub(crate) page: Option<u64>,
    /// The copies before the sort: source, target, and number of bytes.
    pub(crate) copies: Vec<(&'a Array, &'a Array, u64)>,
    /// The readers of all of these arrays.
    pub(crate) readers: Vec<&'a Readers>,
}

impl<'a> Resident<'a> {
    fn new<K: Pod>(keys: &'a SortBuffer<K>) -> Self {
        Self { keys: &keys.array, values: None, page: keys.page(), copies: vec![], readers: vec![&keys.readers] }
    }

    fn with_values<V: Pod>(mut self, values: &'a SortBuffer<V>) -> Self {
        self.readers.push(&values.readers);
        let page = self.page.into_iter().chain(values.page()).min();
        Self { values: Some(&values.array), page, ..self }
    }

    /// Adds a copy of all elements of `from` to `to`.
    fn copying<T: Pod>(mut self, from: &'a SortBuffer<T>, to: &'a SortBuffer<T>) -> Self {
        self.readers.push(&from.readers);
        let bytes = (from.len() * size_of::<T>()) as u64;
        self.copies.push((&from.array, &to.array, bytes));
        self
    }
}

impl Engine {
    /// Sorts buffers on the device. `request.max` is the number of keys. Returns when the commands are submitted.
    fn sort_resident<'a>(
        self: &'a Arc<Self>,
        waiting: Waiting,
        request: Request,
        resident: Resident<'a>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let count = Count::all(request.max);
            let gpu = self.gpu().clone();
            let plan = self.plan_resident(waiting, request).await?;
            plan.compile(&gpu, waiting).await?;
            let mut call = Call::begin(self, waiting, None, plan.scratch(), Staging::default()).await?;
            let bind = || {
                let workspace = call.workspace_mut();
                plan.grow(&gpu, workspace, plan.scratch())?;
                let part = |role, byte| {
                    let array = match role {
                        Role::Keys => resident.keys,
                        Role::Values => resident.values.unwrap_or(resident.keys),
                        role => workspace.array(role),
                    };
                    array.part(byte)
                };
                plan.launches(&gpu, &part)
            };
            let launches = self.allocating(waiting, bind).await?;
            let record = |encoder: &mut CommandEncoder| {
                resident.copies.iter().for_each(|&(from, to, bytes)| from.copy_to(encoder, to, bytes));
                (&launches, count).record_whole(&mut encoder.begin_compute_pass(&PASS))
            };
            call.run_unless_read(&resident.readers, record, &[], &mut []).await
        })
    }

    /// Plans a sort, with algorithms and kernels that have passed their self-test.
    pub(crate) fn plan_resident<'a>(
        self: &'a Arc<Self>,
        waiting: Waiting,
        request: Request,
    ) -> BoxFuture<'a, Result<Plan, Error>> {
        Box::pin(async move {
            let facts = &self.gpu().facts;
            if !PortionPlan::is_needed(&request, facts) {
                let (request, native) = self.tested(waiting, request).await?;
                return Ok(Plan::Whole(Box::new(SortPlan::new(request, facts)?), native));
            }
            let sorts = PortionPlan::sorts(&request, facts)?;
            let (mut algorithms, mut native) = ([None; 2], [false; 2]);
            // The settings of the engine, which tests change, are the same for all portions.
            let mut with_settings = request;
            for (i, (_, sort)) in [sorts.first(), sorts.last()].into_iter().flatten().enumerate() {
                let (tested, is_native) = self.tested(waiting, *sort).await?;
                (algorithms[i], native[i]) = (tested.algorithm, is_native);
                with_settings = Request { max: request.max, skip: request.skip, algorithm: request.algorithm, ..tested };
            }
            let plan = PortionPlan::new(with_settings, algorithms, facts)?;
            if let Some(merge) = plan.merges.first() {
                self.tested_merge(waiting, merge.plan.request).await?;
            }
            Ok(Plan::Portions(Box::new(plan), native))
        })
    }
}

/// The plan of a resident sort, and whether native kernels run it: for portions, the first sort and the last one.
pub(crate) enum Plan {
    Whole(Box<SortPlan>, bool),
    Portions(Box<PortionPlan>, [bool; 2]),
}

impl Plan {
    /// The number of keys.
    pub(crate) fn keys(&self) -> u64 {
        match self {
            Self::Whole(plan, _) => plan.request.max,
            Self::Portions(plan, _) => plan.request.max,
        }
    }

    /// The scratch buffers, and their bytes.
    pub(crate) fn scratch(&self) -> &[(Role, u64)] {
        match self {
            Self::Whole(plan, _) => &plan.scratch,
            Self::Portions(plan, _) => &plan.scratch,
        }
    }

    /// Compiles the kernels of the plan.
    pub(crate) async fn compile(&self, gpu: &Queued, waiting: Waiting) -> Result<(), Error> {
        match self {
            Self::Whole(plan, native) => gpu.shared.compile_all(waiting, kernels(plan, *native)).await,
            Self::Portions(plan, native) => gpu.shared.compile_all(waiting, portion_kernels(plan, *native)).await,
        }
    }

    /// Provides arrays of a workspace: roles, and the bytes of each.
    pub(crate) fn grow(&self, gpu: &Gpu, workspace: &mut Workspace, arrays: &[(Role, u64)]) -> Result<(), Error> {
        let page_bytes = |role| match self {
            Self::Whole(..) => None,
            Self::Portions(plan, _) => plan.page_bytes(role),
        };
        arrays.iter().try_for_each(|&(role, bytes)| workspace.grow_array(gpu, role, bytes, page_bytes(role)))
    }

    /// Creates the bind groups of the plan. `part` returns the keys, the values and the scratch, from a byte of
    /// the array on.
    pub(crate) fn launches<'a>(&self, gpu: &'a Gpu, part: &dyn Fn(Role, u64) -> Part<'a>) -> Result<AnyLaunches, Error> {
        Ok(match self {
            Self::Whole(plan, native) => {
                AnyLaunches::Whole(Box::new(Launches::new(gpu, (**plan).clone(), *native, None, &|role| part(role, 0))?))
            }
            Self::Portions(plan, native) => {
                AnyLaunches::Portions(Box::new(PortionLaunches::new(gpu, (**plan).clone(), *native, None, part)?))
            }
        })
    }
}

impl WgpuBackend {
    /// Sorts keys on the device, in place. Returns when the commands are submitted.
    ///
    /// The sort takes scratch of about the size of the keys; for keys of 8 and 16 bits, up to 8 bytes for each key. Keys that do
    /// not fit a binding of the device, or 2³⁰ or more of them, are sorted in portions, which are then merged. A key of 8 or 16
    /// bits counts as 4 bytes here. Each round of merges reads and writes all keys, and halves the number of sorted runs. After an
    /// odd number of rounds, the device copies all keys back.
    ///
    /// # Errors
    /// - [`Error::InvalidBuffer`] if a buffer lies on another device, or is being read.
    /// - [`Error::InvalidRange`] if the key does not have the requested range of bits.
    /// - A failure of the device.
    pub fn sort_buffer<K: MaskKey>(&self, keys: &mut SortBuffer<K>, options: Options) -> Result<(), Error> {
        blocking(self.sort_in_place(Waiting::Here, keys, options))
    }

    /// Async variant of [`sort_buffer`](WgpuBackend::sort_buffer).
    ///
    /// # Errors
    /// The same as those of [`sort_buffer`](WgpuBackend::sort_buffer).
    pub async fn sort_buffer_async<K: MaskKey>(&self, keys: &mut SortBuffer<K>, options: Options) -> Result<(), Error> {
        self.sort_in_place(Waiting::Elsewhere, keys, options).await
    }

    /// Writes the sorted keys to `sorted`, and leaves `keys` as they are. It replaces all elements of `sorted`. It takes
    /// the time of a copy on the device and a sort in place.
    ///
    /// # Errors
    /// [`Error::TooLong`] if the capacity of `sorted` is less than the number of keys, and the errors of
    /// [`sort_buffer`](WgpuBackend::sort_buffer).
    pub fn sort_buffer_into<K: MaskKey>(
        &self,
        keys: &SortBuffer<K>,
        sorted: &mut SortBuffer<K>,
        options: Options,
    ) -> Result<(), Error> {
        blocking(self.sort_into(Waiting::Here, keys, sorted, options))
    }

    /// Async variant of [`sort_buffer_into`](WgpuBackend::sort_buffer_into).
    ///
    /// # Errors
    /// The same as those of [`sort_buffer_into`](WgpuBackend::sort_buffer_into).
    pub async fn sort_buffer_into_async<K: MaskKey>(
        &self,
        keys: &SortBuffer<K>,
        sorted: &mut SortBuffer<K>,
        options: Options,
    ) -> Result<(), Error> {
        self.sort_into(Waiting::Elsewhere, keys, sorted, options).await
    }

    /// Sorts keys on the device, in place and stably, and moves each value with its key. A value has 4, 8, 12 or 16 bytes.
    ///
    /// # Errors
    /// - [`Error::LengthMismatch`] if the number of keys is not that of values.
    /// - [`Error::Unsupported`] if values have another size.
    /// - The errors of [`sort_buffer`](WgpuBackend::sort_buffer).
    pub fn sort_pairs_buffer<K: MaskKey, V: Pod>(
        &self,
        keys: &mut SortBuffer<K>,
        values: &mut SortBuffer<V>,
        options: Options,
    ) -> Result<(), Error> {
        blocking(self.sort_pairs_in_place(Waiting::Here, keys, values, options))
    }

    /// Async variant of [`sort_pairs_buffer`](WgpuBackend::sort_pairs_buffer).
    ///
    /// # Errors
    /// The same as those of [`sort_pairs_buffer`](WgpuBackend::sort_pairs_buffer).
    pub async fn sort_pairs_buffer_async<K: MaskKey, V: Pod>(
        &self,
        keys: &mut SortBuffer<K>,
        values: &mut SortBuffer<V>,
        options: Options,
    ) -> Result<(), Error> {
        self.sort_pairs_in_place(Waiting::Elsewhere, keys, values, options).await
    }

    /// Writes the sorted keys to `sorted.0`, and the value of each key to `sorted.1`. It replaces all elements of both.
    /// `keys` and `values` stay as they are.
    ///
    /// # Errors
    /// [`Error::TooLong`] if the capacity of a buffer of `sorted` is less than the number of keys, and the errors of
    /// [`sort_pairs_buffer`](WgpuBackend::sort_pairs_buffer).
    pub fn sort_pairs_buffer_into<K: MaskKey, V: Pod>(
        &self,
        keys: &SortBuffer<K>,
        values: &SortBuffer<V>,
        sorted: (&mut SortBuffer<K>, &mut SortBuffer<V>),
        options: Options,
    ) -> Result<(), Error> {
        blocking(self.sort_pairs_into(Waiting::Here, keys, values, sorted, options))
    }

    /// Async variant of [`sort_pairs_buffer_into`](WgpuBackend::sort_pairs_buffer_into).
    ///
    /// # Errors
    /// The same as those of [`sort_pairs_buffer_into`](WgpuBackend::sort_pairs_buffer_into).
    pub async fn sort_pairs_buffer_into_async<K: MaskKey, V: Pod>(
        &self,
        keys: &SortBuffer<K>,
        values: &SortBuffer<V>,
        sorted: (&mut SortBuffer<K>, &mut SortBuffer<V>),
        options: Options,
    ) -> Result<(), Error> {
        self.sort_pairs_into(Waiting::Elsewhere, keys, values, sorted, options).await
    }

    /// Writes the stable sorting permutation of `keys` to `indices`, and replaces all elements there. The keys stay as they
    /// are.
    ///
    /// # Errors
    /// [`Error::TooLong`] if the capacity of `indices` is less than the number of keys, [`Error::Unsupported`] if the keys or the indices lie
    /// in several wgpu buffers, and the errors of [`sort_buffer`](WgpuBackend::sort_buffer).
    pub fn argsort_buffer<K: MaskKey>(
        &self,
        keys: &SortBuffer<K>,
        indices: &mut SortBuffer<u32>,
        options: Options,
    ) -> Result<(), Error> {
        blocking(self.argsort_resident(Waiting::Here, keys, indices, options))
    }

    /// Async variant of [`argsort_buffer`](WgpuBackend::argsort_buffer).
    ///
    /// # Errors
    /// The same as those of [`argsort_buffer`](WgpuBackend::argsort_buffer).
    pub async fn argsort_buffer_async<K: MaskKey>(
        &self,
        keys: &SortBuffer<K>,
        indices: &mut SortBuffer<u32>,
        options: Options,
    ) -> Result<(), Error> {
        self.argsort_resident(Waiting::Elsewhere, keys, indices, options).await
    }

    async fn sort_in_place<K: MaskKey>(&self, waiting: Waiting, keys: &mut SortBuffer<K>, options: Options) -> Result<(), Error> {
        self.check_own(keys)?;
        self.sort_resident::<K>(waiting, Resident::new(keys), keys.len(), Payload::None, options).await
    }

    async fn sort_into<K: MaskKey>(
        &self,
        waiting: Waiting,
        keys: &SortBuffer<K>,
        sorted: &mut SortBuffer<K>,
        options: Options,
    ) -> Result<(), Error> {
        self.check_own(keys)?;
        self.check_own(sorted)?;
        sorted.check_room(keys.len())?;
        let resident = Resident::new(sorted).copying(keys, sorted);
        self.sort_resident::<K>(waiting, resident, keys.len(), Payload::None, options).await?;
        sorted.set_len(keys.len())
    }

    async fn sort_pairs_in_place<K: MaskKey, V: Pod>(
        &self,
        waiting: Waiting,
        keys: &mut SortBuffer<K>,
        values: &mut SortBuffer<V>,
        options: Options,
    ) -> Result<(), Error> {
        Error::check_lengths("keys", keys.len(), "values", values.len())?;
        self.check_own(keys)?;
        self.check_own(values)?;
        let resident = Resident::new(keys).with_values(values);
        self.sort_resident::<K>(waiting, resident, keys.len(), payload(size_of::<V>())?, options).await
    }

    async fn sort_pairs_into<K: MaskKey, V: Pod>(
        &self,
        waiting: Waiting,
        keys: &SortBuffer<K>,
        values: &SortBuffer<V>,
        (sorted_keys, sorted_values): (&mut SortBuffer<K>, &mut SortBuffer<V>),
        options: Options,
    ) -> Result<(), Error> {
        Error::check_lengths("keys", keys.len(), "values", values.len())?;
        self.check_own(keys)?;
        self.check_own(values)?;
        self.check_own(sorted_keys)?;
        self.check_own(sorted_values)?;
        sorted_keys.check_room(keys.len())?;
        sorted_values.check_room(keys.len())?;
        let resident = Resident::new(sorted_keys).with_values(sorted_values);
        let resident = resident.copying(keys, sorted_keys).copying(values, sorted_values);
        self.sort_resident::<K>(waiting, resident, keys.len(), payload(size_of::<V>())?, options).await?;
        sorted_keys.set_len(keys.len())?;
        sorted_values.set_len(keys.len())
    }

    async fn argsort_resident<K: MaskKey>(
        &self,
        waiting: Waiting,
        keys: &SortBuffer<K>,
        indices: &mut SortBuffer<u32>,
        options: Options,
    ) -> Result<(), Error> {
        self.check_own(keys)?;
        self.check_own(indices)?;
        indices.check_room(keys.len())?;
        let resident = Resident::new(keys).with_values(indices);
        self.sort_resident::<K>(waiting, resident, keys.len(), Payload::Indices, options).await?;
        indices.set_len(keys.len())
    }

    async fn sort_resident<K: MaskKey>(
        &self,
        waiting: Waiting,
        resident: Resident<'_>,
        len: usize,
        payload: Payload,
        options: Options,
    ) -> Result<(), Error> {
        // Keys and pairs that do not fit one sort are sorted in portions.
        let limits = self.gpu().facts.limits(payload.words());
        if payload == Payload::Indices || len as u64 > MAX_MERGED {
            limits.check("the GPU", len, size_of::<K>())?;
        }
        if payload == Payload::Indices && resident.page.is_some_and(|page| len as u64 > page) {
            return Err(Error::Unsupported { what: "an argsort of keys or indices that lie in several buffers".into() });
        }
        let page = resident.page;
        let request =
            Request { payload, page, ..Request::keys(8 * size_of::<K>() as u32, Spec::of_masks::<K>(options)?, len as u64) };
        self.engine().sort_resident(waiting, request, resident).await
    }

    /// Fails if a buffer lies on another device, or is being read.
    pub(crate) fn check_own<T: Pod>(&self, buffer: &SortBuffer<T>) -> Result<(), Error> {
        if !self.is_same(&buffer.backend) {
            return Err(invalid("it lies on another device; make it with a clone of this backend".into()));
        }
        unless_read(&[&buffer.readers], || ())
    }
}
