//! Requests on buffers whose kernels move elements or indices: gathers, indices of 64 bits, and selections from segments whose bounds lie in
//! buffers. Each must give the result of a plain model, and leave the words around it.
#![cfg(unix)]

mod sources;

use polysort_core::{Masks, Spec};
use polysort_msl::{Buffer as Bytes, Config, FACTS, Memory, MslBackend, Source};
use polysort_shaders::abi::NOTHING;
use polysort_shaders::plan::{Buffer, Gather, Place, Request, Segmented, SortPlan, Top};

each_source! {
    elements_are_gathered
    indices_of_64_bits_are_written
    segments_on_the_device_are_selected_from
}

/// The words around the memory that the kernels may write.
const MARGIN: u32 = 0xa5a5_a5a5;

const FIRST: Place = Place { first: 3 };

/// Returns a buffer with these bytes from `FIRST` on. It ends with them, so that a read of the next word is a fault.
fn read(bytes: &[u8]) -> Bytes {
    let mut all = [MARGIN; FIRST.first as usize].map(u32::to_ne_bytes).concat();
    all.extend(bytes);
    all.resize(all.len().next_multiple_of(4), 0xa5);
    Bytes::of(&all)
}

/// Returns a buffer with these bytes from `FIRST` on, and other words around them.
fn placed(bytes: &[u8]) -> Bytes {
    let mut all = read(bytes).bytes().to_vec();
    all.extend([0xa5; 8]);
    Bytes::of(&all)
}

fn words(words: &[u32]) -> Bytes {
    placed(bytemuck::cast_slice(words))
}

/// Returns a pseudo-random number.
fn mixed(i: u32) -> u32 {
    i.wrapping_mul(0x9e37_79b9) ^ i.wrapping_mul(0x85eb_ca6b) >> 15
}

/// Executes a plan for `count` elements. With an odd seed, the count lies on the device; each seed has another number of workgroups.
fn launch(source: Source, request: Request, count: u32, seed: u64, mut memory: Memory) -> Memory {
    let most_groups = [u32::MAX, 2, 1][seed as usize % 3];
    // In the translated kernel that gathers, threads read the last word and do not use it, while one of them writes it.
    let races = request.gather.is_some() && source.name != Source::NATIVE.name;
    let backend = MslBackend::open_with(Config { seed, most_groups, races, ..Config::of(source) }).unwrap();
    let plan = SortPlan::new(request, &FACTS).unwrap();
    if seed % 2 == 1 {
        memory.insert(Buffer::Count, Bytes::of(&[count]));
    }
    backend.launch_each(&plan, count.into(), &mut memory, |_, _| {}).unwrap();
    memory
}

fn elements_are_gathered(source: Source) {
    for (seed, bytes) in (1..).zip([1_usize, 2, 4, 8, 12, 20]) {
        for (count, elements) in [(5003_u32, 900_u32), (70_003, 900), (8, 9000), (1, 3), (0, 3)] {
            let from: Vec<u8> = (0..elements * bytes as u32).map(|i| mixed(i) as u8).collect();
            // Some indices are those of no element.
            let indices: Vec<u32> =
                (0..count).map(|i| if i % 11 == 5 { u32::MAX - i % 2 } else { mixed(i) % (elements + 2) }).collect();
            let of = |index: &u32| match from.chunks_exact(bytes).nth(*index as usize) {
                Some(element) => element.to_vec(),
                None => vec![0; bytes],
            };
            let gathered: Vec<u8> = indices.iter().flat_map(of).collect();
            let gather = Gather { element_bytes: bytes as u32, elements, from: FIRST, to: FIRST };
            let max = u64::from(count.max(1));
            let request = Request { keys: FIRST, ..Request::keys(32, Spec::unsigned::<u32>(), max) }.gather(gather);
            let memory = Memory::from([
                (Buffer::Keys, read(bytemuck::cast_slice(&indices))),
                (Buffer::GatherFrom, read(&from)),
                (Buffer::GatherTo, placed(&vec![0xa5; gathered.len().max(bytes)])),
            ]);
            let given = memory.clone();
            let found = launch(source, request, count, seed, memory);
            let expected = if count == 0 { given[&Buffer::GatherTo].clone() } else { placed(&gathered) };
            assert!(found[&Buffer::GatherTo] == expected, "{count} of {elements} elements of {bytes} bytes");
            assert!([Buffer::Keys, Buffer::GatherFrom].iter().all(|buffer| found[buffer] == given[buffer]));
        }
    }
}

