//! Merges of two sorted runs, of buffers and recorded.

use crate::{open, open_alone, recording, support};
use bytemuck::Pod;
use core::fmt::Debug;
use libtest_mimic::Failed;
use polysort_core::{Error, MaskKey, Options, Spec};
use polysort_rayon::RayonBackend;
use polysort_wgpu::testing::{self, Knobs};
use polysort_wgpu::wgpu::{BufferDescriptor, BufferUsages, CommandEncoderDescriptor};
use polysort_wgpu::{Count, DeviceSorter, MergeAsk, Part, Setup, SortBuffer, WgpuBackend};
use support::{ensure, failed};

/// Returns `len` pseudo-random keys of `seed`, sorted by `options`. Their words have `bits` random bits at most.
fn run<K: MaskKey>(len: usize, seed: u64, bits: u32, options: Options) -> Vec<K> {
    let spec = Spec::of_masks::<K>(options).expect("a range of the key");
    let mut random = support::random(seed);
    let mut keys: Vec<K> = (0..len)
        .map(|_| {
            let words = [(); 4].map(|()| random().checked_shr(64 - bits.min(64)).unwrap_or(0).wrapping_mul(0x0100_0001));
            bytemuck::pod_read_unaligned(&bytemuck::bytes_of(&words)[..size_of::<K>()])
        })
        .collect();
    keys.sort_by_key(|&key| rank(key, spec));
    keys
}

fn rank<K: MaskKey>(key: K, spec: Spec) -> K::Bits {
    spec.rank(bytemuck::cast::<K, K::Bits>(key))
}

/// Returns the order of the merge of two runs: indices of keys in the first run, and after it in the second.
fn order<K: MaskKey>(runs: [&[K]; 2], options: Options) -> Vec<usize> {
    let spec = Spec::of_masks::<K>(options).expect("a range of the key");
    let keys = runs.concat();
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by_key(|&i| rank(keys[i], spec));
    order
}

/// Returns a value whose words all depend on `i`.
fn value<V: Pod>(i: usize) -> V {
    let words = [i as u32, !(i as u32), i as u32 ^ 0x5555, 7 * i as u32];
    bytemuck::pod_read_unaligned(&bytemuck::bytes_of(&words)[..size_of::<V>()])
}

fn same<T: Pod>(buffer: &SortBuffer<T>, expected: &[T], what: impl FnOnce() -> String) -> Result<(), Failed> {
    let found = buffer.read().map_err(failed)?;
    let same = bytemuck::cast_slice::<T, u8>(&found) == bytemuck::cast_slice::<T, u8>(expected);
    ensure(same, what)
}

/// Merges two runs, alone and with values, and compares the result with a stable sort.
fn check<K: MaskKey + Debug, V: Pod>(
    backend: &WgpuBackend,
    lens: [usize; 2],
    bits: u32,
    seed: u64,
    options: Options,
) -> Result<(), Failed> {
    let keys = [0, 1].map(|i| run::<K>(lens[i], seed + i as u64, bits, options));
    let total = lens[0] + lens[1];
    let order = order([&keys[0], &keys[1]], options);
    let all = keys.concat();
    let expected: Vec<K> = order.iter().map(|&i| all[i]).collect();
    let what = |what: &str| format!("{what} of {lens:?} {}, {bits} bits, {options:?}", std::any::type_name::<K>());
    let runs =
        [SortBuffer::from_slice(backend, &keys[0]).map_err(failed)?, SortBuffer::from_slice(backend, &keys[1]).map_err(failed)?];
    // The outputs have more room than needed.
    let mut merged = SortBuffer::with_capacity(backend, total + 5).map_err(failed)?;
    backend.merge_buffers_into([&runs[0], &runs[1]], &mut merged, options).map_err(failed)?;
    same(&merged, &expected, || what("the merge"))?;
    let values: Vec<V> = (0..total).map(value).collect();
    let (first, second) = values.split_at(lens[0]);
    let moved =
        [SortBuffer::from_slice(backend, first).map_err(failed)?, SortBuffer::from_slice(backend, second).map_err(failed)?];
    let mut merged_values = SortBuffer::with_capacity(backend, total + 1).map_err(failed)?;
    merged.set_len(0).map_err(failed)?;
    let pairs = [(&runs[0], &moved[0]), (&runs[1], &moved[1])];
    pollster::block_on(backend.merge_pairs_buffers_into_async(pairs, (&mut merged, &mut merged_values), options))
        .map_err(failed)?;
    same(&merged, &expected, || what("the merge with values"))?;
    same(&merged_values, &order.iter().map(|&i| values[i]).collect::<Vec<_>>(), || what("the values"))?;
    same(&runs[0], &keys[0], || what("the first run"))?;
    same(&runs[1], &keys[1], || what("the second run"))
}

