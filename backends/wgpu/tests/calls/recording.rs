//! Sorts that are recorded into the caller's command encoder.

use crate::{keys, support};
use bytemuck::Pod;
use libtest_mimic::Failed;
use polysort_core::{Error, MaskKey, Options, Sort};
use polysort_shaders::plan::SortPlan;
use polysort_wgpu::wgpu::{Buffer, BufferDescriptor, BufferUsages, CommandEncoderDescriptor, PollType};
use polysort_wgpu::{Ask, Count, DeviceSorter, Part, PassKind, PassShape, Prepared, Setup, SortBuffer, Tuned, WgpuBackend};
use std::sync::OnceLock;
use std::time::Instant;

/// The number of recordings that are timed.
const SORTS: u32 = 20;

/// Returns the backend that tests share, and a sorter on its device that they share too.
pub(crate) fn open() -> Result<(WgpuBackend, DeviceSorter), Failed> {
    static SHARED: OnceLock<Result<DeviceSorter, Error>> = OnceLock::new();
    let backend = crate::open()?;
    let sorter = SHARED.get_or_init(|| DeviceSorter::new(backend.device(), backend.queue()));
    Ok((backend, sorter.clone().map_err(support::failed)?))
}

pub(crate) fn two_counts() -> Result<(), Failed> {
    let (backend, sorter) = open()?;
    let input = keys(50_000);
    let buffer = |keys: &[u32]| SortBuffer::from_slice(&backend, keys).map_err(support::failed);
    let (all, first) = (buffer(&input)?, buffer(&input)?);
    let sort = sorter.prepare_sort::<u32>(all.raw(), Ask::up_to(50_000)).map_err(support::failed)?;
    let mut encoder = backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
    for count in [700, 30_001] {
        sort.record_in(&mut encoder, Count::Fixed(count)).map_err(support::failed)?;
        if count == 700 {
            encoder.copy_buffer_to_buffer(all.raw(), 0, first.raw(), 0, 4 * 50_000);
        }
    }
    backend.queue().submit([encoder.finish()]);
    let sorted = |count: usize| {
        let mut sorted = input.clone();
        sorted[..count].sort_unstable();
        sorted
    };
    support::ensure(*first.read().map_err(support::failed)? == sorted(700), || "the first sort is wrong".into())?;
    support::ensure(*all.read().map_err(support::failed)? == sorted(30_001), || "the second sort is wrong".into())?;
    let mut encoder = backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
    let refused = sort.record_in(&mut encoder, Count::Fixed(50_001));
    support::ensure(matches!(refused, Err(Error::TooLong { asked: 50_001, limit: 50_000, .. })), || format!("{refused:?}"))?;
    let refused = sort.record_in(&mut encoder, Count::OnDevice);
    support::ensure(matches!(refused, Err(Error::Unsupported { .. })), || format!("{refused:?}"))
}

/// Returns the number of a new submission: that of the submission before it, and one.
pub(crate) fn submission(backend: &WgpuBackend) -> Result<u64, Failed> {
    let index = format!("{:?}", backend.queue().submit([]));
    Ok(index.chars().filter(char::is_ascii_digit).collect::<String>().parse()?)
}

/// A sorter without a queue prepares without a self-test. `self_test` then tests what was prepared, once.
pub(crate) fn untested() -> Result<(), Failed> {
    let backend = crate::open_alone()?;
    let sorter = DeviceSorter::with(backend.device(), Setup::untested()).map_err(support::failed)?;
    let input = keys(30_000);
    let on_device = SortBuffer::from_slice(&backend, &input).map_err(support::failed)?;
    let before = submission(&backend)?;
    let sort = sorter.prepare_sort::<u32>(on_device.raw(), Ask::up_to(30_000)).map_err(support::failed)?;
    support::ensure(submission(&backend)? == before + 1, || "a sorter without a queue has submitted commands".into())?;
    let mut encoder = backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
    sort.record_in(&mut encoder, Count::Fixed(30_000)).map_err(support::failed)?;
    backend.queue().submit([encoder.finish()]);
    let mut sorted = input;
    sorted.sort_unstable();
    support::ensure(*on_device.read().map_err(support::failed)? == sorted, || "the untested sort is wrong".into())?;
    let before = submission(&backend)?;
    sorter.self_test(backend.queue()).map_err(support::failed)?;
    support::ensure(submission(&backend)? > before + 1, || "the self-test has submitted nothing".into())?;
    let before = submission(&backend)?;
    sorter.self_test(backend.queue()).map_err(support::failed)?;
    support::ensure(submission(&backend)? == before + 1, || "a kind was tested twice".into())?;
    // The kind is tested now, so preparing it again changes nothing.
    let again = sorter.prepare_sort::<u32>(on_device.raw(), Ask::up_to(30_000)).map_err(support::failed)?;
    support::ensure(again.plan() == sort.plan(), || {
        format!("{}\nafter the self-test, but before:\n{}", again.plan(), sort.plan())
    })
}

