//! Merges that a [`DeviceSorter`] prepares.

use crate::bind::{Bound, Part, invalid};
use crate::compile_all::merge_kernels;
use crate::gpu::STORAGE;
use crate::merge_ask::MergeAsk;
use crate::merge_launches::MergeLaunches;
use crate::prepared_merge::PreparedMerge;
use crate::sorter::{DeviceSorter, bits, payload};
use crate::wait::{Waiting, blocking};
use bytemuck::Pod;
use polysort_core::{Error, MaskKey, Spec};
use polysort_shaders::plan::{Buffer as Role, MergePlan, MergeRequest, Payload, Place, SortedRun};
use std::collections::BTreeMap;

/// The caller's buffers, by their roles.
type Parts<'a> = BTreeMap<Role, Part<'a>>;

impl DeviceSorter {
    /// Prepares to merge two sorted runs of keys into `merged`, stably: of equal keys, those of the first run come first. The
    /// runs stay as they are.
    ///
    /// Both runs must already be sorted by the options of `ask`. If a run is not, `merged` gets keys of the runs in an unspecified order,
    /// possibly some of them twice. The runs may lie in one buffer, but not in the buffer of `merged`. A merge has two launches.
    /// If a run is longer than a binding, the merge has two launches for each combination of parts of the runs that fit bindings.
    ///
    /// The first call for a kind of merge on a device compiles its kernels, tests them with known keys, and waits for the
    /// device. After [`Setup::untested`](crate::Setup::untested), calls do not test: your program tests later.
    ///
    /// ```no_run
    /// # use wgpu::{Buffer, Device, Queue};
    /// # fn frame(device: &Device, queue: &Queue, old: &Buffer, new: &Buffer, all: &Buffer) -> Result<(), polysort_core::Error> {
    /// use polysort_wgpu::{Count, DeviceSorter, MergeAsk};
    ///
    /// let sorter = DeviceSorter::new(device, queue)?;
    /// let merge = sorter.prepare_merge::<f32>([old, new], all, MergeAsk::up_to(1_000_000, 10_000))?;
    ///
    /// let mut encoder = device.create_command_encoder(&Default::default());
    /// merge.record_in(&mut encoder, [Count::Fixed(900_000), Count::Fixed(5_000)])?;
    /// queue.submit([encoder.finish()]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`Error::InvalidBuffer`] if a buffer is too small, lacks a usage, or does not start at a multiple of 4 bytes, or if
    ///   the merge would write a buffer that it also reads.
    /// - [`Error::TooLong`] for more than 2³² keys.
    /// - [`Error::InvalidRange`] if the key does not have the requested range of bits.
    /// - [`Error::OutOfMemory`], or another failure of the device.
    /// - [`Error::SelfTest`] if the device merges wrongly.
    pub fn prepare_merge<'a, K: MaskKey>(
        &self,
        runs: [impl Into<Part<'a>>; 2],
        merged: impl Into<Part<'a>>,
        ask: MergeAsk<'_>,
    ) -> Result<PreparedMerge, Error> {
        blocking(self.merge::<K>(Waiting::Here, keys(runs, merged), Payload::None, ask))
    }

    /// Async variant of [`prepare_merge`](DeviceSorter::prepare_merge).
    ///
    /// # Errors
    /// The same as those of [`prepare_merge`](DeviceSorter::prepare_merge).
    pub async fn prepare_merge_async<'a, K: MaskKey>(
        &self,
        runs: [impl Into<Part<'a>>; 2],
        merged: impl Into<Part<'a>>,
        ask: MergeAsk<'_>,
    ) -> Result<PreparedMerge, Error> {
        self.merge::<K>(Waiting::Elsewhere, keys(runs, merged), Payload::None, ask).await
    }

