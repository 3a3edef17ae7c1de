//! Sorts with wide digits over many tiles: equal keys keep their order, also with recounts, and a word takes three passes.
#![cfg(unix)]

mod sources;

use polysort_core::{MaskKey, Options, Sort, Sortable, Spec};
use polysort_kit::{is_thorough, step};
use polysort_msl::{Config, FACTS, MslBackend, Source, Traffic};
use polysort_shaders::plan::{Algorithm, Blocked, Request, SortPlan};

const WIDE: Option<Algorithm> = Some(Algorithm::WideDigits);

fn backend(source: Source, blocked: Blocked) -> MslBackend {
    MslBackend::open_with(Config { algorithm: WIDE, blocked, ..Config::of(source) }).unwrap()
}

/// Returns the tiles of a sort of up to `max` keys.
fn tiles<K: Sortable>(max: usize, values: u32) -> usize {
    let request = Request::keys(K::WIDTH, Spec::of::<K>(Options::ascending()).unwrap(), max as u64).with_values(values);
    let plan = SortPlan::new(Request { algorithm: WIDE, ..request }, &FACTS).unwrap();
    max.div_ceil(plan.tile as usize)
}

/// Sorts at least `least_tiles` tiles: with naga's kernels in both directions, with native ones in one. A kernel gets the direction as masks.
fn is_stable<K: MaskKey + PartialEq>(source: Source, keys: &[K], blocked: Blocked, least_tiles: usize) {
    let tiles = tiles::<K>(keys.len(), 1);
    assert!(tiles >= least_tiles, "{tiles} tiles");
    sorts(source, keys, blocked, Options::descending());
    if source.name != Source::NATIVE.name {
        sorts(source, keys, blocked, Options::ascending());
    }
}

/// Sorts keys with their indices, and keys alone.
fn sorts<K: MaskKey + PartialEq>(source: Source, keys: &[K], blocked: Blocked, options: Options) {
    let (backend, spec) = (backend(source, blocked), Spec::of::<K>(options).unwrap());
    let mut expected: Vec<u32> = (0..keys.len() as u32).collect();
    expected.sort_by_key(|&i| spec.rank(keys[i as usize].to_bits()));
    let ordered: Vec<K> = expected.iter().map(|&i| keys[i as usize]).collect();
    let (mut sorted, mut values) = (keys.to_vec(), (0..keys.len() as u32).collect::<Vec<_>>());
    backend.sort_pairs_with(&mut sorted, &mut values, options).unwrap();
    assert!(values == expected && sorted == ordered, "{options:?}, {blocked:?}");
    assert!(backend.argsort_with(keys, options).unwrap() == expected, "indices: {options:?}, {blocked:?}");
    let mut alone = keys.to_vec();
    backend.sort_with(&mut alone, options).unwrap();
    assert!(alone == ordered, "keys alone: {options:?}, {blocked:?}");
}

fn few_distinct_keys_keep_their_order(source: Source) {
    // Each digit has three values: the first and the last, whose counts share words with others, and one between.
    let few = |i: u32| {
        let digit = |at: u32| [0, 1023, 2047][(i.wrapping_mul(0x9e37_79b9) >> at) as usize % 3];
        digit(9) | digit(15) << 11 | digit(21) << 22
    };
    // Half as many tiles, if the test is not thorough.
    let half = step(2);
    let keys: Vec<u32> = (0..30_000 / half as u32).map(few).collect();
    is_stable(source, &keys, Blocked::one_of(2), 20 / half);
    if is_thorough() {
        is_stable(source, &keys, Blocked::NONE, 20);
        is_stable(source, &keys, Blocked::run(0, 19), 20);
    }
    let keys: Vec<u64> = (0..12_000 / half as u32).map(|i| u64::from(few(i)) << 32 | u64::from(few(i / 7))).collect();
    is_stable(source, &keys, Blocked::one_of(3), 8 / half);
    // Keys as in the paper: one digit that repeats, below the index.
    let keys: Vec<u32> = (0..20_000 / half as u32).rev().map(|i: u32| (i / 500) << 11 | (i % 3)).collect();
    is_stable(source, &keys, Blocked::one_of(4), 10 / half);
}

/// Windows with as many digits as the whole key, or fewer; across words; or at other bits than the digits of the whole key.
fn keys_are_sorted_by_windows(source: Source) {
    let keys: Vec<u64> = (1..6000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let words: Vec<u32> = keys.iter().map(|&key| (key >> 32) as u32).collect();
    // Every second window, if the test is not thorough.
    let step = step(2);
    for bits in [0..31, 0..23, 0..22, 1..32, 10..12, 11..32].into_iter().step_by(step) {
        sorts(source, &words, Blocked::one_of(2), Options::ascending().bits(bits));
    }
    for bits in [0..63, 0..55, 32..64, 31..33, 9..60].into_iter().skip(step - 1).step_by(step) {
        sorts(source, &keys, Blocked::one_of(2), Options::descending().bits(bits));
    }
}

/// A digit has one key of a tile, or all of them: a count of 16 bits can hold both, and does not change the other count of its word.
fn one_digit_may_have_all_keys(source: Source) {
    let tile = {
        let request = Request::keys(32, Spec::of::<u32>(Options::ascending()).unwrap(), 1 << 24);
        SortPlan::new(Request { algorithm: WIDE, ..request }, &FACTS).unwrap().tile as usize
    };
    let backend = MslBackend::open_with(Config { algorithm: WIDE, planned_for: 1 << 24, ..Config::of(source) }).unwrap();
    for (r, rare) in [0, tile - 1, tile, 2 * tile + 3].into_iter().enumerate() {
        for (d, (most, few)) in [(0, 1024), (1024, 0), (2047, 1023), (1023, 2047)].into_iter().enumerate() {
            if r != d && !is_thorough() {
                continue;
            }
            let mut keys = vec![most << 11; 2 * tile + 5];
            keys[rare] = few << 11;
            let mut expected = keys.clone();
            expected.sort_unstable();
            backend.sort(&mut keys).unwrap();
            assert!(keys == expected, "{few} at {rare}");
        }
    }
}

fn a_word_takes_three_passes(source: Source) {
    let launches = |algorithm| {
        let backend = MslBackend::open_with(Config { algorithm, ..Config::of(source) }).unwrap();
        let mut keys: Vec<u32> = (0..9000_u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
        backend.sort(&mut keys).unwrap();
        let Traffic { launches, .. } = backend.traffic();
        launches
    };
    assert_eq!((launches(WIDE), launches(Some(Algorithm::OneSweep))), (3 + 4, 4 + 4));
}

each_source!(
    few_distinct_keys_keep_their_order
    keys_are_sorted_by_windows
    one_digit_may_have_all_keys
    a_word_takes_three_passes
);