pub(crate) fn tuned() -> Result<(), Failed> {
    // This shape fits all devices with subgroups, except those with 128 lanes.
    let (kind, shape) = (PassKind::new(1, 0), PassShape { group: 64, keys: 6, slices: 3 });
    let mut config = support::config();
    let tuned = Tuned::NONE.with(kind, shape).map_err(support::failed)?;
    config.tuned = tuned;
    let backend = WgpuBackend::open_with(config).map_err(support::failed)?;
    if let Some(made) = backend.facts().pass_shape(kind).filter(|_| backend.info().subgroup_max_size <= 64) {
        support::ensure(made == shape, || format!("the plan has the shape {made}, not {shape}"))?;
    }
    let mut sorted = keys(30_000);
    let on_device = SortBuffer::from_slice(&backend, &sorted).map_err(support::failed)?;
    let sorter = DeviceSorter::with(backend.device(), Setup::tested_on(backend.queue()).tuned(tuned)).map_err(support::failed)?;
    let sort = sorter.prepare_sort::<u32>(on_device.raw(), Ask::up_to(30_000)).map_err(support::failed)?;
    let expected = SortPlan::new(sort.plan().request, backend.facts()).map_err(support::failed)?;
    support::ensure(*sort.plan() == expected, || format!("another plan than the backend's:\n{}\n{expected}", sort.plan()))?;
    let mut encoder = backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
    sort.record_in(&mut encoder, Count::Fixed(30_000)).map_err(support::failed)?;
    backend.queue().submit([encoder.finish()]);
    let mut of_host = sorted.clone();
    backend.sort(&mut of_host).map_err(support::failed)?;
    sorted.sort_unstable();
    support::ensure(of_host == sorted, || "the sort of a slice is wrong".into())?;
    support::ensure(*on_device.read().map_err(support::failed)? == sorted, || "the recorded sort is wrong".into())
}

/// If kernels fail their self-test, slower ones sort, and only a warning reports it. This test fails if any self-test fails.
pub(crate) fn planned() -> Result<(), Failed> {
    let (backend, sorter) = open()?;
    let usage = BufferUsages::STORAGE;
    let room =
        backend.device().create_buffer(&BufferDescriptor { label: None, size: 32 << 20, usage, mapped_at_creation: false });
    if support::is_software(&backend) {
        return is_planned::<u16>(&sorter, &room, 1 << 24);
    }
    for max in [1000, 1 << 19, 1 << 22, 1 << 24] {
        is_planned::<u8>(&sorter, &room, max)?;
        is_planned::<u16>(&sorter, &room, max)?;
        is_planned::<u32>(&sorter, &room, max.min(1 << 23))?;
        is_planned::<u64>(&sorter, &room, max.min(1 << 22))?;
    }
    let values =
        backend.device().create_buffer(&BufferDescriptor { label: None, size: 32 << 20, usage, mapped_at_creation: false });
    are_planned::<u32, u32>(&sorter, &room, &values)?;
    are_planned::<u32, u64>(&sorter, &room, &values)?;
    are_planned::<u64, u32>(&sorter, &room, &values)?;
    are_planned::<u64, u64>(&sorter, &room, &values)
}

