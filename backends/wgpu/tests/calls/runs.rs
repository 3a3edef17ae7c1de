//! Runs of equal keys that are found in buffers, and sorts of segments that take them from there.

use crate::recording::open;
use crate::support;
use libtest_mimic::Failed;
use polysort_core::{Error, MaskKey, Options, Sort, Word};
use polysort_kit::TestKey;
use polysort_wgpu::wgpu::{Buffer, BufferDescriptor, BufferUsages, CommandEncoderDescriptor};
use polysort_wgpu::{Ask, Count, DeviceSorter, Part, RunBuffers, SortBuffer, WgpuBackend};

/// Keys in runs of 1 to 3 keys; some runs are much longer.
fn in_runs<K: TestKey>(len: usize, seed: u64) -> Vec<K> {
    let mut random = support::random(seed);
    let mut keys: Vec<K> = vec![];
    while keys.len() < len {
        let word = random();
        let length = if word.is_multiple_of(1000) { 9000 } else { 1 + (word >> 20) as usize % 3 };
        let key = K::from_raw(u128::from(random()) << 64 | u128::from(random()));
        keys.resize((keys.len() + length).min(len), key);
    }
    keys
}

/// The words that are in an output before the search.
fn noise(len: usize) -> Vec<u32> {
    let mut random = support::random(len as u64);
    (0..len).map(|_| random() as u32).collect()
}

/// All outputs and keys start at a word of their own. The count is fixed, or lies on the device.
pub(crate) fn outputs() -> Result<(), Failed> {
    let (backend, sorter) = open()?;
    of_keys::<u8>(&backend, &sorter, Options::ascending())?;
    of_keys::<i16>(&backend, &sorter, Options::descending().bits(3..))?;
    of_keys::<f32>(&backend, &sorter, Options::ascending())?;
    of_keys::<u64>(&backend, &sorter, Options::ascending().bits(20..50))?;
    of_keys::<i128>(&backend, &sorter, Options::descending())
}

fn of_keys<K: TestKey + MaskKey>(backend: &WgpuBackend, sorter: &DeviceSorter, options: Options) -> Result<(), Failed> {
    const MAX: usize = 40_000;
    let size = size_of::<K>();
    let keys: Vec<K> = in_runs(MAX, size as u64);
    let buffer = |words: &[u32]| SortBuffer::from_slice(backend, words).map_err(support::failed);
    let words_of = |keys: &[K]| -> Vec<u32> { bytemuck::pod_collect_to_vec(bytemuck::cast_slice::<K, u8>(keys)) };
    let counts = buffer(&[9, 33_333])?;
    let windowed = |key: &K| {
        let window = options.window.map_or((0, K::WIDTH), |window| (window.begin, window.end.unwrap_or(K::WIDTH)));
        key.to_bits().widen() << (128 - window.1) >> (128 - window.1 + window.0)
    };
    for (first, count, there) in [
        (0, Count::Fixed(MAX as u32), MAX),
        (1, Count::OnDevice, 33_333),
        (3, Count::Fixed(30_001), 30_001),
        (5, Count::Fixed(1), 1),
        (2, Count::Fixed(0), 0),
    ] {
        let in_buffer = buffer(&[vec![7; first], words_of(&keys)].concat())?;
        let before = noise(first + size.max(4) * MAX / 4 + 8);
        let outputs = [0, 1, 2, 3].map(|_| buffer(&before));
        let [run_count, unique, offsets, lengths] = outputs;
        let (run_count, unique, offsets, lengths) = (run_count?, unique?, offsets?, lengths?);
        let part = |buffer| Part { buffer, offset: 4 * first as u64 };
        let runs = RunBuffers::counted_in(part(run_count.raw()))
            .unique(part(unique.raw()))
            .offsets(part(offsets.raw()))
            .lengths(part(lengths.raw()));
        let ask = Ask::up_to(MAX as u32).options(options).counted_by(counts.raw(), 1);
        let prepared = sorter.prepare_runs::<K>(part(in_buffer.raw()), runs, ask).map_err(support::failed)?;
        let mut encoder = backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
        prepared.record_in(&mut encoder, count).map_err(support::failed)?;
        backend.queue().submit([encoder.finish()]);

        let keys = &keys[..there];
        let begins: Vec<usize> = (0..there).filter(|&i| i == 0 || windowed(&keys[i - 1]) != windowed(&keys[i])).collect();
        let ends: Vec<u32> = begins.iter().copied().chain([there]).map(|end| end as u32).collect();
        let firsts: Vec<K> = begins.iter().map(|&begin| keys[begin]).collect();
        let all: Vec<u32> = ends.windows(2).map(|ends| ends[1] - ends[0]).collect();
        let is_right = |what: &str, found: &SortBuffer<u32>, expected: &[u8]| {
            let found = found.read().map_err(support::failed)?;
            let (found, mut wanted) =
                (bytemuck::cast_slice::<u32, u8>(&found), bytemuck::cast_slice::<u32, u8>(&before).to_vec());
            wanted[4 * first..][..expected.len()].copy_from_slice(expected);
            support::ensure(found == wanted, || format!("{what} of {there} keys of {size} bytes from word {first} on"))
        };
        is_right("the number of runs", &run_count, bytemuck::bytes_of(&(begins.len() as u32)))?;
        is_right("first keys", &unique, bytemuck::cast_slice(&firsts))?;
        is_right("offsets", &offsets, bytemuck::cast_slice(&ends))?;
        is_right("lengths", &lengths, bytemuck::cast_slice(&all))?;
    }
    let sorted = backend.runs_with(&keys, options).map_err(support::failed)?;
    let begins: Vec<usize> = (0..MAX).filter(|&i| i == 0 || windowed(&keys[i - 1]) != windowed(&keys[i])).chain([MAX]).collect();
    support::ensure(sorted.offsets == begins, || format!("runs of a slice of keys of {size} bytes"))
}

