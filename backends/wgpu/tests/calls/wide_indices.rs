//! Argsorts and selections whose indices have 64 bits.

use crate::async_variants::on_any_thread;
use crate::recording::open;
use crate::{keys, support};
use core::cmp::Reverse;
use core::ops::Range;
use libtest_mimic::Failed;
use polysort_core::{Error, Options};
use polysort_shaders::plan::Algorithm;
use polysort_wgpu::wgpu::{Buffer, BufferDescriptor, BufferUsages, CommandEncoderDescriptor};
use polysort_wgpu::{Ask, Column, Count, DeviceSorter, Part, Prepared, RunBuffers, Setup, SortBuffer, WgpuBackend};

/// A word that no index has.
const BEFORE: u32 = 0xdead_beef;

/// Words of the buffers before the keys, and before the indices.
const START: usize = 3;

/// Returns a buffer without its first words.
fn part(buffer: &Buffer) -> Part<'_> {
    Part { buffer, offset: 4 * START as u64 }
}

/// Work that writes indices of 64 bits: how to prepare it, and the indices that it has room for.
#[derive(Clone, Copy)]
struct Work<'a> {
    what: &'a str,
    sorter: &'a DeviceSorter,
    ask: Ask<'a>,
    /// The algorithm, if it is requested.
    algorithm: Option<Algorithm>,
    /// The number of keys to select, if it is a selection.
    k: Option<usize>,
    room: usize,
}

impl Work<'_> {
    fn prepare(&self, keys: Part<'_>, indices: Part<'_>) -> Result<Prepared, Error> {
        let ask = self.ask.wide_indices();
        let ask = self.algorithm.map_or(ask, |algorithm| ask.algorithm(algorithm));
        match self.k {
            None => self.sorter.prepare_argsort::<u32>(keys, indices, ask),
            Some(k) => self.sorter.prepare_top_k::<u32>(keys, indices, k as u32, ask),
        }
    }

    /// Records the work for each count. The indices must be `expected`, as numbers of 64 bits, and all other words must stay.
    fn check(&self, backend: &WgpuBackend, unsorted: &[u32], cases: &[(Count, Vec<u32>)]) -> Result<(), Failed> {
        let buffer = |words: &[u32]| SortBuffer::from_slice(backend, words).map_err(support::failed);
        let before = vec![BEFORE; START + 2 * self.room + 5];
        let (keys, mut indices) = (buffer(unsorted)?, buffer(&before)?);
        let prepared = self.prepare(part(keys.raw()), part(indices.raw())).map_err(support::failed)?;
        // A failed self-test would have set another algorithm.
        support::ensure(prepared.plan().request.algorithm == self.algorithm, || format!("{}: {prepared:?}", self.what))?;
        for (count, expected) in cases {
            indices.copy_from_slice(&before).map_err(support::failed)?;
            let mut encoder = backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
            prepared.record_in(&mut encoder, *count).map_err(support::failed)?;
            backend.queue().submit([encoder.finish()]);
            let mut words = before.clone();
            let wide: Vec<u32> = expected.iter().flat_map(|&index| [index, 0]).collect();
            words[START..][..wide.len()].copy_from_slice(&wide);
            let found = indices.read().map_err(support::failed)?;
            let what = || {
                let at = (0..words.len()).find(|&at| found[at] != words[at]).unwrap_or_default();
                format!("{}, {count:?}: word {at} is {:#x}, not {:#x}", self.what, found[at], words[at])
            };
            support::ensure(*found == words[..], what)?;
        }
        support::ensure(*keys.read().map_err(support::failed)? == *unsorted, || format!("{}: the keys changed", self.what))?;
        let short = backend.device().create_buffer(&BufferDescriptor {
            label: None,
            size: 4 * START as u64 + 8 * self.room as u64 - 4,
            usage: BufferUsages::STORAGE,
            mapped_at_creation: false,
        });
        let needed = format!("{} from byte 0", 4 * START + 8 * self.room);
        match self.prepare(part(keys.raw()), part(&short)) {
            Err(Error::InvalidBuffer { why }) if why.contains("indices of 64 bits") && why.contains(&needed) => Ok(()),
            other => Err(format!("{}: a buffer that lacks 4 bytes gave {:?}", self.what, other.map(|_| ())).into()),
        }
    }
}

/// Returns the indices of keys in a range, in descending order of their keys.
fn order(unsorted: &[u32], range: Range<u32>) -> Vec<u32> {
    let mut order: Vec<u32> = range.collect();
    order.sort_by_key(|&i| Reverse(unsorted[START + i as usize]));
    order
}

/// Returns the first `k` indices of keys in a range.
fn first(unsorted: &[u32], range: Range<u32>, k: usize) -> Vec<u32> {
    let mut order = order(unsorted, range);
    order.resize(order.len().max(k), u32::MAX);
    order.truncate(k);
    order
}

/// Keys with few values.
fn unsorted(len: usize) -> Vec<u32> {
    keys(START + len + 2).into_iter().map(|key| key % 101).collect()
}

