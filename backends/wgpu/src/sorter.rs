//! `DeviceSorter`: sorts what is on the caller's device already, recorded into the caller's own commands.

use crate::adapters::wanted;
use crate::ask::Ask;
use crate::bind::{Bound, Part, invalid};
use crate::engine::{Asked, Engine, Memory};
use crate::gpu::{Gpu, Lost, STORAGE};
use crate::launch::Launches;
use crate::prepared::Prepared;
use crate::wait::{Waiting, blocking};
use bytemuck::Pod;
use polysort_core::{Error, MaskKey, Options, Spec};
use polysort_shaders::plan::{Buffer as Role, Payload, Place, Request, Segmented, SortPlan, Top, Tuned};
use std::collections::BTreeMap;
use std::sync::Arc;
use wgpu::{Adapter, Buffer, Device, Features, Queue};

/// Makes sorts that are recorded into the caller's commands, on the caller's device.
///
/// ```no_run
/// # fn frame(device: &wgpu::Device, queue: &wgpu::Queue, depths: &wgpu::Buffer, splats: &wgpu::Buffer) -> Result<(), polysort_core::Error> {
/// use polysort_wgpu::{Ask, Count, DeviceSorter};
///
/// // Once: compiles, tests, takes scratch.
/// let sorter = DeviceSorter::new(device, queue)?;
/// let by_depth = sorter.prepare_sort_pairs::<f32, u32>(depths, splats, Ask::up_to(1_000_000))?;
///
/// // Each frame: nothing but commands.
/// let mut encoder = device.create_command_encoder(&Default::default());
/// by_depth.record_in(&mut encoder, Count::Fixed(900_000))?;
/// queue.submit([encoder.finish()]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct DeviceSorter {
    gpu: Arc<Gpu>,
    engine: Arc<Engine>,
}

/// What a prepared sort leaves.
enum Wanted {
    /// All keys, or their indices, in order.
    Sorted(Payload),
    /// The positions of so many first keys.
    First(u32),
}

impl DeviceSorter {
    /// The features that a device of this adapter should be opened with. It sorts without them, but slower, and cannot be profiled.
    pub fn wanted_features(adapter: &Adapter) -> Features {
        wanted(&adapter.get_info(), adapter.features())
    }

    /// A sorter on `device`, whose queue is `queue`.
    ///
    /// # Errors
    /// If the device has no memory for a small table.
    pub fn new(device: &Device, queue: &Queue) -> Result<Self, Error> {
        Self::with_tuned(device, queue, Tuned::NONE)
    }

    /// The same, with passes of the shapes that were found on this device.
    ///
    /// # Errors
    /// As [`new`](DeviceSorter::new).
    pub fn with_tuned(device: &Device, queue: &Queue, tuned: Tuned) -> Result<Self, Error> {
        let mut gpu = Gpu::on(device.clone(), queue.clone(), Lost::default())?;
        gpu.facts.tuned = tuned;
        let gpu = Arc::new(gpu);
        Ok(Self { engine: Arc::new(Engine::new(gpu.clone(), Asked::default(), Memory::default())), gpu })
    }

    /// Bytes of scratch that a sort of up to `max` keys of `K`, with values of `value_bytes` bytes (0 for none), takes; of other sorts,
    /// [`Prepared::plan`] tells.
    ///
    /// # Errors
    /// As [`prepare_sort_pairs`](DeviceSorter::prepare_sort_pairs).
    pub fn scratch_bytes<K: MaskKey>(&self, value_bytes: usize, max: u32) -> Result<u64, Error> {
        let payload = payload(value_bytes)?;
        let request = Request { payload, ..Request::keys(bits::<K>(), Spec::of_masks::<K>(Options::ascending())?, max.into()) };
        Ok(SortPlan::new(request, &self.gpu.facts)?.scratch_bytes())
    }