/// Returns a spec in which many of the keys are equal.
fn spec() -> Spec {
    Spec::new::<u32>(Masks::signed(32), 20, 32).unwrap()
}

fn keys(count: u32) -> Vec<u32> {
    (0..count).map(|i| mixed(i / 3)).collect()
}

/// Returns `k` indices of the first keys of `keys[begin..end]`, each as two words; missing ones are NOTHING.
fn selected(keys: &[u32], [begin, end]: [u32; 2], k: u32) -> Vec<u32> {
    let mut order: Vec<u32> = (begin..end).collect();
    order.sort_by_key(|&i| spec().rank(keys[i as usize]));
    order.resize(order.len().max(k as usize), NOTHING);
    order[..k as usize].iter().flat_map(|&index| [index, 0]).collect()
}

fn indices_of_64_bits_are_written(source: Source) {
    for (seed, count) in (1..).zip([1, 700, 9001]) {
        let keys = keys(count);
        let all = Request { keys: FIRST, ..Request::keys(32, spec(), count.into()) };
        for (request, k) in [(all.for_indices(), count), (all.select(Top { k: 300, segmented: false }), 300)] {
            let to = words(&vec![MARGIN; 2 * k as usize]);
            let memory = Memory::from([(Buffer::Keys, words(&keys)), (Buffer::WideIndices, to)]);
            let found = launch(source, request.with_wide_indices(FIRST), count, seed, memory);
            assert!(found[&Buffer::WideIndices] == words(&selected(&keys, [0, count], k)), "{k} of {count}");
        }
    }
}

/// Some segments end after the last key, begin there, or end before they begin.
fn segments_on_the_device_are_selected_from(source: Source) {
    const KEYS: u32 = 9000;
    let keys = keys(KEYS);
    let usual = (0..600).map(|i| [i * 9, i * 9 + mixed(i) % 9]);
    let others = [[5500, 9000], [8900, 9100], [9000, 9007], [u32::MAX, 5], [700, 600], [8990, u32::MAX]];
    let bounds: Vec<[u32; 2]> = usual.chain(others).collect();
    let [begins, ends] = [0, 1].map(|end| words(&bounds.iter().map(|bound| bound[end]).collect::<Vec<_>>()));
    for (seed, k) in (1..).zip([1, 20]) {
        let of = Segmented { max: bounds.len() as u32, begins: FIRST, ends: FIRST };
        let request = Request { keys: FIRST, ..Request::keys(32, spec(), KEYS.into()) };
        let request = request.select(Top { k, segmented: true }).in_segments(of).with_wide_indices(FIRST);
        let limited = bounds.iter().map(|&[begin, end]| [begin.min(KEYS), end.min(KEYS).max(begin.min(KEYS))]);
        let expected: Vec<u32> = limited.flat_map(|bounds| selected(&keys, bounds, k)).collect();
        let memory = Memory::from([
            (Buffer::Keys, words(&keys)),
            (Buffer::Begins, begins.clone()),
            (Buffer::Ends, ends.clone()),
            (Buffer::WideIndices, words(&vec![MARGIN; expected.len()])),
        ]);
        let found = launch(source, request, bounds.len() as u32, seed, memory);
        assert!(found[&Buffer::WideIndices] == words(&expected), "{k} of each segment");
    }
}