/// Argsorts of all keys: by one launch, and by several.
pub(crate) fn argsorts() -> Result<(), Failed> {
    let (backend, sorter) = open()?;
    let counts = SortBuffer::from_slice(&backend, &[1, 700]).map_err(support::failed)?;
    for max in [1000, 40_000] {
        let unsorted = unsorted(max);
        let ask = Ask::up_to(max as u32).options(Options::descending()).counted_by(counts.raw(), 1);
        let fixed = |len: usize| (Count::Fixed(len as u32), order(&unsorted, 0..len as u32));
        let cases = [fixed(max), (Count::OnDevice, order(&unsorted, 0..700)), fixed(333), fixed(1), fixed(0)];
        let work = Work { what: "an argsort", sorter: &sorter, ask, algorithm: None, k: None, room: max };
        work.check(&backend, &unsorted, &cases)?;
        let work = Work { algorithm: Some(Algorithm::ReduceThenScan), ..work };
        Work { what: "an argsort without subgroups", ..work }.check(&backend, &unsorted, &cases)?;
        // No bits are compared, so the indices are in order.
        let ask = ask.options(Options::ascending().bits(5..5));
        let in_order = [(Count::Fixed(max as u32), (0..max as u32).collect())];
        Work { what: "an argsort by no bits", ask, ..work }.check(&backend, &unsorted, &in_order)?;
    }
    Ok(())
}

/// Selections by one workgroup for each segment, and by all workgroups together, which one launch sorts, or several.
pub(crate) fn selections() -> Result<(), Failed> {
    const MAX: usize = 50_000;
    let (backend, sorter) = open()?;
    let counts = SortBuffer::from_slice(&backend, &[1, 700]).map_err(support::failed)?;
    let unsorted = unsorted(MAX);
    let most = backend.facts().most_selected() as usize;
    for k in [1, 300, most + 1, 11_000] {
        let ask = Ask::up_to(MAX as u32).options(Options::descending()).counted_by(counts.raw(), 1);
        let of = |len: usize| first(&unsorted, 0..len as u32, k);
        let fixed = |len: usize| (Count::Fixed(len as u32), of(len));
        let cases = [fixed(MAX), (Count::OnDevice, of(700)), fixed(333), fixed(1), fixed(0)];
        let what = format!("the first {k}");
        Work { what: &what, sorter: &sorter, ask, algorithm: None, k: Some(k), room: k }.check(&backend, &unsorted, &cases)?;
    }
    Ok(())
}

/// Argsorts and selections of segments with gaps between them, and of rows. A key in a gap gets its own index.
pub(crate) fn segments() -> Result<(), Failed> {
    const LENGTHS: [u32; 9] = [5, 0, 1, 9000, 2, 40, 1025, 20_000, 700];
    let (backend, sorter) = open()?;
    let buffer = |words: &[u32]| SortBuffer::from_slice(&backend, words).map_err(support::failed);
    let counts = buffer(&[1, 4])?;
    let (mut bounds, mut end) = (vec![], 0);
    for length in LENGTHS {
        bounds.push(end + 3..end + 3 + length);
        end += 3 + length;
    }
    let [begins, ends] = [|bounds: &Range<u32>| bounds.start, |bounds: &Range<u32>| bounds.end]
        .map(|side| buffer(&bounds.iter().map(side).collect::<Vec<u32>>()));
    let (begins, ends) = (begins?, ends?);
    let gaps = Ask::up_to(end + 4).segments_between(begins.raw(), ends.raw(), LENGTHS.len() as u32);
    // 40 rows of 500 keys, each padded to 512.
    let rows: Vec<Range<u32>> = (0..40).map(|row| 512 * row..512 * row + 500).collect();
    // Few segments: as many segments as keys, each with `k` indices, would not fit a binding.
    let k = backend.facts().most_selected();
    let (keys, indices) = (buffer(&unsorted(1 << 20))?, buffer(&vec![BEFORE; 2 * k as usize])?);
    let few = Ask::up_to(1 << 20).segments(counts.raw(), 1).wide_indices();
    sorter.prepare_top_k::<u32>(keys.raw(), indices.raw(), k, few).map_err(support::failed)?;
    for (what, ask, bounds, max) in [("gaps", gaps, bounds, end + 4), ("rows", Ask::rows(40, 500, 512), rows, 39 * 512 + 500)] {
        let unsorted = unsorted(max as usize);
        let ask = ask.options(Options::descending()).counted_by(counts.raw(), 1);
        let counts = [(Count::Fixed(bounds.len() as u32), bounds.len()), (Count::OnDevice, 4), (Count::Fixed(0), 0)];
        let argsorts = counts.map(|(count, there)| {
            let mut indices: Vec<u32> = (0..max).collect();
            for range in bounds.iter().take(there) {
                indices[range.start as usize..range.end as usize].copy_from_slice(&order(&unsorted, range.clone()));
            }
            (count, indices)
        });
        let work = Work { what, sorter: &sorter, ask, algorithm: None, k: None, room: max as usize };
        work.check(&backend, &unsorted, &argsorts)?;
        for k in [1, 300] {
            let selections = counts.map(|(count, there)| {
                (count, bounds.iter().take(there).flat_map(|range| first(&unsorted, range.clone(), k)).collect())
            });
            Work { k: Some(k), room: k * bounds.len(), ..work }.check(&backend, &unsorted, &selections)?;
        }
    }
    Ok(())
}

