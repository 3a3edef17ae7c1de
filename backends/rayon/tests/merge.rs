//! Merges of runs, beside a stable sort of the concatenated runs.

use polysort_core::{Error, Options, Sortable, Spec};
use polysort_kit::{Custom, Pattern, Scored, TestKey};
use polysort_rayon::RayonBackend;
use proptest::prelude::*;
use std::cmp::Reverse;

/// A run of keys sorted by `options`, and values that number all records of all runs.
type Run<K> = (Vec<K>, Vec<u64>);

/// Cuts `keys` into runs of the lengths of `lens`, the last one of what is left, and sorts each run.
fn runs_of<K: TestKey>(keys: &[K], lens: &[usize], options: Options) -> Vec<Run<K>> {
    let (mut begin, mut runs) = (0, vec![]);
    for len in lens.iter().copied().chain([usize::MAX]) {
        let end = begin + len.min(keys.len() - begin);
        let numbers = sorted((begin as u64..end as u64).map(|number| (rank(keys[number as usize], options), number)).collect());
        runs.push((numbers.iter().map(|&number| keys[number as usize]).collect(), numbers));
        begin = end;
    }
    runs
}

/// Sorts numbers stably by the ranks beside them.
fn sorted(mut ranks: Vec<(u128, u64)>) -> Vec<u64> {
    ranks.sort_by_key(|&(rank, _)| rank);
    ranks.into_iter().map(|(_, number)| number).collect()
}

/// What a key is sorted by.
fn rank<K: Sortable>(key: K, options: Options) -> u128 {
    use polysort_core::{Order, Word};
    let (begin, end) = options.window.map_or((0, K::WIDTH), |window| window.in_width(K::WIDTH).unwrap());
    let bits = if begin == end { 0 } else { key.to_bits().widen() >> begin & u128::MAX >> (128 - (end - begin)) };
    match options.order {
        Order::Ascending => bits,
        Order::Descending => !bits,
    }
}

/// Merges all records, the first `part` of them, and the rest, and compares with a stable sort of the concatenated runs.
fn check<K: TestKey>(backend: &RayonBackend, runs: &[Run<K>], options: Options, part: usize) {
    let records = || runs.iter().flat_map(|(keys, values)| keys.iter().copied().zip(values.iter().copied()));
    let numbers = sorted(records().map(|(key, number)| (rank(key, options), number)).collect());
    let len = numbers.len();
    let mut raw_of = vec![0; len];
    records().for_each(|(key, number)| raw_of[number as usize] = key.raw());
    let raws = |keys: &[K]| -> Vec<u128> { keys.iter().map(|key| key.raw()).collect() };
    let mut left: Vec<(&[K], &[u64])> = runs.iter().map(|(keys, values)| (&keys[..], &values[..])).collect();
    for range in [0..part.min(len), part.min(len)..len] {
        let (mut keys, mut both, mut values) =
            (vec![K::from_raw(1); range.len()], vec![K::from_raw(1); range.len()], vec![0; range.len()]);
        let alone: Vec<&[K]> = left.iter().map(|run| run.0).collect();
        let taken = backend.merge_into_with(&alone, &mut keys, options).unwrap();
        assert_eq!(backend.merge_pairs_into_with(&left, &mut both, &mut values, options).unwrap(), taken);
        assert_eq!(taken.iter().sum::<usize>(), range.len());
        let expected: Vec<u128> = numbers[range.clone()].iter().map(|&number| raw_of[number as usize]).collect();
        let what = format!("{range:?} of {len} {}, {} runs, {options:?}", K::NAME, runs.len());
        assert!(values == numbers[range], "the values of {what}");
        assert!(raws(&both) == expected, "pairs {what}");
        assert!(raws(&keys) == expected, "keys {what}");
        for (run, taken) in left.iter_mut().zip(taken) {
            *run = (&run.0[taken..], &run.1[taken..]);
        }
    }
}

fn options_of<K: Sortable>() -> [Options; 4] {
    let inner = K::WIDTH / 4..(K::WIDTH * 3).div_ceil(4);
    [Options::ascending(), Options::descending(), Options::descending().bits(inner), Options::ascending().bits(0..0)]
}