pub(crate) fn merged() -> Result<(), Failed> {
    let backend = open()?;
    for (seed, lens) in [[0, 0], [0, 5], [3, 0], [1, 1], [700, 3000], [9000, 2], [20_011, 20_000]].into_iter().enumerate() {
        for (bits, options) in [(32, Options::ascending()), (3, Options::descending()), (32, Options::ascending().bits(7..11))] {
            check::<u32, u32>(&backend, lens, bits, 10 * seed as u64, options)?;
        }
    }
    // The CPU backend merges the same runs to the same result.
    let keys = [run::<f32>(3000, 1, 32, Options::descending()), run(2000, 2, 32, Options::descending())];
    let mut expected = vec![0.0; 5000];
    RayonBackend::default().merge_into_with(&[&keys[0], &keys[1]], &mut expected, Options::descending()).map_err(failed)?;
    let runs = [
        SortBuffer::from_slice(&backend, &keys[0]).map_err(failed)?,
        SortBuffer::from_slice(&backend, &keys[1]).map_err(failed)?,
    ];
    let mut merged = SortBuffer::with_capacity(&backend, 6000).map_err(failed)?;
    pollster::block_on(backend.merge_buffers_into_async([&runs[0], &runs[1]], &mut merged, Options::descending()))
        .map_err(failed)?;
    same(&merged, &expected, || "the CPU merges differently".into())?;
    // A run can be merged with itself.
    backend.merge_buffers_into([&runs[0], &runs[0]], &mut merged, Options::descending()).map_err(failed)?;
    same(&merged, &keys[0].iter().flat_map(|&key| [key; 2]).collect::<Vec<_>>(), || "a run with itself".into())
}

/// Windows of bits that begin and end within words, both directions, and values of all sizes.
pub(crate) fn kinds() -> Result<(), Failed> {
    let backend = open()?;
    let lens = [4001, 5002];
    check::<u8, u32>(&backend, lens, 64, 1, Options::ascending())?;
    check::<i8, [u32; 3]>(&backend, lens, 64, 2, Options::descending())?;
    check::<u16, [u32; 2]>(&backend, lens, 64, 3, Options::ascending().bits(3..9))?;
    check::<half::f16, u32>(&backend, lens, 64, 4, Options::descending())?;
    check::<i32, [u32; 4]>(&backend, lens, 9, 5, Options::ascending())?;
    check::<f32, u64>(&backend, lens, 64, 6, Options::descending())?;
    check::<u64, u32>(&backend, lens, 64, 7, Options::descending().bits(20..45))?;
    check::<f64, [u32; 3]>(&backend, lens, 5, 8, Options::ascending())?;
    check::<i128, u32>(&backend, lens, 64, 9, Options::ascending())?;
    check::<u128, [u32; 2]>(&backend, lens, 64, 10, Options::descending().bits(5..100))
}

/// Runs and outputs, with values whose pages have fewer elements, at lengths around those of pages.
pub(crate) fn in_pages() -> Result<(), Failed> {
    let knobs = Knobs { max_buffer: Some(5 << 10), ..Knobs::default() };
    let backend = testing::open(support::config(), knobs).map_err(failed)?;
    let long = SortBuffer::from_slice(&backend, &[0_u32; 2500]).map_err(failed)?;
    ensure(long.pages().len() == 3 && long.page_len() == 1024, || format!("{long:?}"))?;
    for (seed, lens) in (0..).zip([[1024, 1024], [3000, 0], [0, 2049], [1500, 4000], [700, 600]]) {
        check::<u32, u32>(&backend, lens, [32, 2][seed as usize % 2], seed, Options::ascending())?;
        check::<u32, [u32; 4]>(&backend, lens, 20, seed, Options::descending())?;
        check::<u8, u32>(&backend, lens.map(|len| 3 * len), 64, seed, Options::ascending())?;
    }
    Ok(())
}

