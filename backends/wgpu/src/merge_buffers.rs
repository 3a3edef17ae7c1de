//! Merges of [`SortBuffer`]s into other buffers.

use crate::array::Array;
use crate::backend::WgpuBackend;
use crate::buffer::SortBuffer;
use crate::call::Call;
use crate::compile_all::merge_kernels;
use crate::engine::{Engine, PASS};
use crate::launch::Count;
use crate::merge_launches::MergeLaunches;
use crate::readers::Readers;
use crate::sorter::payload;
use crate::wait::{Waiting, blocking};
use crate::workspace::Staging;
use bytemuck::Pod;
use polysort_core::{BoxFuture, Error, MaskKey, Options, Spec};
use polysort_shaders::plan::{Buffer as Role, MergePlan, MergeRequest};
use std::sync::Arc;
use wgpu::CommandEncoder;

/// The arrays of a merge, by their roles, and the readers of all of them.
struct Merged<'a> {
    arrays: Vec<(Role, &'a Array)>,
    readers: Vec<&'a Readers>,
}

impl Engine {
    /// Merges buffers on the device. The largest numbers of keys of `request` are those of the runs. Returns when the commands
    /// are submitted.
    fn merge_resident<'a>(
        self: &'a Arc<Self>,
        waiting: Waiting,
        request: MergeRequest,
        merged: Merged<'a>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            self.tested_merge(waiting, request).await?;
            let gpu = self.gpu().clone();
            let plan = MergePlan::new(request, &gpu.facts)?;
            gpu.shared.compile_all(waiting, merge_kernels(&plan)).await?;
            let counts = [request.first, request.second].map(|run| Count::Fixed(run.max as u32));
            let mut call = Call::begin(self, waiting, None, &plan.scratch, Staging::default()).await?;
            let bind = || {
                let workspace = call.workspace_mut();
                plan.scratch.iter().try_for_each(|&(role, bytes)| workspace.grow(&gpu, role, bytes))?;
                let given = |role| merged.arrays.iter().find(|(of, _)| *of == role).map(|&(_, array)| array);
                let part = |role, byte| given(role).unwrap_or_else(|| workspace.array(role)).part(byte);
                MergeLaunches::new(&gpu, plan.clone(), [None; 2], &part)
            };
            let launches = self.allocating(waiting, bind).await?;
            let record = |encoder: &mut CommandEncoder| launches.record(&mut encoder.begin_compute_pass(&PASS), counts);
            call.run_unless_read(&merged.readers, record, &[], &mut []).await
        })
    }
}

impl WgpuBackend {
    /// Merges two sorted runs on the device into `merged`, stably: of equal keys, those of the first run come first. It
    /// replaces all elements of `merged`, and leaves the runs as they are. Returns when the commands are submitted.
    ///
    /// Both runs are sorted by `options`. If a run is not, `merged` gets keys of the runs in an unspecified order, possibly
    /// some of them twice. The merge reads each key once from the device's memory and writes it once, and takes scratch of 4
    /// bytes for every few thousand keys (merge path: Green, McColl and Bader, "GPU Merge Path", 2012).
    ///
    /// ```no_run
    /// use polysort_core::{Backend, Options};
    /// use polysort_wgpu::{SortBuffer, WgpuBackend};
    ///
    /// let gpu = WgpuBackend::global()?;
    /// let runs = [SortBuffer::from_slice(&gpu, &[-1.0_f32, 4.0])?, SortBuffer::from_slice(&gpu, &[0.5, 2.0, 8.0])?];
    /// let mut merged = SortBuffer::with_capacity(&gpu, 5)?;
    /// gpu.merge_buffers_into([&runs[0], &runs[1]], &mut merged, Options::ascending())?;
    /// assert_eq!(*merged.read()?, [-1.0, 0.5, 2.0, 4.0, 8.0]);
    /// # Ok::<(), polysort_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::TooLong`] if the capacity of `merged` is less than the number of keys of both runs, or for more than
    ///   2³² keys.
    /// - [`Error::InvalidBuffer`] if a buffer lies on another device, or is being read.
    /// - [`Error::InvalidRange`] if the key does not have the requested range of bits.
    /// - [`Error::SelfTest`] if the device merges wrongly, or another failure of the device.
    pub fn merge_buffers_into<K: MaskKey>(
        &self,
        runs: [&SortBuffer<K>; 2],
        merged: &mut SortBuffer<K>,
        options: Options,
    ) -> Result<(), Error> {
        blocking(self.merge_into(Waiting::Here, runs, merged, options))
    }

    /// Async variant of [`merge_buffers_into`](WgpuBackend::merge_buffers_into).
    ///
    /// # Errors
    /// The same as those of [`merge_buffers_into`](WgpuBackend::merge_buffers_into).
    pub async fn merge_buffers_into_async<K: MaskKey>(
        &self,
        runs: [&SortBuffer<K>; 2],
        merged: &mut SortBuffer<K>,
        options: Options,
    ) -> Result<(), Error> {
        self.merge_into(Waiting::Elsewhere, runs, merged, options).await
    }