macro_rules! keys {
    ($($name:ident: $key:ty;)*) => {$(
        #[test]
        fn $name() {
            let backend = RayonBackend::with_threads(2).unwrap();
            for (seed, pattern) in Pattern::ALL.into_iter().enumerate() {
                let keys = pattern.keys::<$key>(3000, seed as u64);
                for options in options_of::<$key>() {
                    check(&backend, &runs_of(&keys, &[0, 1, 700, 0, 1200, 3], options), options, 1111);
                }
            }
        }
    )*};
}
// Each word, each kind of masks, and keys whose bits are not all of their word. Other keys are merged as the words of these.
keys! {
    of_u8: u8; of_u16: u16; of_u32: u32; of_u64: u64; of_u128: u128; of_i32: i32; of_f32: f32; of_f64: f64; of_bool: bool;
    of_reversed: Reverse<f32>; of_tuples: (u16, i32); of_custom_keys: Custom; of_keys_larger_than_their_bits: Scored;
}

/// Pairs with as many bytes as a word has are not words: values of equal keys keep their order.
#[test]
fn pairs_as_large_as_words() {
    fn check<K: Sortable + Ord + std::fmt::Debug, V: bytemuck::Pod + Send + Sync + PartialEq + std::fmt::Debug>(
        key: fn(usize) -> K,
        value: fn(usize) -> V,
    ) {
        let numbers = [(0..400).collect::<Vec<usize>>(), (400..1000).collect()];
        let runs = numbers.map(|numbers| {
            let mut run: Vec<(K, V)> = numbers.into_iter().map(|number| (key(number), value(number))).collect();
            run.sort_by_key(|&(key, _)| key);
            run.into_iter().unzip::<K, V, Vec<K>, Vec<V>>()
        });
        let mut expected: Vec<(K, V)> =
            runs.iter().flat_map(|(keys, values)| keys.iter().copied().zip(values.iter().copied())).collect();
        expected.sort_by_key(|&(key, _)| key);
        let (mut keys, mut values) = (vec![key(0); 1000], vec![value(0); 1000]);
        let slices = runs.each_ref().map(|(keys, values)| (&keys[..], &values[..]));
        RayonBackend::default().merge_pairs_into(&slices, &mut keys, &mut values).unwrap();
        assert_eq!(keys.into_iter().zip(values).collect::<Vec<_>>(), expected);
    }
    check(|number| (number % 7) as u8, |number| number as u8);
    check(|number| (number % 7) as u16, |number| number as u16);
    check(|number| (number % 7) as u32, |number| number as u32);
    check(|number| (number % 7) as u64, |_| ());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_runs(
        raws in proptest::collection::vec(any::<u32>(), 0..6000),
        bits in 0..=32_u32,
        lens in proptest::collection::vec(0..500_usize, 0..20),
        descending in any::<bool>(),
        part in 0..6000_usize,
    ) {
        let keys: Vec<u32> = raws.iter().map(|raw| (u64::from(*raw) >> bits) as u32).collect();
        let options = if descending { Options::descending() } else { Options::ascending() };
        check(&RayonBackend::default(), &runs_of(&keys, &lens, options), options, part);
    }
}

/// Several shares and blocks, by one thread, two and five, and up to thousands of runs.
#[test]
fn long_merges() {
    for (runs, len) in [(2, 700_000), (16, 700_000), (3000, 600_000)] {
        for pattern in [Pattern::Uniform, Pattern::FewUnique, Pattern::Staggered] {
            let keys = pattern.keys::<u64>(len, 7);
            let runs = runs_of(&keys, &vec![len / runs - 1; runs - 1], Options::descending());
            for threads in [1, 2, 5] {
                check(&RayonBackend::with_threads(threads).unwrap(), &runs, Options::descending(), len / 3);
            }
        }
    }
}

#[test]
fn no_runs() {
    let backend = RayonBackend::default();
    assert_eq!(backend.merge_into::<u32>(&[], &mut []).unwrap(), []);
    assert_eq!(backend.merge_into::<char>(&[&[]], &mut []).unwrap(), [0]);
}