/// Keys and outputs are parts of one buffer.
pub(crate) fn in_one_buffer() -> Result<(), Failed> {
    const MAX: usize = 20_000;
    let (backend, sorter) = open()?;
    for packed in [false, true] {
        let keys: Vec<u16> = in_runs(MAX, 5);
        let words: Vec<u32> = if packed {
            bytemuck::pod_collect_to_vec(bytemuck::cast_slice::<u16, u8>(&keys))
        } else {
            keys.iter().map(|&key| u32::from(key)).collect()
        };
        let mut all = words.clone();
        all.resize(5 * MAX + 100, 3);
        let buffer = SortBuffer::from_slice(&backend, &all).map_err(support::failed)?;
        let part = |word: usize| Part { buffer: buffer.raw(), offset: 4 * word as u64 };
        let (unique, offsets, count) = (MAX + 3, 2 * MAX + 7, 4 * MAX);
        let runs = RunBuffers::counted_in(part(count)).unique(part(unique)).offsets(part(offsets));
        let ask = Ask::up_to(MAX as u32);
        let prepared = match packed {
            true => sorter.prepare_runs::<u16>(part(0), runs, ask),
            false => sorter.prepare_runs::<u32>(part(0), runs, ask),
        };
        let mut encoder = backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
        prepared.map_err(support::failed)?.record_in(&mut encoder, Count::Fixed(MAX as u32)).map_err(support::failed)?;
        backend.queue().submit([encoder.finish()]);
        let begins: Vec<usize> = (0..MAX).filter(|&i| i == 0 || keys[i - 1] != keys[i]).collect();
        let found = buffer.read().map_err(support::failed)?;
        support::ensure(found[..words.len()] == words && found[count] as usize == begins.len(), || "keys or count".into())?;
        let right = found[offsets..].iter().zip(&begins).all(|(&offset, &begin)| offset as usize == begin);
        support::ensure(right && found[offsets + begins.len()] as usize == MAX, || "offsets".into())?;
        let firsts: Vec<u32> = begins.iter().map(|&begin| keys[begin].into()).collect();
        let unique: Vec<u32> = match packed {
            true => bytemuck::cast_slice::<u32, u16>(&found[unique..]).iter().map(|&key| key.into()).collect(),
            false => found[unique..].to_vec(),
        };
        support::ensure(unique.starts_with(&firsts), || format!("first keys, packed: {packed}"))?;
    }
    Ok(())
}

pub(crate) fn refused() -> Result<(), Failed> {
    let (backend, sorter) = open()?;
    let make = |size, usage| -> Buffer {
        backend.device().create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    };
    let [keys, out, count, short] = [4000, 8192, 16, 4000].map(|size| make(size, BufferUsages::STORAGE));
    let ask = Ask::up_to(1000);
    let runs = RunBuffers::counted_in(&count);
    let part = |buffer, offset| Part { buffer, offset };
    let cases = [
        ("keys as output", sorter.prepare_runs::<u32>(&keys, runs.unique(&keys), ask)),
        ("room for no last offset", sorter.prepare_runs::<u32>(&keys, runs.offsets(&short), ask)),
        ("offsets and lengths that overlap", {
            let runs = runs.offsets(part(&out, 0)).lengths(part(&out, 4000));
            sorter.prepare_runs::<u32>(&keys, runs, ask)
        }),
        ("an output at half a word", sorter.prepare_runs::<u32>(&keys, runs.lengths(part(&out, 2)), ask)),
        ("a number of runs past the end", sorter.prepare_runs::<u32>(&keys, RunBuffers::counted_in(part(&count, 16)), ask)),
        ("a count that is an output", sorter.prepare_runs::<u32>(&keys, runs, ask.counted_by(&count, 1))),
        ("a buffer without the usage", {
            let other = make(8192, BufferUsages::COPY_DST);
            sorter.prepare_runs::<u32>(&keys, runs.lengths(&other), ask)
        }),
    ];
    for (what, result) in cases {
        let result = result.map(|_| ());
        support::ensure(matches!(result, Err(Error::InvalidBuffer { .. })), || format!("{what}: {result:?}"))?;
    }
    let segments = sorter.prepare_runs::<u32>(&keys, runs, ask.segments(&out, 10)).map(|_| ());
    support::ensure(matches!(segments, Err(Error::Unsupported { .. })), || format!("segments: {segments:?}"))?;
    let fits = sorter.prepare_runs::<u32>(&keys, runs.offsets(&out).lengths(&short), ask);
    support::ensure(fits.is_ok(), || format!("buffers that just fit: {:?}", fits.err()))
}
