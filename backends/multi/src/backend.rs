//! [`MultiBackend`]: the devices of all calls.

use crate::call::{By, Call, Member, now};
use crate::device::Device;
use crate::report::{Merges, Report};
use crate::speeds::Speeds;
use crate::{segmented, whole};
use polysort_core::{
    AnyOperation, Backend, BoxFuture, DynBackend, Error, Limits, Operation, Segments, Spec, Word, sorts_by_run, with_word,
};
use polysort_rayon::RayonBackend;
use std::sync::Arc;

/// Sorts one input on several devices at once: GPUs, pools of CPU threads, or backends of your own.
///
/// Each device sorts a part of the input, and the CPU merges the sorted parts. The length of a part is proportional to the [speed](MultiBackend::with_speeds)
/// of its device. An input that is too short for two parts goes to the fastest device.
///
/// | operation | what the devices do |
/// |---|---|
/// | sort, pairs, argsort | each sorts a part; the CPU merges the parts |
/// | partial sort | as a sort |
/// | top-k | each selects the first `k` keys of a part; the CPU merges these |
/// | any of these on segments | each sorts whole segments; a segment that is longer than every share is sorted by all devices |
///
/// # A device that fails
/// The other devices sort its parts after their own, and the call succeeds. [`report`](MultiBackend::report) has the reason. If all devices fail, the
/// call returns the error of the first one, and all slices are as they were, except `indices` of an argsort or a selection. The next call tries the device again. A lost
/// device is opened again with [`Backend::reopen`], as [`Fallback`](polysort_fallback::Fallback) does: after `k` failures in a row, `2^(k-1) - 1` calls, at most
/// 1023, go without it.
///
/// # Threads
/// Each device works on a thread of its own that the call starts. A [`RayonBackend`] that is bound to no pool works in the pool that the
/// call comes from. A device of another type that works in the current pool must be bound to a pool, or it works in rayon's global one. The merge runs on the first
/// device that is a [`RayonBackend`], or else in the current pool; [`merge_on`](MultiBackend::merge_on) changes this.
///
/// An async call polls all devices in turns on the caller's task. A device that computes while it is polled, as a [`RayonBackend`] does, is polled after the others.
///
/// # Memory
/// A call takes as much scratch as its keys and payloads have bytes, on the host. It is kept with the scratch of [`RayonBackend`].
///
/// # Example
/// ```
/// use polysort_core::{DynBackend, Sort};
/// use polysort_multi::MultiBackend;
/// use polysort_rayon::RayonBackend;
///
/// let pools = [RayonBackend::with_threads(1)?, RayonBackend::with_threads(2)?];
/// let multi = MultiBackend::new(pools.map(DynBackend::new))?.least_part(1000);
/// let mut keys: Vec<u32> = (0..5000).rev().collect();
/// multi.sort(&mut keys)?;
/// assert!(keys.is_sorted());
/// assert_eq!(multi.report().devices[1].parts, 1);
/// # Ok::<(), polysort_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MultiBackend {
    shared: Arc<Shared>,
    speeds: Arc<Speeds>,
    merger: RayonBackend,
    least: usize,
}

/// What all clones share.
#[derive(Debug)]
struct Shared {
    devices: Vec<Device>,
    merges: Merges,
}

/// The least number of elements of a part, unless the caller sets another one. The CPU sorts so many keys in about the time that a GPU takes to answer at all, and a
/// thread takes to start and to hand over.
const LEAST_PART: usize = 1 << 20;

impl MultiBackend {
    /// A backend of open devices, all of the same speed.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if there are no devices.
    pub fn new(devices: impl IntoIterator<Item = DynBackend>) -> Result<Self, Error> {
        let devices: Vec<DynBackend> = devices.into_iter().collect();
        if devices.is_empty() {
            return Err(unavailable("it needs at least one device"));
        }
        let speeds = Arc::new(Speeds::equal(devices.len()));
        let merger = devices.iter().find_map(|device| device.downcast_ref::<RayonBackend>().cloned()).unwrap_or_default();
        let devices = devices.into_iter().map(Device::new).collect();
        Ok(Self { shared: Arc::new(Shared { devices, merges: Merges::default() }), speeds, merger, least: LEAST_PART })
    }

