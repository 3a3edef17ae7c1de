//! `DeviceSorter`: sorts what is on the caller's device already, recorded into the caller's own commands.

use crate::engine::Engine;
use crate::gpu::{Gpu, STORAGE, wanted};
use crate::launch::{Bound, Count, Launches};
use crate::profile::{self, Profile};
use crate::wait::{Waiting, blocking};
use async_lock::Mutex;
use bytemuck::Pod;
use polysort_core::plan::{self, Algorithm, Payload, Place, Request, Segmented, SortPlan, Top, Tuned};
use polysort_core::{Error, MaskKey, Options, Spec};
use std::collections::BTreeMap;
use std::sync::Arc;
use wgpu::{Adapter, Buffer, BufferUsages, CommandEncoder, ComputePass, ComputePassDescriptor, Device, Features, Queue};

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
pub struct DeviceSorter {
    gpu: Arc<Gpu>,
    engine: Mutex<Engine>,
}

/// What a prepared sort leaves.
enum Wanted {
    /// All keys, or their indices, in order.
    Sorted(Payload),
    /// The positions of so many first keys.
    First(u32),
}

/// A part of a buffer, from a byte offset on. A buffer is the part that starts at 0.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The buffer; it needs the usage `STORAGE`.
    pub buffer: &'a Buffer,
    /// Where the first element starts, in bytes: a multiple of 4.
    pub offset: u64,
}

impl<'a> From<&'a Buffer> for Part<'a> {
    fn from(buffer: &'a Buffer) -> Self {
        Self { buffer, offset: 0 }
    }
}

/// What a prepared sort is to do.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    max: u32,
    options: Options,
    algorithm: Option<Algorithm>,
    count: Option<(&'a Buffer, u32)>,
    segments: Option<(Part<'a>, Part<'a>, u32)>,
}

impl<'a> Ask<'a> {
    /// To sort up to `max` keys, ascending, by all bits.
    pub fn up_to(max: u32) -> Self {
        Self { max, options: Options::ascending(), algorithm: None, count: None, segments: None }
    }

    /// In this order, by these bits.
    #[must_use]
    pub fn options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// By this algorithm, whatever the number of keys.
    #[must_use]
    pub fn algorithm(self, algorithm: Algorithm) -> Self {
        Self { algorithm: Some(algorithm), ..self }
    }

    /// Each of up to `max` segments by itself, those that `offsets` tell, `u32` each: segment `i` is the keys from `offsets[i]` on to before
    /// `offsets[i + 1]`. Offsets are read when the sort runs, and its [`Count`] is then the number of segments. Keys of no segment stay where
    /// they are; what lies beyond the keys that were asked for does not count. Segments must not overlap: if they do, what becomes of the keys,
    /// those of other segments too, is not told.
    ///
    /// The buffer holds `max + 1` numbers, needs the usage `STORAGE`, and is none of those that are sorted. It is for sorts and argsorts, not for
    /// selections. Lists of the segments must fit a binding, or [`Error::TooLong`] tells how many surely do.
    #[must_use]
    pub fn segments(self, offsets: impl Into<Part<'a>>, max: u32) -> Self {
        let begins: Part<'a> = offsets.into();
        self.segments_between(begins, Part { offset: begins.offset + 4, ..begins }, max)
    }

    /// As [`segments`](Ask::segments), with gaps: segment `i` is the keys from `begins[i]` on to before `ends[i]`, `max` numbers each.
    #[must_use]
    pub fn segments_between(self, begins: impl Into<Part<'a>>, ends: impl Into<Part<'a>>, max: u32) -> Self {
        Self { segments: Some((begins.into(), ends.into(), max)), ..self }
    }