/// Keys and indices may lie in one buffer. Calls that write no indices, and indices that overlap the keys, are refused.
pub(crate) fn in_one_buffer() -> Result<(), Failed> {
    const MAX: usize = 20_000;
    let (backend, sorter) = open()?;
    let unsorted = unsorted(MAX);
    let words = [&unsorted[..], &vec![BEFORE; 2 * MAX + 1]].concat();
    let ask = Ask::up_to(MAX as u32).options(Options::descending());
    let most = backend.facts().most_selected() as usize;
    for k in [None, Some(300), Some(most + 1)] {
        let buffer = SortBuffer::from_slice(&backend, &words).map_err(support::failed)?;
        let work = Work { what: "one buffer", sorter: &sorter, ask, algorithm: None, k, room: k.unwrap_or(MAX) };
        let to = |word: usize| Part { buffer: buffer.raw(), offset: 4 * word as u64 };
        let prepared = work.prepare(part(buffer.raw()), to(unsorted.len())).map_err(support::failed)?;
        let mut encoder = backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
        prepared.record_in(&mut encoder, Count::Fixed(MAX as u32)).map_err(support::failed)?;
        backend.queue().submit([encoder.finish()]);
        let wide = first(&unsorted, 0..MAX as u32, work.room).into_iter().flat_map(|index| [index, 0]);
        let rest = words[unsorted.len() + 2 * work.room..].iter().copied();
        let expected: Vec<u32> = unsorted.iter().copied().chain(wide).chain(rest).collect();
        support::ensure(*buffer.read().map_err(support::failed)? == expected, || format!("{k:?} in one buffer"))?;
        // The last word of the indices is a key.
        if 2 * work.room <= MAX {
            let overlap = work.prepare(to(2 * work.room - 1), to(0)).map(|_| ());
            support::ensure(matches!(overlap, Err(Error::InvalidBuffer { .. })), || format!("an overlap: {overlap:?}"))?;
        }
    }
    let (one, other) = (SortBuffer::from_slice(&backend, &words), SortBuffer::from_slice(&backend, &words));
    let (one, other) = (one.map_err(support::failed)?, other.map_err(support::failed)?);
    let (from, to, wide) = (one.raw(), other.raw(), ask.wide_indices());
    let refused = [
        sorter.prepare_sort::<u32>(from, wide),
        sorter.prepare_sort_pairs::<u32, u32>(from, to, wide),
        sorter.prepare_runs::<u32>(from, RunBuffers::counted_in(to), wide),
        sorter.prepare_gather::<u32>(Column { elements: from.into(), len: 9 }, part(from), to, wide),
    ];
    refused.into_iter().try_for_each(|refused| {
        let refused = refused.map(|_| ());
        support::ensure(matches!(refused, Err(Error::Unsupported { .. })), || format!("no indices: {refused:?}"))
    })
}

/// Async variants, and a sorter that tests its sorts later.
pub(crate) fn async_variants() -> Result<(), Failed> {
    const MAX: usize = 3000;
    let backend = crate::open()?;
    let sorter = DeviceSorter::with(backend.device(), Setup::untested()).map_err(support::failed)?;
    let unsorted = unsorted(MAX);
    let buffer = |words: &[u32]| SortBuffer::from_slice(&backend, words).map_err(support::failed);
    let (keys, order_to, first_to) = (buffer(&unsorted)?, buffer(&vec![BEFORE; 2 * MAX])?, buffer(&[BEFORE; 14])?);
    let ask = Ask::up_to(MAX as u32).options(Options::descending()).wide_indices();
    let prepared = on_any_thread(async {
        let argsort = sorter.prepare_argsort_async::<u32>(part(keys.raw()), order_to.raw(), ask).await?;
        Ok([argsort, sorter.prepare_top_k_async::<u32>(part(keys.raw()), first_to.raw(), 7, ask).await?])
    });
    let mut encoder = backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
    for prepared in prepared.map_err(|error: Error| support::failed(error))? {
        prepared.record_in(&mut encoder, Count::Fixed(MAX as u32)).map_err(support::failed)?;
    }
    backend.queue().submit([encoder.finish()]);
    let expected: Vec<u32> = order(&unsorted, 0..MAX as u32).into_iter().flat_map(|index| [index, 0]).collect();
    support::ensure(*order_to.read().map_err(support::failed)? == expected, || "the argsort".into())?;
    support::ensure(*first_to.read().map_err(support::failed)? == expected[..14], || "the selection".into())?;
    sorter.self_test(backend.queue()).map_err(support::failed)
}
