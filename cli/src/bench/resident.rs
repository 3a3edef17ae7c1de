//! Sorts of keys that stay on a GPU. The clock of the GPU times each pass, and the CPU checks the results.

use super::backends::open_backends;
use super::pattern::Pattern;
use crate::dtype::Key;
use anyhow::{Result, bail};
use polysort::gpu::wgpu::{CommandEncoder, Features, PollType};
use polysort::gpu::{Algorithm, Ask, Count, DeviceSorter, PassKind, Prepared, Profile, Setup, SortBuffer, Tuned, WgpuBackend};
use polysort::{AnyBackend, Backend, Error, MaskKey, RayonBackend, Sort};
use polysort_measure::warm_up;

/// The sorts that are submitted at a time while the device warms up.
const AT_A_TIME: usize = 8;

/// Opens the named backends, or all that open without names, that are on a GPU with timestamps.
///
/// # Errors
/// If a named backend is on no GPU or has no timestamps, or if no backend is left.
pub(crate) fn open_gpus(names: &[String], adapter: Option<&str>) -> Result<Vec<AnyBackend>> {
    let mut gpus = vec![];
    for (backend, _) in open_backends(names, adapter, &[])? {
        match backend.gpu() {
            Some(gpu) if gpu.device().features().contains(Features::TIMESTAMP_QUERY) => gpus.push(backend),
            Some(_) => bail!("{} has no timestamps, so its passes cannot be timed", backend.name()),
            None if names.is_empty() => {}
            None => bail!("{} is on no GPU, and only passes on a GPU are timed; name another of --backends", backend.kind()),
        }
    }
    if gpus.is_empty() {
        bail!("no backend on a GPU opens, and only passes on a GPU are timed");
    }
    Ok(gpus)
}

/// Uniform keys on a device, which are sorted there repeatedly. A value is the index of its key; its second word, if the kind has one, is the
/// complement of the index.
pub(crate) struct Resident<K> {
    backend: WgpuBackend,
    kind: PassKind,
    /// The keys that are sorted, in place.
    keys: SortBuffer<K>,
    /// The words of the values.
    values: SortBuffer<u32>,
    /// The words of the values before a sort, which all sets share.
    indices: SortBuffer<u32>,
    sets: Vec<Set<K>>,
}

/// Keys, and the CPU's answer.
struct Set<K> {
    input: SortBuffer<K>,
    sorted: Vec<K>,
    /// The words of the values after a sort.
    order: Vec<u32>,
}

impl<K: Key + MaskKey> Resident<K> {
    /// Returns `sets` sets of `len` keys each.
    pub(crate) fn new(backend: &WgpuBackend, kind: PassKind, len: usize, sets: usize) -> Result<Self, Error> {
        let cpu = RayonBackend::global()?;
        let words = |order: &[u32]| -> Vec<u32> {
            order.iter().flat_map(|&index| [index, !index].into_iter().take(kind.value_words as usize)).collect()
        };
        let order: Vec<u32> = if kind.value_words > 0 { (0..len as u32).collect() } else { vec![] };
        let indices = words(&order);
        let mut keys = SortBuffer::with_capacity(backend, len)?;
        keys.set_len(len)?;
        let mut values = SortBuffer::with_capacity(backend, indices.len())?;
        values.set_len(indices.len())?;
        let set = |seed| {
            let mut sorted = Pattern::Uniform.keys::<K>(len, seed as u64);
            let input = SortBuffer::from_slice(backend, &sorted)?;
            let mut order = order.clone();
            match kind.value_words {
                0 => cpu.sort(&mut sorted)?,
                _ => cpu.sort_pairs(&mut sorted, &mut order)?,
            }
            Ok(Set { input, sorted, order: words(&order) })
        };
        let sets = (0..sets).map(set).collect::<Result<_, Error>>()?;
        Ok(Self { backend: backend.clone(), kind, keys, values, indices: SortBuffer::from_slice(backend, &indices)?, sets })
    }

    /// Returns a sort with [`Algorithm::OneSweep`] and passes of these shapes, after its self-test has passed.
    pub(crate) fn prepare(&self, tuned: Tuned) -> Result<Prepared, Error> {
        let sorter = DeviceSorter::with(self.backend.device(), Setup::tested_on(self.backend.queue()).tuned(tuned))?;
        let ask = Ask::up_to(self.keys.len() as u32).algorithm(Algorithm::OneSweep);
        match self.kind.value_words {
            0 => sorter.prepare_sort::<K>(self.keys.raw(), ask),
            1 => sorter.prepare_sort_pairs::<K, u32>(self.keys.raw(), self.values.raw(), ask),
            _ => sorter.prepare_sort_pairs::<K, u64>(self.keys.raw(), self.values.raw(), ask),
        }
    }

    /// Keeps the device busy until its clock rate is high.
    pub(crate) fn warm_up(&self, sort: &Prepared) -> Result<()> {
        let device = self.backend.device();
        warm_up(|| {
            let mut commands = device.create_command_encoder(&Default::default());
            for _ in 0..AT_A_TIME {
                self.restore(0, &mut commands);
                sort.record_in(&mut commands, self.count())?;
            }
            self.backend.queue().submit([commands.finish()]);
            device.poll(PollType::wait_indefinitely())?;
            Ok(())
        })
    }

    /// Sorts a set `trials` times.
    pub(crate) fn profile(&self, set: usize, sort: &Prepared, trials: usize) -> Result<Profile> {
        let profile = sort.profile(self.backend.queue(), self.count(), trials, |commands| self.restore(set, commands))?;
        if profile.device.median().is_zero() {
            bail!("the timestamps of {} stand still, so its passes cannot be timed", self.backend.name());
        }
        Ok(profile)
    }

    /// Whether the last sort gave the CPU's answer for this set.
    pub(crate) fn is_answer(&self, set: usize) -> Result<bool, Error> {
        let Set { sorted, order, .. } = &self.sets[set];
        let same_keys = bytemuck::cast_slice::<K, u8>(&self.keys.read()?) == bytemuck::cast_slice::<K, u8>(sorted);
        Ok(same_keys && *self.values.read()? == order[..])
    }

    fn count(&self) -> Count {
        Count::Fixed(self.keys.len() as u32)
    }

    fn restore(&self, set: usize, commands: &mut CommandEncoder) {
        let mut copy = |from, to, len: usize| commands.copy_buffer_to_buffer(from, 0, to, 0, Some(len as u64));
        copy(self.sets[set].input.raw(), self.keys.raw(), self.keys.len() * size_of::<K>());
        if self.kind.value_words > 0 {
            copy(self.indices.raw(), self.values.raw(), size_of::<u32>() * self.values.len());
        }
    }
}
