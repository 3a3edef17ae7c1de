//! Sorts of segments whose offsets come from the host or from a buffer.

use crate::recording::open;
use crate::{keys, support};
use libtest_mimic::Failed;
use polysort_core::{Error, Options, Segments, Sort};
use polysort_wgpu::testing::{self, Knobs};
use polysort_wgpu::wgpu::{Buffer, CommandEncoderDescriptor};
use polysort_wgpu::{Ask, Count, Part, Prepared, SortBuffer, WgpuBackend};

/// Lengths of every class. The longest has more than one tile.
const LENGTHS: [u32; 14] = [5, 0, 1, 9000, 2, 40, 300, 1025, 17, 20_000, 65, 700, 3, 5000];

/// Sorts segments of keys that fill a binding.
pub(crate) fn that_just_fit() -> Result<(), Failed> {
    let knobs = Knobs { max_binding: Some(1 << 16), ..Knobs::default() };
    let backend = testing::open(support::config(), knobs).map_err(support::failed)?;
    let unsorted = keys((1 << 16) / size_of::<u32>());
    let offsets = [0, 5, 5, 9000, unsorted.len()];
    let mut expected = unsorted.clone();
    offsets.windows(2).for_each(|ends| expected[ends[0]..ends[1]].sort_unstable());
    let mut sorted = unsorted.clone();
    backend.sort_segments(&mut sorted, Segments::Offsets(&offsets)).map_err(support::failed)?;
    let order = backend.argsort_segments(&unsorted, Segments::Offsets(&offsets)).map_err(support::failed)?;
    let gathered: Vec<u32> = order.iter().map(|&at| unsorted[at as usize]).collect();
    support::ensure(sorted == expected && gathered == expected, || "segments are not sorted".into())?;
    // The lists of this many segments would not fit a binding.
    let many: Vec<usize> = (0..=unsorted.len() / 2).map(|i| 2 * i).collect();
    let mut expected = unsorted.clone();
    expected.chunks_exact_mut(2).for_each(<[u32]>::sort_unstable);
    let mut sorted = unsorted.clone();
    let mut values = unsorted.clone();
    backend.sort_pairs_segments(&mut sorted, &mut values, Segments::Offsets(&many)).map_err(support::failed)?;
    support::ensure(sorted == expected && values == expected, || "many segments are not sorted".into())?;
    backend.sort_segments(&mut sorted, Segments::Offsets(&[0, 5])).map_err(support::failed)
}

/// Returns a buffer without its first word.
fn part(buffer: &Buffer) -> Part<'_> {
    Part { buffer, offset: 4 }
}

fn record(backend: &WgpuBackend, sort: &Prepared, count: Count) -> Result<(), Failed> {
    let mut encoder = backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
    sort.record_in(&mut encoder, count).map_err(support::failed)?;
    backend.queue().submit([encoder.finish()]);
    Ok(())
}

/// Offsets, keys and values start at any word. The number of segments is fixed, or lies in a buffer. The sorts are of keys, of pairs and of
/// indices.
pub(crate) fn offsets_on_the_device() -> Result<(), Failed> {
    let (backend, sorter) = open()?;
    let buffer = |words: &[u32]| SortBuffer::from_slice(&backend, words).map_err(support::failed);
    let mut offsets = vec![9, 9, 9, 4];
    LENGTHS.iter().for_each(|length| offsets.push(offsets[offsets.len() - 1] + length));
    let max = offsets[offsets.len() - 1] + 6;
    // The keys have few values, and start after the first word.
    let unsorted: Vec<u32> = keys(1 + max as usize).into_iter().map(|key| key % 101).collect();
    let on_device = buffer(&offsets)?;
    let counts = buffer(&[1, 5])?;
    let segments = Part { buffer: on_device.raw(), offset: 12 };
    let ask = Ask::up_to(max).options(Options::descending()).segments(segments, LENGTHS.len() as u32).counted_by(counts.raw(), 1);
    for (count, there) in [(Count::Fixed(LENGTHS.len() as u32), LENGTHS.len()), (Count::OnDevice, 5), (Count::Fixed(0), 0)] {
        let mut order: Vec<u32> = (0..max).collect();
        for ends in offsets[3..].windows(2).take(there) {
            order[ends[0] as usize..ends[1] as usize].sort_by_key(|&i| std::cmp::Reverse(unsorted[1 + i as usize]));
        }
        let sorted: Vec<u32> = unsorted[..1].iter().copied().chain(order.iter().map(|&i| unsorted[1 + i as usize])).collect();
        let (plain, paired, indexed) = (buffer(&unsorted)?, buffer(&unsorted)?, buffer(&unsorted)?);
        let positions: Vec<u32> = (0..max).collect();
        let (values, indices) = (buffer(&positions)?, buffer(&vec![7; max as usize])?);
        record(&backend, &sorter.prepare_sort::<u32>(part(plain.raw()), ask).map_err(support::failed)?, count)?;
        record(
            &backend,
            &sorter.prepare_sort_pairs::<u32, u32>(part(paired.raw()), values.raw(), ask).map_err(support::failed)?,
            count,
        )?;
        record(
            &backend,
            &sorter.prepare_argsort::<u32>(part(indexed.raw()), indices.raw(), ask).map_err(support::failed)?,
            count,
        )?;
        let read = |buffer: &SortBuffer<u32>| buffer.read().map(|words| words.to_vec()).map_err(support::failed);
        support::ensure(read(&plain)? == sorted, || format!("keys in {there} segments"))?;
        support::ensure(read(&paired)? == sorted && read(&values)? == order, || format!("pairs in {there} segments"))?;
        support::ensure(read(&indexed)? == unsorted && read(&indices)? == order, || format!("indices in {there} segments"))?;
    }
    Ok(())
}