fn is_planned<K: MaskKey>(sorter: &DeviceSorter, room: &Buffer, max: u32) -> Result<(), Failed> {
    is_as_planned::<K>(sorter.prepare_sort::<K>(room, Ask::up_to(max)), max)
}

/// Prepares sorts of pairs with the tiles of short inputs and of long ones.
fn are_planned<K: MaskKey, V: Pod>(sorter: &DeviceSorter, room: &Buffer, values: &Buffer) -> Result<(), Failed> {
    [1 << 19, 1 << 22]
        .into_iter()
        .try_for_each(|max| is_as_planned::<K>(sorter.prepare_sort_pairs::<K, V>(room, values, Ask::up_to(max)), max))
}

fn is_as_planned<K>(prepared: Result<Prepared, Error>, max: u32) -> Result<(), Failed> {
    let sort = prepared.map_err(support::failed)?;
    // A failed self-test would have set another algorithm.
    let instead = sort.plan().request.algorithm;
    let what = || format!("up to {max} {} are sorted by {instead:?} instead of as planned", std::any::type_name::<K>());
    support::ensure(instead.is_none(), what)
}

pub(crate) fn parts() -> Result<(), Failed> {
    let (backend, sorter) = open()?;
    for (start, max, count) in [(3_usize, 9000_u32, 8000_u32), (1, 40_000, 33_333), (65, 100, 17)] {
        let words = keys(2 * max as usize + start + 5);
        let buffer = SortBuffer::from_slice(&backend, &words).map_err(support::failed)?;
        let counts = SortBuffer::from_slice(&backend, &[9, count, 9]).map_err(support::failed)?;
        let part = Part { buffer: buffer.raw(), offset: 4 * start as u64 };
        let ask = Ask::up_to(max).options(Options::descending()).counted_by(counts.raw(), 1);
        let sort = sorter.prepare_sort::<u64>(part, ask).map_err(support::failed)?;
        let mut encoder = backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
        sort.record_in(&mut encoder, Count::OnDevice).map_err(support::failed)?;
        backend.queue().submit([encoder.finish()]);
        let end = start + 2 * count as usize;
        let mut pairs: Vec<u64> = words[start..end].chunks_exact(2).map(|w| u64::from(w[0]) | u64::from(w[1]) << 32).collect();
        pairs.sort_unstable_by(|a, b| b.cmp(a));
        let sorted = pairs.into_iter().flat_map(|pair| [pair as u32, (pair >> 32) as u32]);
        let expected: Vec<u32> = words[..start].iter().copied().chain(sorted).chain(words[end..].iter().copied()).collect();
        support::ensure(*buffer.read().map_err(support::failed)? == expected, || format!("{count} keys at word {start}"))?;
    }
    Ok(())
}

pub(crate) fn refused() -> Result<(), Failed> {
    let (backend, sorter) = open()?;
    let make = |size, usage| -> Buffer {
        backend.device().create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    };
    let (buffer, other) = (make(4096, BufferUsages::STORAGE), make(4096, BufferUsages::COPY_DST));
    let lists = make(4096, BufferUsages::STORAGE);
    let far = Part { buffer: &lists, offset: u64::MAX - 3 };
    let ask = Ask::up_to(600);
    let part = |offset| Part { buffer: &buffer, offset };
    let cases = [
        ("keys past the end", sorter.prepare_sort::<u32>(part(1700), ask)),
        ("a missing usage", sorter.prepare_sort::<u32>(&other, ask)),
        ("an offset that is no multiple of 4", sorter.prepare_sort::<u32>(part(2), ask)),
        ("an overlap", sorter.prepare_sort_pairs::<u32, u32>(part(0), part(1000), ask)),
        ("a count in the buffer of the keys", sorter.prepare_sort::<u32>(&buffer, ask.counted_by(&buffer, 1000))),
        ("the largest offset", sorter.prepare_sort::<u32>(part(u64::MAX - 3), ask)),
        ("a large offset", sorter.prepare_sort::<u32>(part(u64::MAX - 7), Ask::up_to(0))),
        ("values at the largest offset", sorter.prepare_sort_pairs::<u32, u32>(part(0), part(u64::MAX - 3), Ask::up_to(2))),
        ("begins at the largest offset", sorter.prepare_sort::<u32>(part(0), Ask::up_to(2).segments(far, 2))),
        ("a count beyond its buffer", sorter.prepare_sort::<u32>(part(0), Ask::up_to(2).counted_by(&lists, u32::MAX))),
    ];
    for (what, result) in cases {
        let result = result.map(|_| ());
        support::ensure(matches!(result, Err(Error::InvalidBuffer { .. })), || format!("{what}: {result:?}"))?;
    }
    let apart = sorter.prepare_sort_pairs::<u32, u32>(part(0), part(2400), Ask::up_to(400));
    support::ensure(apart.is_ok(), || "two halves of one buffer are refused".into())
}