    /// With the number of keys, or of segments, in word `index` of `buffer` when the sort runs, if it is recorded with [`Count::OnDevice`].
    /// The buffer needs the usage `STORAGE`, and is none of those that are sorted.
    #[must_use]
    pub fn counted_by(self, buffer: &'a Buffer, index: u32) -> Self {
        Self { count: Some((buffer, index)), ..self }
    }
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
        let mut gpu = Gpu::on(device.clone(), queue.clone(), Arc::default())?;
        gpu.facts.tuned = tuned;
        let gpu = Arc::new(gpu);
        Ok(Self { engine: Mutex::new(Engine::new(gpu.clone())), gpu })
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
        let keys = Placed::new(gpu, "keys", keys, u64::from(ask.max) * size_of::<K>() as u64)?;
        let values = values.map(|part| Placed::new(gpu, "values", part, request.value_bytes())).transpose()?;
        if values.as_ref().is_some_and(|values| values.overlaps(&keys)) {
            return Err(invalid("keys and values overlap; give them ranges of their own".into()));
        }
        let mut lists = None;
        if let Some((begins, ends, max)) = ask.segments {
            let place = |what, part| Placed::new(gpu, what, part, 4 * u64::from(max));
            let (begins, ends) = (place("begins", begins)?, place("ends", ends)?);
            for list in [&begins, &ends] {
                if list.bound.buffer == keys.bound.buffer || values.as_ref().is_some_and(|v| v.bound.buffer == list.bound.buffer)
                {
                    return Err(invalid("the segments lie in a buffer that is sorted; give them one of their own".into()));
                }
            }
            lists = Some((begins, ends, max));
        }
        let mut counted = None;
        if let Some((buffer, index)) = ask.count {
            let count = Placed::new(gpu, "count", buffer.into(), 4 * (u64::from(index) + 1))?;
            if count.bound.buffer == keys.bound.buffer || values.as_ref().is_some_and(|v| v.bound.buffer == count.bound.buffer) {
                return Err(invalid("the count lies in a buffer that is sorted; give it one of its own".into()));
            }
            counted = Some((count.bound, index));
        }
        let values_place = values.as_ref().map_or_else(Place::default, |values| values.place);
        let segments = lists.as_ref().map(|(begins, ends, max)| Segmented { max: *max, begins: begins.place, ends: ends.place });
        let request = Request { keys: keys.place, values: values_place, algorithm: ask.algorithm, segments, ..request };
        let (request, native) = Engine::locked(&self.engine, waiting).await.tested(request).await?;
        let plan = SortPlan::new(request, &gpu.facts)?;
        let launches = gpu.watched(|| {
            let mut scratch = BTreeMap::new();
            for &(role, bytes) in &plan.scratch {
                scratch.insert(role, gpu.buffer(&format!("polysort {role:?}"), bytes, STORAGE)?);
            }
            Launches::new(gpu, plan, native, counted, &|role| match role {
                plan::Buffer::Keys => keys.bound.clone(),
                plan::Buffer::Values => values.as_ref().expect("a payload has values").bound.clone(),
                plan::Buffer::Begins => lists.as_ref().expect("segments have begins").0.bound.clone(),
                plan::Buffer::Ends => lists.as_ref().expect("segments have ends").1.bound.clone(),
                role => Bound::whole(&scratch[&role]).at_most(gpu.facts.max_binding),
            })
        });
        Ok(Prepared { gpu: gpu.clone(), launches: launches.await? })
    }
}

/// A sort with everything compiled, bound and allocated.
///
/// Recording makes no object of wgpu and submits nothing. The same sort may be recorded any number of times, with different counts, in
/// one encoder as well: what is recorded runs in its order. It must not run on two queues at a time.
pub struct Prepared {
    gpu: Arc<Gpu>,
    launches: Launches,
}

impl Prepared {
    /// Records the sort into a pass of the caller's.
    ///
    /// # Errors
    /// [`Error::TooLong`] for more keys, or segments, than it was prepared for, [`Error::Unsupported`] for [`Count::OnDevice`] if it was not prepared with
    /// a count buffer. Nothing is recorded then.
    pub fn record(&self, pass: &mut ComputePass<'_>, count: Count) -> Result<(), Error> {
        if count == Count::OnDevice && !self.launches.is_counted() {
            let what = "a count on the device by a sort that was prepared without one; use `Ask::counted_by`".into();
            return Err(Error::Unsupported { what });
        }
        self.launches.record(pass, count)
    }

    /// Records the sort into an encoder, in a pass of its own.
    ///
    /// # Errors
    /// As [`record`](Prepared::record).
    pub fn record_in(&self, encoder: &mut CommandEncoder, count: Count) -> Result<(), Error> {
        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor { label: Some("polysort"), timestamp_writes: None });
        self.record(&mut pass, count)
    }

    /// What it does, launch by launch.
    pub fn plan(&self) -> &SortPlan {
        self.launches.plan()
    }

    /// Runs the sort `trials` times, after `restore` has recorded what makes its input, and tells how long it and each of its launches
    /// took. The device is waited for.
    ///
    /// # Errors
    /// As [`record`](Prepared::record), or if the device fails.
    pub fn profile(&self, count: Count, trials: usize, restore: impl Fn(&mut CommandEncoder)) -> Result<Profile, Error> {
        profile::profile(&self.gpu, &(&self.launches, count), trials, restore)
    }
}

/// A part of a buffer, as it can be bound.
struct Placed {
    bound: Bound,
    place: Place,
    /// Bytes from the start of the buffer.
    start: u64,
    end: u64,
}

impl Placed {
    fn new(gpu: &Gpu, what: &str, Part { buffer, offset }: Part<'_>, bytes: u64) -> Result<Self, Error> {
        if !buffer.usage().contains(BufferUsages::STORAGE) {
            return Err(invalid(format!("the buffer of the {what} lacks the usage STORAGE")));
        }
        if !offset.is_multiple_of(4) {
            return Err(invalid(format!("the {what} start at byte {offset}, which is no multiple of 4")));
        }
        // Kernels address whole words.
        let end = offset + bytes.next_multiple_of(4).max(4);
        if end > buffer.size() {
            let (size, bytes) = (buffer.size(), bytes.next_multiple_of(4));
            return Err(invalid(format!(
                "the buffer of the {what} has {size} bytes, but {bytes} from byte {offset} on are needed"
            )));
        }
        let start = offset - offset % u64::from(gpu.device.limits().min_storage_buffer_offset_alignment);
        let size = end - start;
        if size > gpu.facts.max_binding {
            return Err(invalid(format!(
                "{size} bytes of {what} are more than the {} that a binding holds",
                gpu.facts.max_binding
            )));
        }
        let bound = Bound { buffer: buffer.clone(), offset: start, size };
        Ok(Self { bound, place: Place { first: ((offset - start) / 4) as u32 }, start: offset, end })
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.bound.buffer == other.bound.buffer && self.start < other.end && other.start < self.end
    }
}

fn invalid(why: String) -> Error {
    Error::InvalidBuffer { why }
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