#[test]
fn wrong_lengths_are_refused() {
    let backend = RayonBackend::default();
    let mut merged = [7_u32; 3];
    let error = backend.merge_into(&[&[1], &[2]], &mut merged).unwrap_err();
    assert!(matches!(error, Error::LengthMismatch { left_len: 2, right_len: 3, .. }), "{error}");
    let error = backend.merge_pairs_into(&[(&[1, 2][..], &[1_u8][..])], &mut merged[..1], &mut [0]).unwrap_err();
    assert!(matches!(error, Error::LengthMismatch { left: "keys", left_len: 2, right_len: 1, .. }), "{error}");
    let error = backend.merge_pairs_into(&[(&[1, 2][..], &[1_u8, 2][..])], &mut merged[..1], &mut [0; 2]).unwrap_err();
    assert!(matches!(error, Error::LengthMismatch { left: "merged_keys", .. }), "{error}");
    assert_eq!(merged, [7; 3]);
}

/// All records come out, in some order, whatever the order of the runs.
#[test]
fn unsorted_runs_lose_nothing() {
    // The caches of the machine decide how many blocks a thread merges: several of them in one of these, on any machine.
    for (len, run, threads) in [(400_000, 30_011, 2), (50_000, 3001, 1), (4_000_000, 300_007, 3)] {
        let keys = Pattern::Uniform.keys::<u32>(len, 3);
        let runs: Vec<&[u32]> = keys.chunks(run).collect();
        let mut merged = vec![0; keys.len()];
        RayonBackend::with_threads(threads).unwrap().merge_into(&runs, &mut merged).unwrap();
        let mut all = keys.clone();
        all.sort_unstable();
        merged.sort_unstable();
        assert!(merged == all, "{len} keys on {threads} threads");
    }
}

/// Backends copy slices by all threads with a merge of one run.
#[test]
fn a_merge_of_one_run_copies_it_sorted_or_not() {
    let keys: Vec<u32> = (0..300_000_u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let values: Vec<[u8; 12]> = (0..300_000_u32).map(|i| std::array::from_fn(|byte| (i >> byte) as u8)).collect();
    let backend = RayonBackend::with_threads(2).unwrap();
    for spec in [Spec::of::<f32>(Options::descending()).unwrap(), Spec::of::<u32>(Options::ascending().bits(3..9)).unwrap()] {
        let (mut copy, mut both, mut moved) = (vec![0; keys.len()], vec![0; keys.len()], vec![[0; 12]; keys.len()]);
        assert_eq!(backend.merge_bits(&[&keys], &mut copy, spec).unwrap(), [keys.len()]);
        backend.merge_pairs_bits((&[&keys], &[&values]), (&mut both, &mut moved), spec).unwrap();
        assert!(copy == keys && both == keys && moved == values);
    }
}

#[test]
fn merges_of_words_check_lengths_and_the_spec() {
    let (backend, spec) = (RayonBackend::default(), Spec::unsigned::<u16>());
    let (runs, values): ([&[u16]; 2], [&[u32]; 2]) = ([&[1, 3], &[1, 2]], [&[0, 1], &[2, 3]]);
    let (mut keys, mut indices) = ([0; 4], [0; 4]);
    assert_eq!(backend.merge_indices_bits((&runs, &values), &mut indices, spec).unwrap(), [2, 2]);
    assert_eq!(indices, [0, 2, 3, 1]);
    assert_eq!(backend.merge_indices_bits((&runs, &values), &mut indices[..1], spec).unwrap(), [1, 0]);
    let is_mismatch = |result: Result<Vec<usize>, Error>| matches!(result, Err(Error::LengthMismatch { .. }));
    assert!(is_mismatch(backend.merge_bits(&runs, &mut [0; 5], spec)));
    assert!(is_mismatch(backend.merge_indices_bits((&runs, &values[..1]), &mut indices, spec)));
    assert!(is_mismatch(backend.merge_pairs_bits((&runs, &[&[0_u8; 2][..], &[0]]), (&mut keys, &mut [0; 4]), spec)));
    assert!(is_mismatch(backend.merge_pairs_bits((&runs, &values), (&mut keys, &mut [0; 3]), spec)));
    let mut wrong = spec;
    wrong.end = 17;
    assert!(matches!(backend.merge_bits(&runs, &mut keys, wrong), Err(Error::InvalidRange { .. })));
    assert_eq!(keys, [0; 4], "an error changes nothing");
}