/// Bindings of a few KiB, so that runs and outputs have several parts. Many patterns of both runs: the merge path crosses the
/// parts in many ways.
pub(crate) fn in_parts() -> Result<(), Failed> {
    let mut random = support::random(11);
    let limits = [4 << 10, 6 << 10];
    let backends = limits.map(|limit| testing::open(support::config(), Knobs { max_binding: Some(limit), ..Knobs::default() }));
    let [small, large] = backends;
    let backends = [small.map_err(failed)?, large.map_err(failed)?];
    for case in 0..8 {
        let backend = &backends[case % 2];
        let lens = [(random() % 4000) as usize, (random() % 3000) as usize];
        let bits = [32, 2, 20, 0][case / 2];
        let options = if case % 3 == 0 { Options::descending() } else { Options::ascending() };
        check::<u32, u32>(backend, lens, bits, 100 * case as u64, options)?;
        if case % 2 == 0 {
            check::<u8, u32>(backend, [lens[0] * 2, lens[1] * 3], 64 - bits, 100 * case as u64, options)?;
        } else {
            check::<u64, [u32; 3]>(backend, [lens[0] / 2, lens[1] / 2], bits, 100 * case as u64, options)?;
        }
    }
    // One run comes wholly before the other: then some parts of a run meet no part of the other.
    for (low, high) in [(0, 1), (1, 0)] {
        let mut keys = [vec![], vec![]];
        keys[low] = (0..3000_u32).collect();
        keys[high] = (3000..6000).collect();
        let runs = [
            SortBuffer::from_slice(&backends[0], &keys[0]).map_err(failed)?,
            SortBuffer::from_slice(&backends[0], &keys[1]).map_err(failed)?,
        ];
        let mut merged = SortBuffer::with_capacity(&backends[0], 6000).map_err(failed)?;
        backends[0].merge_buffers_into([&runs[0], &runs[1]], &mut merged, Options::ascending()).map_err(failed)?;
        same(&merged, &(0..6000).collect::<Vec<u32>>(), || format!("run {low} comes before run {high}"))?;
    }
    Ok(())
}

/// Both runs lie in one buffer, at any words. Nothing around the output changes.
pub(crate) fn recorded() -> Result<(), Failed> {
    let (backend, sorter) = recording::open()?;
    for (seed, [first, second]) in [[3000_u32, 5000], [1, 8000], [4097, 0]].into_iter().enumerate() {
        recorded_keys::<u64>(&backend, &sorter, [first, second], seed as u64)?;
        recorded_keys::<u16>(&backend, &sorter, [first, second], seed as u64)?;
    }
    Ok(())
}

fn recorded_keys<K: MaskKey>(backend: &WgpuBackend, sorter: &DeviceSorter, lens: [u32; 2], seed: u64) -> Result<(), Failed> {
    let options = Options::descending();
    let keys = [0, 1].map(|i| run::<K>(lens[i] as usize, seed + i as u64, 40, options));
    let words_of = |count: usize| (count * size_of::<K>()).div_ceil(4);
    let starts = [3, 3 + words_of(keys[0].len()) + 2];
    let mut words: Vec<u32> = (0..(starts[1] + words_of(keys[1].len()) + 9) as u32).map(|i| i * 0x9e37).collect();
    for (keys, start) in keys.iter().zip(starts) {
        bytemuck::cast_slice_mut::<u32, u8>(&mut words)[4 * start..][..size_of_val(&**keys)]
            .copy_from_slice(bytemuck::cast_slice(keys));
    }
    let input = SortBuffer::from_slice(backend, &words).map_err(failed)?;
    let noise: Vec<u32> = (0..words.len() as u32 + 70).map(|i| i * 0x9e39 + 1).collect();
    let counts = SortBuffer::from_slice(backend, &[9, lens[0], 9, lens[1]]).map_err(failed)?;
    let parts = starts.map(|start| Part { buffer: input.raw(), offset: 4 * start as u64 });
    for (on_device, to) in [([false, false], 1), ([true, true], 66), ([true, false], 5)] {
        let output = SortBuffer::from_slice(backend, &noise).map_err(failed)?;
        let ask = MergeAsk::up_to(lens[0], lens[1]).options(options);
        let ask = ask.first_counted_by(counts.raw(), 1).second_counted_by(counts.raw(), 3);
        let merged = Part { buffer: output.raw(), offset: 4 * to as u64 };
        let merge = sorter.prepare_merge::<K>(parts, merged, ask).map_err(failed)?;
        // The first of the two merges has fewer keys.
        let fewer = [lens[0] / 2, lens[1] / 3];
        let mut encoder = backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
        merge.record_in(&mut encoder, fewer.map(Count::Fixed)).map_err(failed)?;
        let first = SortBuffer::from_slice(backend, &noise).map_err(failed)?;
        encoder.copy_buffer_to_buffer(output.raw(), 0, first.raw(), 0, 4 * noise.len() as u64);
        let count = |i: usize| if on_device[i] { Count::OnDevice } else { Count::Fixed(lens[i]) };
        merge.record_in(&mut encoder, [count(0), count(1)]).map_err(failed)?;
        backend.queue().submit([encoder.finish()]);
        for (found, lens) in [(&first, fewer), (&output, lens)] {
            let runs = [&keys[0][..lens[0] as usize], &keys[1][..lens[1] as usize]];
            let all = runs.concat();
            let merged: Vec<K> = order(runs, options).into_iter().map(|i| all[i]).collect();
            let mut expected = noise.clone();
            // The second merge overwrites the first, which has fewer keys.
            bytemuck::cast_slice_mut::<u32, u8>(&mut expected)[4 * to..][..size_of_val(&*merged)]
                .copy_from_slice(bytemuck::cast_slice(&merged));
            same(found, &expected, || format!("{lens:?} {}, at word {to}, {on_device:?}", std::any::type_name::<K>()))?;
        }
        let refused = merge.record_in(
            &mut backend.device().create_command_encoder(&CommandEncoderDescriptor::default()),
            [Count::Fixed(lens[0] + 1), Count::Fixed(0)],
        );
        ensure(matches!(refused, Err(Error::TooLong { .. })), || format!("{refused:?}"))?;
    }
    Ok(())
}