    /// The same devices, with speeds by which inputs are divided. [`Report::speeds`] returns those that the calls so far show; nothing else measures speeds.
    ///
    /// The input goes to those of the fastest devices that are done first by these speeds, the merge included. This may be one device alone.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if there is not one speed for each device, and [`Error::Unsupported`] if a speed is not a positive number.
    pub fn with_speeds(self, speeds: Speeds) -> Result<Self, Error> {
        speeds.check(self.shared.devices.len())?;
        Ok(Self { speeds: Arc::new(speeds), ..self })
    }

    /// The same devices, with another backend that merges the sorted parts.
    #[must_use]
    pub fn merge_on(self, merger: RayonBackend) -> Self {
        Self { merger, ..self }
    }

    /// Returns a backend with the same devices that gives a device either nothing or a part of at least `elements` elements. The default is 2^20. An input of fewer than 2 × `elements` elements
    /// goes as a whole to the device with the highest speed.
    #[must_use]
    pub fn least_part(self, elements: usize) -> Self {
        Self { least: elements, ..self }
    }

    /// The speeds by which inputs are divided.
    pub fn speeds(&self) -> &Speeds {
        &self.speeds
    }

    /// Returns what the devices and merges have done. All clones of this handle share it, with other speeds too.
    pub fn report(&self) -> Report {
        let Shared { devices, merges } = &*self.shared;
        let devices = devices.iter().map(Device::report).collect();
        Report { devices, merged_bytes: merges.bytes(), merge_time: merges.time() }
    }

    fn run_by<'a>(&'a self, by: By, operation: AnyOperation<'a>, spec: Spec) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            operation.check(spec)?;
            let mut absent = None;
            let mut crew = vec![];
            for (device, &speed) in self.shared.devices.iter().zip(&self.speeds.devices) {
                match device.open() {
                    Ok(opened) => crew.push(Member::new(device, opened, speed)),
                    Err(why) => absent = absent.or(Some(why)),
                }
            }
            if let (true, Some(why)) = (crew.is_empty(), absent) {
                return Err(why);
            }
            let (merger, merge_speed, merges) = (&self.merger, self.speeds.merge, &self.shared.merges);
            let call = Call { by, crew, merger, merge_speed, least: self.least, merges };
            with_word!(operation, operation => match segments_of(&operation) {
                Some(segments) => segmented::run(&call, operation, segments, spec).await,
                None => whole::run(&call, operation, spec).await,
            })
        })
    }
}

fn segments_of<'a, W: Word>(operation: &Operation<'a, W>) -> Option<Segments<'a>> {
    match operation {
        Operation::Sort { segments, .. }
        | Operation::SortPairs { segments, .. }
        | Operation::PartialSort { segments, .. }
        | Operation::Argsort { segments, .. }
        | Operation::TopK { segments, .. } => *segments,
        Operation::SortInto { .. } | Operation::SortPairsInto { .. } | Operation::Runs { .. } => None,
    }
}

fn unavailable(why: &str) -> Error {
    Error::Unavailable { backend: "MultiBackend".into(), why: why.into(), source: None }
}

impl Backend for MultiBackend {
    /// Fails: a `MultiBackend` is made of open devices, with [`MultiBackend::new`].
    fn open() -> Result<Self, Error> {
        Err(unavailable("it cannot open devices; pass open ones to MultiBackend::new"))
    }

    /// The names of the devices.
    fn name(&self) -> String {
        self.shared.devices.iter().map(Device::name).collect::<Vec<_>>().join(" + ")
    }

    /// No limits: a device gets a long input in several parts, each within its own limits.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    /// Returns this backend: lost devices are opened again by later calls.
    fn reopen(&self) -> Result<Self, Error> {
        Ok(self.clone())
    }

    sorts_by_run!();

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        now(self.run_by(By::Threads, operation, spec))
    }

    async fn run_async(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        self.run_by(By::Futures, operation, spec).await
    }
}