pub(crate) fn first_keys() -> Result<(), Failed> {
    const MAX: usize = 50_000;
    let (backend, sorter) = open()?;
    // The keys have few values, and start after the first word.
    let words: Vec<u32> =
        keys(2 * MAX + 1).iter().enumerate().map(|(i, word)| if i % 2 == 0 { 0 } else { word & 0x3ff }).collect();
    let wide: Vec<u64> = words[1..].chunks_exact(2).map(|pair| u64::from(pair[1]) << 32 | u64::from(pair[0])).collect();
    let buffer = SortBuffer::from_slice(&backend, &words).map_err(support::failed)?;
    let counts = SortBuffer::from_slice(&backend, &[0, 12_345]).map_err(support::failed)?;
    let from = Part { buffer: buffer.raw(), offset: 4 };
    let ask = Ask::up_to(MAX as u32).options(Options::descending()).counted_by(counts.raw(), 1);
    let none = ask.options(Options::descending().bits(5..5));
    // One workgroup per segment selects; all workgroups select, and one launch or several sort the selected keys; no bits are compared.
    let most = backend.facts().most_selected() as usize;
    for (k, ask, counts_bits) in [(300, ask, true), (most + 1, ask, true), (11_000, ask, true), (11_000, none, false)] {
        let indices = SortBuffer::from_slice(&backend, &vec![7_u32; k + 2]).map_err(support::failed)?;
        let to = Part { buffer: indices.raw(), offset: 4 };
        let first = sorter.prepare_top_k::<u64>(from, to, k as u32, ask).map_err(support::failed)?;
        for (count, there) in
            [(Count::Fixed(MAX as u32), MAX), (Count::OnDevice, 12_345), (Count::Fixed(200), 200), (Count::Fixed(0), 0)]
        {
            let mut encoder = backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
            first.record_in(&mut encoder, count).map_err(support::failed)?;
            backend.queue().submit([encoder.finish()]);
            let mut expected: Vec<u32> = (0..there as u32).collect();
            if counts_bits {
                expected.sort_by_key(|&i| std::cmp::Reverse(wide[i as usize]));
            }
            expected.resize(there.max(k), u32::MAX);
            let found = indices.read().map_err(support::failed)?;
            support::ensure(found[1..=k] == expected[..k], || format!("the first {k} of {there} are {:?}", &found[..20]))?;
            support::ensure(found[0] == 7 && found[k + 1] == 7, || "words around the indices have changed".into())?;
        }
    }
    let indices = SortBuffer::from_slice(&backend, &[7_u32; 302]).map_err(support::failed)?;
    let to = Part { buffer: indices.raw(), offset: 4 };
    let refused = sorter.prepare_top_k::<u64>(from, to, 0, ask);
    support::ensure(matches!(refused, Err(Error::Unsupported { .. })), || "a selection of 0 keys is not refused".into())?;
    // A buffer may be larger than requested.
    let room = (indices.raw().size() / 4 - 1) as u32;
    let refused = sorter.prepare_top_k::<u64>(from, to, room + 1, ask);
    support::ensure(matches!(refused, Err(Error::InvalidBuffer { .. })), || format!("{room} + 1 indices: {:?}", refused.err()))
}