pub(crate) fn unsorted() -> Result<(), Failed> {
    let (backend, sorter) = recording::open()?;
    let mut random = support::random(5);
    for lens in [[9000_usize, 7000], [100, 20_000]] {
        let runs = lens.map(|len| (0..len).map(|_| random() as u32 | 1).collect::<Vec<_>>());
        let buffers = [
            SortBuffer::from_slice(&backend, &runs[0]).map_err(failed)?,
            SortBuffer::from_slice(&backend, &runs[1]).map_err(failed)?,
        ];
        let total = lens[0] + lens[1];
        let output = SortBuffer::from_slice(&backend, &vec![0_u32; total + 100]).map_err(failed)?;
        let merged = Part { buffer: output.raw(), offset: 200 };
        let ask = MergeAsk::up_to(lens[0] as u32, lens[1] as u32);
        let merge = sorter.prepare_merge::<u32>(buffers.each_ref().map(SortBuffer::raw), merged, ask).map_err(failed)?;
        let mut encoder = backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
        merge.record_in(&mut encoder, lens.map(|len| Count::Fixed(len as u32))).map_err(failed)?;
        backend.queue().submit([encoder.finish()]);
        let found = output.read().map_err(failed)?;
        let (before, rest) = found.split_at(50);
        let (keys, after) = rest.split_at(total);
        ensure(before.iter().chain(after).all(|&word| word == 0), || "words around the output have changed".into())?;
        let all: std::collections::HashSet<u32> = runs.concat().into_iter().collect();
        ensure(keys.iter().all(|key| all.contains(key)), || "the output has other keys than the runs".into())?;
    }
    Ok(())
}