/// The first keys of each segment are selected, for segments of all lengths, and for bounds that no segment can have.
pub(crate) fn first_of_each() -> Result<(), Failed> {
    let (backend, sorter) = open()?;
    let buffer = |words: &[u32]| SortBuffer::from_slice(&backend, words).map_err(support::failed);
    let mut offsets = vec![9, 9, 4];
    LENGTHS.iter().for_each(|length| offsets.push(offsets[offsets.len() - 1] + length));
    let max = offsets[offsets.len() - 1] + 6;
    // A segment that ends before it begins, one past all keys, one that ends past them, and one that overlaps others.
    offsets.extend([3, u32::MAX, max + 9, 2, max - 1]);
    let segments = offsets.len() - 3;
    let unsorted: Vec<u32> = keys(1 + max as usize).into_iter().map(|key| key % 101).collect();
    let (in_buffer, on_device, counts) = (buffer(&unsorted)?, buffer(&offsets)?, buffer(&[1, 5])?);
    let bounds = Part { buffer: on_device.raw(), offset: 8 };
    for (k, options) in [(1, Options::ascending()), (300, Options::descending()), (40, Options::ascending().bits(2..4))] {
        let ask = Ask::up_to(max).options(options).segments(bounds, segments as u32).counted_by(counts.raw(), 1);
        for (count, there) in [(Count::Fixed(segments as u32), segments), (Count::OnDevice, 5), (Count::Fixed(0), 0)] {
            let indices = buffer(&vec![7; k * segments + 2])?;
            let selection = sorter.prepare_top_k::<u32>(part(in_buffer.raw()), part(indices.raw()), k as u32, ask);
            record(&backend, &selection.map_err(support::failed)?, count)?;
            let mut expected = vec![7];
            for ends in offsets[2..].windows(2).take(there) {
                let begin = ends[0].min(max);
                let mut order: Vec<u32> = (begin..ends[1].min(max).max(begin)).collect();
                let key = |&i: &u32| unsorted[1 + i as usize];
                match k {
                    1 => order.sort_by_key(key),
                    300 => order.sort_by_key(|i| std::cmp::Reverse(key(i))),
                    _ => order.sort_by_key(|i| key(i) >> 2 & 3),
                }
                order.resize(order.len().max(k), u32::MAX);
                expected.extend_from_slice(&order[..k]);
            }
            expected.resize(k * segments + 2, 7);
            let found = indices.read().map_err(support::failed)?;
            support::ensure(*found == expected[..], || format!("the first {k} of {there} segments"))?;
        }
    }
    let indices = buffer(&[7; 100])?;
    let ask = Ask::up_to(max).segments(bounds, segments as u32);
    let many = backend.facts().most_selected() + 1;
    let refused = sorter.prepare_top_k::<u32>(part(in_buffer.raw()), part(indices.raw()), many, ask).map(|_| ());
    support::ensure(matches!(refused, Err(Error::Unsupported { .. })), || format!("{many} of each: {refused:?}"))?;
    let refused = sorter.prepare_top_k::<u32>(part(in_buffer.raw()), part(indices.raw()), 9, ask).map(|_| ());
    support::ensure(matches!(refused, Err(Error::InvalidBuffer { .. })), || format!("too little room: {refused:?}"))
}