    /// Prepares to merge two sorted runs, each of keys and as many values, as [`prepare_merge`](DeviceSorter::prepare_merge)
    /// does, and to move each value with its key. A value has 4, 8, 12 or 16 bytes.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for values of another size, and the errors of [`prepare_merge`](DeviceSorter::prepare_merge).
    pub fn prepare_merge_pairs<'a, K: MaskKey, V: Pod>(
        &self,
        runs: [(impl Into<Part<'a>>, impl Into<Part<'a>>); 2],
        merged_keys: impl Into<Part<'a>>,
        merged_values: impl Into<Part<'a>>,
        ask: MergeAsk<'_>,
    ) -> Result<PreparedMerge, Error> {
        let parts = pairs(runs, merged_keys, merged_values);
        blocking(self.merge::<K>(Waiting::Here, parts, payload(size_of::<V>())?, ask))
    }

    /// Async variant of [`prepare_merge_pairs`](DeviceSorter::prepare_merge_pairs).
    ///
    /// # Errors
    /// The same as those of [`prepare_merge_pairs`](DeviceSorter::prepare_merge_pairs).
    pub async fn prepare_merge_pairs_async<'a, K: MaskKey, V: Pod>(
        &self,
        runs: [(impl Into<Part<'a>>, impl Into<Part<'a>>); 2],
        merged_keys: impl Into<Part<'a>>,
        merged_values: impl Into<Part<'a>>,
        ask: MergeAsk<'_>,
    ) -> Result<PreparedMerge, Error> {
        let parts = pairs(runs, merged_keys, merged_values);
        self.merge::<K>(Waiting::Elsewhere, parts, payload(size_of::<V>())?, ask).await
    }

    async fn merge<K: MaskKey>(
        &self,
        waiting: Waiting,
        parts: Parts<'_>,
        payload: Payload,
        ask: MergeAsk<'_>,
    ) -> Result<PreparedMerge, Error> {
        let gpu = &self.gpu;
        let place = |role| parts.get(&role).map_or(Ok(Place::default()), |part| part.place(gpu, role));
        let run = |max: u32, keys, values| {
            Ok::<_, Error>(SortedRun { max: max.into(), skip: 0, keys: place(keys)?, values: place(values)? })
        };
        let request = MergeRequest {
            payload,
            first: run(ask.max[0], Role::FirstKeys, Role::FirstValues)?,
            second: run(ask.max[1], Role::SecondKeys, Role::SecondValues)?,
            keys: place(Role::MergedKeys)?,
            values: place(Role::MergedValues)?,
            keys_per_thread: ask.keys_per_thread,
            ..MergeRequest::keys(bits::<K>(), Spec::of_masks::<K>(ask.options)?, [0; 2])
        };
        // Checks the caller's buffers before it compiles a kernel.
        let plan = MergePlan::new(request, &gpu.facts)?;
        let touched = |role| plan.touched(&plan.whole(), role).unwrap_or_default().1;
        parts.iter().try_for_each(|(&role, &part)| Bound::check(gpu, role, part, touched(role)))?;
        let before = |role| if role == Role::MergedKeys { request.keys.first } else { request.values.first };
        check_apart(&parts, &ask, |role| touched(role) - 4 * u64::from(before(role)))?;
        self.merge_way(waiting, &plan).await?;
        gpu.compile_all(waiting, merge_kernels(&plan)).await?;
        let launches = gpu.watched(|| {
            let mut scratch = BTreeMap::new();
            for &(role, bytes) in &plan.scratch {
                scratch.insert(role, gpu.buffer(&format!("polysort {role:?}"), bytes, STORAGE)?);
            }
            let counted = ask.counts.map(|count| count.map(|(buffer, index)| (Part::from(buffer), index)));
            let part = |role, byte| parts.get(&role).copied().unwrap_or_else(|| Part::from(&scratch[&role])).behind(byte);
            MergeLaunches::new(gpu, plan, counted, &part)
        });
        Ok(PreparedMerge::new(gpu.clone(), launches.await?))
    }
}

fn keys<'a>(runs: [impl Into<Part<'a>>; 2], merged: impl Into<Part<'a>>) -> Parts<'a> {
    let [first, second] = runs;
    BTreeMap::from([(Role::FirstKeys, first.into()), (Role::SecondKeys, second.into()), (Role::MergedKeys, merged.into())])
}

fn pairs<'a>(
    runs: [(impl Into<Part<'a>>, impl Into<Part<'a>>); 2],
    merged_keys: impl Into<Part<'a>>,
    merged_values: impl Into<Part<'a>>,
) -> Parts<'a> {
    let [(first_keys, first_values), (second_keys, second_values)] = runs;
    let mut parts = keys([first_keys, second_keys], merged_keys);
    parts.extend([
        (Role::FirstValues, first_values.into()),
        (Role::SecondValues, second_values.into()),
        (Role::MergedValues, merged_values.into()),
    ]);
    parts
}

/// Fails if merged keys and values overlap, or if a run or a count lies in a buffer that the merge writes. `bytes` returns the
/// bytes that the merge writes from the start of a part on.
fn check_apart(parts: &Parts<'_>, ask: &MergeAsk<'_>, bytes: impl Fn(Role) -> u64) -> Result<(), Error> {
    let written: Vec<Part<'_>> =
        [Role::MergedKeys, Role::MergedValues].into_iter().filter_map(|role| parts.get(&role).copied()).collect();
    if let &[keys, values] = &*written
        && values.overlaps(bytes(Role::MergedValues), &keys, bytes(Role::MergedKeys))
    {
        return Err(invalid("merged keys and values overlap; give them ranges of their own".into()));
    }
    let runs = [Role::FirstKeys, Role::SecondKeys, Role::FirstValues, Role::SecondValues];
    let is_written = |buffer| written.iter().any(|part| part.buffer == buffer);
    if runs.iter().filter_map(|role| parts.get(role)).any(|part| is_written(part.buffer)) {
        return Err(invalid("a run lies in a buffer that the merge writes; give it one of its own".into()));
    }
    if ask.counts.iter().flatten().any(|(buffer, _)| is_written(*buffer)) {
        return Err(invalid("a count lies in a buffer that the merge writes; give it one of its own".into()));
    }
    Ok(())
}