    /// Prepares to sort keys in place.
    ///
    /// The first sort of a kind on a device compiles it and tries it on data of its own; that waits for the device.
    ///
    /// # Errors
    /// [`Error::InvalidBuffer`] for a buffer that is too small, lacks a usage or starts at an odd place, [`Error::TooLong`] for more
    /// keys than a binding holds, [`Error::InvalidRange`], [`Error::OutOfMemory`], [`Error::SelfTest`] if the device sorts wrongly.
    pub fn prepare_sort<'a, K: MaskKey>(&self, keys: impl Into<Part<'a>>, ask: Ask<'_>) -> Result<Prepared, Error> {
        blocking(self.prepare::<K>(Waiting::Here, keys.into(), None, Wanted::Sorted(Payload::None), ask))
    }

    /// [`prepare_sort`](DeviceSorter::prepare_sort) without blocking.
    ///
    /// # Errors
    /// As there.
    pub async fn prepare_sort_async<'a, K: MaskKey>(&self, keys: impl Into<Part<'a>>, ask: Ask<'_>) -> Result<Prepared, Error> {
        self.prepare::<K>(Waiting::Elsewhere, keys.into(), None, Wanted::Sorted(Payload::None), ask).await
    }

    /// Prepares to sort keys in place, and to move the values of 4, 8, 12 or 16 bytes with them.
    ///
    /// # Errors
    /// [`Error::InvalidBuffer`] also if keys and values overlap, [`Error::Unsupported`] for values of other sizes; else as
    /// [`prepare_sort`](DeviceSorter::prepare_sort).
    pub fn prepare_sort_pairs<'a, K: MaskKey, V: Pod>(
        &self,
        keys: impl Into<Part<'a>>,
        values: impl Into<Part<'a>>,
        ask: Ask<'_>,
    ) -> Result<Prepared, Error> {
        let payload = payload(size_of::<V>())?;
        blocking(self.prepare::<K>(Waiting::Here, keys.into(), Some(values.into()), Wanted::Sorted(payload), ask))
    }

    /// [`prepare_sort_pairs`](DeviceSorter::prepare_sort_pairs) without blocking.
    ///
    /// # Errors
    /// As there.
    pub async fn prepare_sort_pairs_async<'a, K: MaskKey, V: Pod>(
        &self,
        keys: impl Into<Part<'a>>,
        values: impl Into<Part<'a>>,
        ask: Ask<'_>,
    ) -> Result<Prepared, Error> {
        let payload = payload(size_of::<V>())?;
        self.prepare::<K>(Waiting::Elsewhere, keys.into(), Some(values.into()), Wanted::Sorted(payload), ask).await
    }

    /// Prepares to write the stable sorting permutation of keys, which stay as they are, to `indices`, `u32` each.
    ///
    /// # Errors
    /// As [`prepare_sort_pairs`](DeviceSorter::prepare_sort_pairs).
    pub fn prepare_argsort<'a, K: MaskKey>(
        &self,
        keys: impl Into<Part<'a>>,
        indices: impl Into<Part<'a>>,
        ask: Ask<'_>,
    ) -> Result<Prepared, Error> {
        blocking(self.prepare::<K>(Waiting::Here, keys.into(), Some(indices.into()), Wanted::Sorted(Payload::Indices), ask))
    }

    /// [`prepare_argsort`](DeviceSorter::prepare_argsort) without blocking.
    ///
    /// # Errors
    /// As there.
    pub async fn prepare_argsort_async<'a, K: MaskKey>(
        &self,
        keys: impl Into<Part<'a>>,
        indices: impl Into<Part<'a>>,
        ask: Ask<'_>,
    ) -> Result<Prepared, Error> {
        self.prepare::<K>(Waiting::Elsewhere, keys.into(), Some(indices.into()), Wanted::Sorted(Payload::Indices), ask).await
    }

    /// Prepares to write the positions of the first `k` keys of the order, equal ones by their position, to `indices`: `k` numbers of type
    /// `u32`, in order, the last ones [`u32::MAX`] if there are fewer keys. The keys stay as they are, and not all of them are sorted (Alabi et al.,
    /// "Fast k-selection algorithms for graphics processing units", 2012). To select the last keys, ask for the descending order.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a `k` of 0, or of segments; else as [`prepare_sort_pairs`](DeviceSorter::prepare_sort_pairs).
    pub fn prepare_top_k<'a, K: MaskKey>(
        &self,
        keys: impl Into<Part<'a>>,
        indices: impl Into<Part<'a>>,
        k: u32,
        ask: Ask<'_>,
    ) -> Result<Prepared, Error> {
        blocking(self.prepare::<K>(Waiting::Here, keys.into(), Some(indices.into()), Wanted::First(k), ask))
    }

    /// [`prepare_top_k`](DeviceSorter::prepare_top_k) without blocking.
    ///
    /// # Errors
    /// As there.
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
        let request = Request::keys(bits::<K>(), Spec::of_masks::<K>(ask.options)?, ask.max.into());
        let request = match wanted {
            Wanted::Sorted(payload) => Request { payload, ..request },
            Wanted::First(k) => request.select(Top { k, segmented: false }),
        };
        check_apart(&request, keys, values, &ask)?;
        let place = |part: Part<'_>, role| part.place(gpu, role);
        let segments = match ask.segments {
            None => None,
            Some((begins, ends, max)) => {
                Some(Segmented { max, begins: place(begins, Role::Begins)?, ends: place(ends, Role::Ends)? })
            }
        };
        let request = Request {
            keys: place(keys, Role::Keys)?,
            values: values.map_or(Ok(Place::default()), |values| place(values, Role::Values))?,
            aliased: request.top.is_some() && values.is_some_and(|values| values.buffer == keys.buffer),
            algorithm: ask.algorithm,
            segments,
            ..request
        };
        let callers = |role| match role {
            Role::Keys => Some(keys),
            Role::Values => values,
            Role::Begins => ask.segments.map(|(begins, ..)| begins),
            Role::Ends => ask.segments.map(|(_, ends, _)| ends),
            _ => None,
        };
        // What is wrong with the caller's buffers is known before anything is compiled.
        let plan = SortPlan::new(request, &gpu.facts)?;
        for role in [Role::Keys, Role::Values, Role::Begins, Role::Ends] {
            if let Some(part) = callers(role) {
                Bound::new(gpu, role, part, plan.touched_bytes(role))?;
            }
        }
        let (request, native) = self.engine.tested(waiting, request).await?;
        let plan = SortPlan::new(request, &gpu.facts)?;
        let launches = gpu.watched(|| {
            let mut scratch = BTreeMap::new();
            for &(role, bytes) in &plan.scratch {
                scratch.insert(role, gpu.buffer(&format!("polysort {role:?}"), bytes, STORAGE)?);
            }
            let counted = ask.count.map(|(buffer, index)| (Part::from(buffer), index));
            Launches::new(gpu, plan, native, counted, &|role| callers(role).unwrap_or_else(|| Part::from(&scratch[&role])))
        });
        Ok(Prepared::new(gpu.clone(), launches.await?))
    }
}