/// Keys and selected indices in parts of one buffer that do not overlap.
pub(crate) fn first_keys_in_one_buffer() -> Result<(), Failed> {
    const MAX: usize = 20_000;
    let (backend, sorter) = open()?;
    let words = keys(MAX + 100);
    let most = backend.facts().most_selected() as usize;
    // One workgroup per segment selects; all workgroups together select.
    for k in [300, most + 1] {
        let buffer = SortBuffer::from_slice(&backend, &[&words[..], &vec![7; k + 1]].concat()).map_err(support::failed)?;
        let (from, to) =
            (Part { buffer: buffer.raw(), offset: 400 }, Part { buffer: buffer.raw(), offset: 4 * words.len() as u64 });
        let run = |prepared: Result<Prepared, Error>, expected: &[u32]| {
            let mut encoder = backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
            prepared.map_err(support::failed)?.record_in(&mut encoder, Count::Fixed(MAX as u32)).map_err(support::failed)?;
            backend.queue().submit([encoder.finish()]);
            let found = buffer.read().map_err(support::failed)?;
            support::ensure(found[..words.len()] == words, || "the keys were changed".into())?;
            support::ensure(found[words.len()..][..k] == expected[..k], || format!("the first {k} are wrong"))?;
            support::ensure(found[words.len() + k] == 7, || "the word after the indices has changed".into())
        };
        let by = |key: &dyn Fn(u32) -> u32| {
            let mut order: Vec<u32> = (0..MAX as u32).collect();
            order.sort_by_key(|&i| key(i));
            order
        };
        let ask = Ask::up_to(MAX as u32);
        run(sorter.prepare_top_k::<u32>(from, to, k as u32, ask), &by(&|i| words[100 + i as usize]))?;
        // Keys of 16 bits, two in a word.
        let half = |i: u32| words[100 + i as usize / 2] >> (16 * (i % 2)) & 0xffff;
        run(sorter.prepare_top_k::<u16>(from, to, k as u32, ask), &by(&half))?;
        // An overlap is refused.
        let overlapping = Part { buffer: buffer.raw(), offset: 4 * (99 + MAX as u64) };
        let refused = sorter.prepare_top_k::<u32>(from, overlapping, k as u32, ask);
        support::ensure(matches!(refused, Err(Error::InvalidBuffer { .. })), || format!("{:?}", refused.err()))?;
    }
    Ok(())
}

pub(crate) fn makes_nothing() -> Result<(), Failed> {
    let backend = crate::open_alone()?;
    let (device, queue) = (backend.device(), backend.queue());
    let sorter = DeviceSorter::new(device, queue).map_err(support::failed)?;
    let len = 100_000;
    let keys = SortBuffer::from_slice(&backend, &keys(len as usize)).map_err(support::failed)?;
    let sort = sorter.prepare_sort::<u32>(keys.raw(), Ask::up_to(len)).map_err(support::failed)?;
    // Earlier writes and frees take effect here, so that the counters below do not include them.
    queue.submit([]);
    device.poll(PollType::wait_indefinitely())?;
    // All counters of wgpu, and the number of a new submission.
    let state = || (format!("{:?}", device.get_internal_counters()), submission(&backend));
    let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
    let mut pass = encoder.begin_compute_pass(&Default::default());
    let (before, first) = state();
    let started = Instant::now();
    for _ in 0..SORTS {
        sort.record(&mut pass, Count::Fixed(len)).map_err(support::failed)?;
    }
    let recorded = started.elapsed();
    let (after, next) = state();
    drop(pass);
    support::ensure(before == after, || format!("{before}\nbefore,\n{after}\nafter"))?;
    let groups = device.get_internal_counters().hal.bind_groups.read();
    support::ensure(groups > 0, || format!("wgpu counts nothing: {before}"))?;
    let (first, next) = (first?, next?);
    support::ensure(next == first + 1, || format!("submission {first}, then {next}"))?;
    println!("a recording takes {:?}", recorded / SORTS);
    queue.submit([encoder.finish()]);
    support::ensure(keys.read().map_err(support::failed)?.is_sorted(), || "not sorted".into())
}
