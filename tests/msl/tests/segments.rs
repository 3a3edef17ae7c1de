//! Sorts of segments of all classes at a time, with the native kernels and with naga's translations at 32 lanes.
#![cfg(unix)]

mod sources;

use bytemuck::Pod;
use polysort_core::{Backend, Masks, Operation, Segments, Spec, ValuesMut, Word, permutation};
use polysort_kit::is_thorough;
use polysort_msl::{Config, MslBackend, Source};
use polysort_shaders::plan::{Algorithm, Blocked};

/// Returns the begins and ends of segments of these lengths, with gaps, and the number of keys.
fn bounds(lengths: &[usize]) -> (Vec<usize>, Vec<usize>, usize) {
    let (mut begins, mut ends, mut at) = (vec![], vec![], 3);
    for (i, length) in lengths.iter().enumerate() {
        at += i % 3;
        begins.push(at);
        at += length;
        ends.push(at);
    }
    (begins, ends, at + 5)
}

/// Returns a key. Keys have few values, which differ in all bits.
fn key<W: Word>(i: usize) -> W {
    let mixed = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) % 61;
    W::truncate(u128::from(mixed).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
}

fn sorts<W: Word, V: Pod + PartialEq + core::fmt::Debug>(config: Config, spec: Spec, lengths: &[usize], value: fn(u32) -> V) {
    let backend = MslBackend::open_with(config).unwrap();
    let (begins, ends, count) = bounds(lengths);
    let segments = Segments::Ranges { begins: &begins, ends: &ends };
    let keys: Vec<W> = (0..count).map(key).collect();
    let mut order: Vec<u32> = permutation::identity(count).unwrap();
    segments.ranges().for_each(|range| order[range].sort_by_key(|&i| spec.rank(keys[i as usize])));
    let expected = permutation::gather(&keys, &order);
    let what = |what: &str| format!("{what} of {} bits, {spec:?}, {lengths:?}", W::BITS);

    let mut sorted = keys.clone();
    let run = |operation: Operation<'_, W>| backend.run(operation.into(), spec).unwrap();
    let segments = Some(segments);
    run(Operation::Sort { keys: &mut sorted, segments });
    assert!(sorted == expected, "{}", what("keys"));

    let mut values: Vec<V> = (0..count as u32).map(value).collect();
    let moved = permutation::gather(&values, &order);
    let mut sorted = keys.clone();
    run(Operation::SortPairs { keys: &mut sorted, values: ValuesMut::of(&mut values), segments });
    assert!(sorted == expected && values == moved, "{}", what("pairs"));

    let mut indices = vec![0; count];
    run(Operation::Argsort { keys: &keys, segments, indices: &mut indices });
    assert!(indices == order, "{}", what("indices"));
}

/// Lengths around the ends of all classes of the network.
const SHORT: [usize; 28] =
    [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1000, 2, 1024];

fn float<W: Word>() -> Spec {
    Spec::new::<W>(Masks::float(W::BITS), 0, W::BITS).unwrap()
}

each_source! {
    short_segments_are_sorted_by_the_network
    segments_of_keys_of_all_widths_are_sorted
    keys_that_are_equal_in_the_window_keep_their_order
    long_segments_are_sorted_by_passes
    reduce_then_scan_sorts_segments
}

fn short_segments_are_sorted_by_the_network(source: Source) {
    sorts::<u32, u32>(Config::of(source), float::<u32>(), &SHORT, |i| i);
    sorts::<u64, [u32; 3]>(Config::of(source), float::<u64>(), &SHORT, |i| [i, !i, i << 3]);
}

fn segments_of_keys_of_all_widths_are_sorted(source: Source) {
    let lengths = [2, 5, 9, 40, 100, 300, 513, 1500];
    sorts::<u8, u64>(Config::of(source), float::<u8>(), &lengths, |i| u64::from(i) << 9);
    sorts::<u16, u32>(Config::of(source), float::<u16>(), &lengths, |i| i);
    sorts::<u128, u128>(Config::of(source), float::<u128>(), &lengths, |i| u128::from(i) << 70);
}

/// The window has an odd number of digits. Keys that are equal in the window may differ in other bits.
fn keys_that_are_equal_in_the_window_keep_their_order(source: Source) {
    let lengths = [2, 5, 9, 40, 100, 300, 1000, 1500, 5000];
    let config = Config { small_bucket: Some(1400), ..Config::of(source) };
    sorts::<u32, u32>(config, Spec::new::<u32>(Masks::UNSIGNED, 3, 22).unwrap(), &lengths, |i| i);
    sorts::<u64, u32>(config, Spec::new::<u64>(Masks::UNSIGNED, 3, 22).unwrap(), &lengths, |i| i);
    sorts::<u16, u32>(config, Spec::new::<u16>(Masks::UNSIGNED.reversed(16), 2, 7).unwrap(), &lengths, |i| i);
}

/// Long segments with even and odd numbers of digits, and with blocked tiles.
fn long_segments_are_sorted_by_passes(source: Source) {
    let lengths: &[usize] = if is_thorough() { &[9000, 3, 1025, 4097, 2, 8192, 40] } else { &[4097, 3, 1025, 2, 4096, 40] };
    let config = Config { small_bucket: Some(0), blocked: Blocked::one_of(2), ..Config::of(source) };
    sorts::<u32, u32>(config, float::<u32>(), lengths, |i| i);
    sorts::<u32, u64>(config, Spec::new::<u32>(Masks::UNSIGNED, 8, 32).unwrap(), lengths, u64::from);
    sorts::<u8, u32>(config, float::<u8>(), lengths, |i| i);
    sorts::<u128, u32>(config, Spec::new::<u128>(Masks::UNSIGNED, 60, 128).unwrap(), lengths, |i| i);
}

fn reduce_then_scan_sorts_segments(source: Source) {
    let lengths = [2, 300, 1100, if is_thorough() { 6000 } else { 3000 }, 1, 2049];
    let config = Config { algorithm: Some(Algorithm::ReduceThenScan), blocked: Blocked::one_of(2), ..Config::of(source) };
    sorts::<u32, u32>(config, float::<u32>(), &lengths, |i| i);
    sorts::<u64, [u32; 3]>(config, Spec::new::<u64>(Masks::UNSIGNED, 0, 40).unwrap(), &lengths, |i| [i, !i, i << 3]);
}