pub(crate) fn refused() -> Result<(), Failed> {
    let (backend, sorter) = recording::open()?;
    let stranger = open_alone()?;
    let run = SortBuffer::from_slice(&backend, &[1_u32, 2, 3]).map_err(failed)?;
    let mut short = SortBuffer::<u32>::with_capacity(&backend, 5).map_err(failed)?;
    let refused = backend.merge_buffers_into([&run, &run], &mut short, Options::ascending());
    ensure(matches!(refused, Err(Error::TooLong { asked: 6, limit: 5, .. })) && short.is_empty(), || format!("{refused:?}"))?;
    let mut merged = SortBuffer::<u32>::with_capacity(&backend, 6).map_err(failed)?;
    let refused = stranger.merge_buffers_into([&run, &run], &mut merged, Options::ascending());
    ensure(matches!(refused, Err(Error::InvalidBuffer { .. })), || format!("{refused:?}"))?;
    let refused = backend.merge_buffers_into([&run, &run], &mut merged, Options::ascending().bits(5..40));
    ensure(matches!(refused, Err(Error::InvalidRange { .. })), || format!("{refused:?}"))?;
    let values = SortBuffer::from_slice(&backend, &[1_u32, 2]).map_err(failed)?;
    let mut merged_values = SortBuffer::<u32>::with_capacity(&backend, 6).map_err(failed)?;
    let pairs = [(&run, &values), (&run, &values)];
    let refused = backend.merge_pairs_buffers_into(pairs, (&mut merged, &mut merged_values), Options::ascending());
    ensure(matches!(refused, Err(Error::LengthMismatch { left_len: 3, right_len: 2, .. })), || format!("{refused:?}"))?;
    ensure(merged.is_empty() && merged_values.is_empty(), || "a refused merge changed a buffer".into())?;

    let make =
        |size, usage| backend.device().create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
    let (input, output) = (make(4096, BufferUsages::STORAGE), make(4096, BufferUsages::STORAGE));
    let other = make(4096, BufferUsages::COPY_DST);
    let ask = MergeAsk::up_to(500, 400);
    let part = |offset| Part { buffer: &input, offset };
    let to = Part::from(&output);
    let at = |offset| Part { buffer: &output, offset };
    let cases = [
        ("a run past the end", sorter.prepare_merge::<u32>([part(0), part(2500)], to, ask)),
        ("an output past the end", sorter.prepare_merge::<u32>([part(0), part(0)], at(500), ask)),
        ("a missing usage", sorter.prepare_merge::<u32>([part(0), Part::from(&other)], to, ask)),
        ("an offset that is no multiple of 4", sorter.prepare_merge::<u32>([part(0), part(2)], to, ask)),
        ("the largest offset", sorter.prepare_merge::<u32>([part(0), part(u64::MAX - 3)], to, ask)),
        ("an output in the buffer of a run", sorter.prepare_merge::<u32>([at(0), part(0)], to, MergeAsk::up_to(5, 5))),
        ("a count in the output", sorter.prepare_merge::<u32>([part(0), part(0)], to, ask.second_counted_by(&output, 1020))),
        (
            "a count beyond its buffer",
            sorter.prepare_merge::<u32>([part(0), part(0)], to, ask.first_counted_by(&input, u32::MAX)),
        ),
        (
            "an overlap",
            sorter.prepare_merge_pairs::<u32, u32>([(part(0), part(0)), (part(0), part(0))], to, at(36), MergeAsk::up_to(5, 5)),
        ),
    ];
    for (what, result) in cases {
        let result = result.map(|_| ());
        ensure(matches!(result, Err(Error::InvalidBuffer { .. })), || format!("{what}: {result:?}"))?;
    }
    let apart =
        sorter.prepare_merge_pairs::<u32, u32>([(part(0), part(0)), (part(0), part(0))], to, at(40), MergeAsk::up_to(5, 5));
    ensure(apart.is_ok(), || format!("neighbors in one buffer are refused: {apart:?}"))?;
    let long = sorter.prepare_merge::<u32>([part(0), part(0)], to, MergeAsk::up_to(u32::MAX, u32::MAX));
    ensure(matches!(long, Err(Error::TooLong { .. })), || format!("{long:?}"))?;
    let merge = sorter.prepare_merge::<u32>([part(0), part(0)], to, ask).map_err(failed)?;
    let mut encoder = backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
    let refused = merge.record_in(&mut encoder, [Count::Fixed(1), Count::OnDevice]);
    ensure(matches!(refused, Err(Error::Unsupported { .. })), || format!("{refused:?}"))
}

pub(crate) fn untested() -> Result<(), Failed> {
    let backend = open_alone()?;
    let sorter = DeviceSorter::with(backend.device(), Setup::untested()).map_err(failed)?;
    let runs = [
        SortBuffer::from_slice(&backend, &[2_u32, 4]).map_err(failed)?,
        SortBuffer::from_slice(&backend, &[1, 3]).map_err(failed)?,
    ];
    let output = SortBuffer::from_slice(&backend, &[0_u32; 4]).map_err(failed)?;
    let before = recording::submission(&backend)?;
    let merge =
        sorter.prepare_merge::<u32>(runs.each_ref().map(SortBuffer::raw), output.raw(), MergeAsk::up_to(2, 2)).map_err(failed)?;
    ensure(recording::submission(&backend)? == before + 1, || "a sorter without a queue has submitted commands".into())?;
    let mut encoder = backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
    merge.record_in(&mut encoder, [Count::Fixed(2); 2]).map_err(failed)?;
    backend.queue().submit([encoder.finish()]);
    same(&output, &[1, 2, 3, 4], || "the untested merge is wrong".into())?;
    let before = recording::submission(&backend)?;
    sorter.self_test(backend.queue()).map_err(failed)?;
    ensure(recording::submission(&backend)? > before + 1, || "the self-test has submitted nothing".into())?;
    let before = recording::submission(&backend)?;
    sorter.self_test(backend.queue()).map_err(failed)?;
    ensure(recording::submission(&backend)? == before + 1, || "a kind was tested twice".into())
}