impl core::fmt::Debug for DeviceSorter {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("DeviceSorter").field(&self.gpu.name()).finish()
    }
}

/// Whether what is sorted lies apart, and what tells how to sort it lies in other buffers.
fn check_apart(request: &Request, keys: Part<'_>, values: Option<Part<'_>>, ask: &Ask<'_>) -> Result<(), Error> {
    let key_bytes = request.max * u64::from(request.key_bits) / 8;
    if values.is_some_and(|values| values.overlaps(request.value_bytes(), &keys, key_bytes)) {
        return Err(invalid("keys and values overlap; give them ranges of their own".into()));
    }
    let is_sorted = |buffer: &Buffer| buffer == keys.buffer || values.is_some_and(|values| values.buffer == buffer);
    if ask.segments.is_some_and(|(begins, ends, _)| is_sorted(begins.buffer) || is_sorted(ends.buffer)) {
        return Err(invalid("the segments lie in a buffer that is sorted; give them one of their own".into()));
    }
    if ask.count.is_some_and(|(buffer, _)| is_sorted(buffer)) {
        return Err(invalid("the count lies in a buffer that is sorted; give it one of its own".into()));
    }
    Ok(())
}

fn bits<K: MaskKey>() -> u32 {
    8 * size_of::<K>() as u32
}

pub(crate) fn payload(value_bytes: usize) -> Result<Payload, Error> {
    match value_bytes {
        0 => Ok(Payload::None),
        4 | 8 | 12 | 16 => Ok(Payload::Words(value_bytes as u32 / 4)),
        _ => Err(Error::Unsupported {
            what: format!("values of {value_bytes} bytes; there are 4, 8, 12 and 16. Move their indices instead"),
        }),
    }
}