/// Each row of a matrix is sorted, and the first keys of each are selected. The keys start after the first word, and a buffer has the number of rows.
pub(crate) fn rows() -> Result<(), Failed> {
    let (backend, sorter) = open()?;
    let buffer = |words: &[u32]| SortBuffer::from_slice(&backend, words).map_err(support::failed);
    let counts = buffer(&[1, 5])?;
    for [rows, len, stride] in [[9, 30, 32], [7, 1, 1], [6, 3000, 3001], [300, 100, 100], [1, 20_000, 0], [8, 0, 3], [0, 5, 5]] {
        let keys_in_all = (rows.max(1) - 1) * stride + len;
        let unsorted: Vec<u32> = keys(1 + keys_in_all as usize + 3).into_iter().map(|key| key % 101).collect();
        let ask = Ask::rows(rows, len, stride).options(Options::descending()).counted_by(counts.raw(), 1);
        for (count, there) in [(Count::Fixed(rows), rows), (Count::OnDevice, rows.min(5)), (Count::Fixed(0), 0)] {
            let (mut expected, mut firsts) = (unsorted.clone(), vec![]);
            for begin in (0..there).map(|row| (row * stride) as usize) {
                let row = begin..begin + len as usize;
                expected[1 + row.start..1 + row.end].sort_by_key(|&key| std::cmp::Reverse(key));
                let mut order: Vec<u32> = row.map(|at| at as u32).collect();
                order.sort_by_key(|&at| std::cmp::Reverse(unsorted[1 + at as usize]));
                order.resize(order.len().max(2), u32::MAX);
                firsts.extend_from_slice(&order[..2]);
            }
            firsts.resize(2 * rows as usize + 1, 7);
            let (sorted, indices) = (buffer(&unsorted)?, buffer(&vec![7; firsts.len()])?);
            let selection = sorter.prepare_top_k::<u32>(part(sorted.raw()), indices.raw(), 2, ask).map_err(support::failed)?;
            record(&backend, &selection, count)?;
            record(&backend, &sorter.prepare_sort::<u32>(part(sorted.raw()), ask).map_err(support::failed)?, count)?;
            let what = || format!("{there} of {rows} rows of {len} keys, {stride} apart");
            support::ensure(*sorted.read().map_err(support::failed)? == expected[..], what)?;
            support::ensure(*indices.read().map_err(support::failed)? == firsts[..], what)?;
        }
    }
    let some = buffer(&[0; 100])?;
    let refused = |rows, len, stride| sorter.prepare_sort::<u32>(some.raw(), Ask::rows(rows, len, stride)).map(|_| ());
    let overlap = refused(2, 3, 2);
    support::ensure(matches!(overlap, Err(Error::InvalidOffsets { index: 1, .. })), || {
        format!("rows that overlap: {overlap:?}")
    })?;
    let many = [refused(u32::MAX, 1, 1), refused(1 << 20, 1 << 12, 1 << 13)];
    support::ensure(many.iter().all(|many| matches!(many, Err(Error::TooLong { .. }))), || format!("too many: {many:?}"))?;
    let longer = refused(10, 10, 11);
    support::ensure(matches!(longer, Err(Error::InvalidBuffer { .. })), || format!("past the buffer: {longer:?}"))
}

/// Segments that end before they begin, that lie past all keys, or that overlap. The words around the keys must stay as they are, and the
/// next sort must be right.
pub(crate) fn invalid() -> Result<(), Failed> {
    const MAX: u32 = 40_000;
    let (backend, sorter) = open()?;
    let unsorted: Vec<u32> = keys(MAX as usize + 200);
    let mut wrong: Vec<u32> = (0..300).map(|i| [u32::MAX, 7 * i, 3, MAX + 5][i as usize % 4]).collect();
    wrong.extend((0..700).flat_map(|i| [0, MAX + 1, i]));
    for offsets in [wrong, vec![0, MAX / 3, MAX]] {
        let bounds = SortBuffer::from_slice(&backend, &offsets).map_err(support::failed)?;
        let all = SortBuffer::from_slice(&backend, &unsorted).map_err(support::failed)?;
        let part = Part { buffer: all.raw(), offset: 400 };
        let max = offsets.len() as u32 - 1;
        let sort = sorter.prepare_sort::<u32>(part, Ask::up_to(MAX).segments(bounds.raw(), max)).map_err(support::failed)?;
        record(&backend, &sort, Count::Fixed(max))?;
        let found = all.read().map_err(support::failed)?;
        let end = 100 + MAX as usize;
        let around = |words: &[u32]| [&words[..100], &words[end..]].concat();
        support::ensure(around(&found) == around(&unsorted), || "words around the keys have changed".into())?;
        if max == 2 {
            let ends = [100, 100 + MAX as usize / 3, end];
            let is_sorted = ends.windows(2).all(|ends| found[ends[0]..ends[1]].is_sorted());
            support::ensure(is_sorted, || "valid segments are not sorted".into())?;
        }
    }
    Ok(())
}