    /// Merges two sorted runs, each of keys and as many values, into `merged.0` and `merged.1`, as
    /// [`merge_buffers_into`](WgpuBackend::merge_buffers_into) does, and moves each value with its key. A value has 4, 8, 12 or
    /// 16 bytes.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if a run has not as many values as keys, [`Error::Unsupported`] for values of another size,
    /// and the errors of [`merge_buffers_into`](WgpuBackend::merge_buffers_into).
    pub fn merge_pairs_buffers_into<K: MaskKey, V: Pod>(
        &self,
        runs: [(&SortBuffer<K>, &SortBuffer<V>); 2],
        merged: (&mut SortBuffer<K>, &mut SortBuffer<V>),
        options: Options,
    ) -> Result<(), Error> {
        blocking(self.merge_pairs_into(Waiting::Here, runs, merged, options))
    }

    /// Async variant of [`merge_pairs_buffers_into`](WgpuBackend::merge_pairs_buffers_into).
    ///
    /// # Errors
    /// The same as those of [`merge_pairs_buffers_into`](WgpuBackend::merge_pairs_buffers_into).
    pub async fn merge_pairs_buffers_into_async<K: MaskKey, V: Pod>(
        &self,
        runs: [(&SortBuffer<K>, &SortBuffer<V>); 2],
        merged: (&mut SortBuffer<K>, &mut SortBuffer<V>),
        options: Options,
    ) -> Result<(), Error> {
        self.merge_pairs_into(Waiting::Elsewhere, runs, merged, options).await
    }

    async fn merge_into<K: MaskKey>(
        &self,
        waiting: Waiting,
        runs: [&SortBuffer<K>; 2],
        merged: &mut SortBuffer<K>,
        options: Options,
    ) -> Result<(), Error> {
        let spec = Spec::of_masks::<K>(options)?;
        let [first, second] = runs;
        [first, second, merged].into_iter().try_for_each(|buffer| self.check_own(buffer))?;
        let total = total(runs.map(SortBuffer::len))?;
        merged.check_room(total)?;
        if total > 0 {
            let keys = [(Role::FirstKeys, first), (Role::SecondKeys, second), (Role::MergedKeys, merged)];
            let readers = keys.iter().map(|(_, buffer)| &*buffer.readers).collect();
            let page = keys.iter().filter_map(|(_, buffer)| buffer.page()).min();
            let arrays = keys.map(|(role, buffer)| (role, &buffer.array)).into();
            let request = MergeRequest::keys(8 * size_of::<K>() as u32, spec, runs.map(|run| run.len() as u64));
            let request = MergeRequest { page, ..request };
            self.engine().merge_resident(waiting, request, Merged { arrays, readers }).await?;
        }
        merged.set_len(total)
    }

    async fn merge_pairs_into<K: MaskKey, V: Pod>(
        &self,
        waiting: Waiting,
        runs: [(&SortBuffer<K>, &SortBuffer<V>); 2],
        (merged_keys, merged_values): (&mut SortBuffer<K>, &mut SortBuffer<V>),
        options: Options,
    ) -> Result<(), Error> {
        let spec = Spec::of_masks::<K>(options)?;
        let (keys, values) = (runs.map(|(keys, _)| keys), runs.map(|(_, values)| values));
        for (keys, values) in runs {
            Error::check_lengths("keys", keys.len(), "values", values.len())?;
        }
        keys.into_iter().chain([&*merged_keys]).try_for_each(|buffer| self.check_own(buffer))?;
        values.into_iter().chain([&*merged_values]).try_for_each(|buffer| self.check_own(buffer))?;
        let payload = payload(size_of::<V>())?;
        let total = total(keys.map(SortBuffer::len))?;
        merged_keys.check_room(total)?;
        merged_values.check_room(total)?;
        if total > 0 {
            let keys_by_role = [(Role::FirstKeys, keys[0]), (Role::SecondKeys, keys[1]), (Role::MergedKeys, &*merged_keys)];
            let values_by_role =
                [(Role::FirstValues, values[0]), (Role::SecondValues, values[1]), (Role::MergedValues, &*merged_values)];
            let mut readers: Vec<&Readers> = keys_by_role.iter().map(|(_, buffer)| &*buffer.readers).collect();
            readers.extend(values_by_role.iter().map(|(_, buffer)| &*buffer.readers));
            let pages = keys_by_role.iter().map(|(_, buffer)| buffer.page());
            let page = pages.chain(values_by_role.iter().map(|(_, buffer)| buffer.page())).flatten().min();
            let mut arrays: Vec<(Role, &Array)> = keys_by_role.map(|(role, buffer)| (role, &buffer.array)).into();
            arrays.extend(values_by_role.map(|(role, buffer)| (role, &buffer.array)));
            let request = MergeRequest::keys(8 * size_of::<K>() as u32, spec, keys.map(|run| run.len() as u64));
            let request = MergeRequest { payload, page, ..request };
            self.engine().merge_resident(waiting, request, Merged { arrays, readers }).await?;
        }
        merged_keys.set_len(total)?;
        merged_values.set_len(total)
    }
}

/// Returns the number of keys of both runs.
fn total([first, second]: [usize; 2]) -> Result<usize, Error> {
    let too_long = || Error::TooLong { what: "a merge".into(), asked: u64::MAX, limit: usize::MAX as u64 };
    first.checked_add(second).ok_or_else(too_long)
}
