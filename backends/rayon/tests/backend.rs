//! What is particular to `RayonBackend`: long slices, pools, scratch.

use polysort_core::{Backend, Error, Options, Order, Segments, Sort, permutation};
use polysort_kit::is_thorough;
use polysort_rayon::RayonBackend;
use std::sync::Arc;

/// A pseudo-random walk through 64 bits.
fn random(len: usize) -> impl Iterator<Item = u64> {
    let step = |state: &mut u64| {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Some(z ^ z >> 29)
    };
    let mut state = len as u64;
    std::iter::from_fn(move || step(&mut state)).take(len)
}

/// Where the last cache is smaller than 128 MB, longer than every threshold: streamed partitions, buckets that are partitioned again, all threads.
#[test]
fn long_slices_of_every_distribution() {
    let len = 2_000_003;
    type Distribution = fn(usize, u64) -> u64;
    let distributions: [(&str, Distribution); 6] = [
        ("uniform", |_, r| r),
        ("one top byte", |_, r| r >> 8),
        ("a power law", |_, r| r >> (r & 63)),
        ("two heaps", |_, r| if r & 1 == 0 { r >> 20 } else { !(r >> 20) }),
        ("few values", |_, r| (r & 7) << 50 | (r >> 3 & 1)),
        ("top bits of one key alone", |at, r| if at == 1_234_567 { !(r >> 24) } else { r >> 24 }),
    ];
    // Two threads too, if the test is thorough.
    let threads: &[usize] = if is_thorough() { &[1, 2, 5] } else { &[1, 5] };
    let pools: Vec<RayonBackend> = threads.iter().map(|&threads| RayonBackend::with_threads(threads).unwrap()).collect();
    for (name, distribution) in distributions {
        // The right answers: std takes most of the time of this test.
        let keys: Vec<u64> = random(len).enumerate().map(|(at, r)| distribution(at, r)).collect();
        let mut ascending = keys.clone();
        ascending.sort_unstable();
        let floats: Vec<f64> = keys.iter().copied().map(f64::from_bits).collect();
        let mut descending = floats.clone();
        descending.sort_unstable_by(|a, b| b.total_cmp(a));
        let narrow: Vec<i32> = keys.iter().map(|&key| (key >> 32) as i32).collect();
        let mut order: Vec<u32> = (0..len as u32).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(narrow[i as usize]));
        for backend in &pools {
            let what = format!("{name}, {}", backend.name());
            let mut sorted = keys.clone();
            backend.sort(&mut sorted).unwrap();
            assert!(sorted == ascending, "u64, {what}");
            let mut sorted = keys.clone();
            backend.clone().in_place().sort(&mut sorted).unwrap();
            assert!(sorted == ascending, "u64 in place, {what}");
            let mut sorted = floats.clone();
            backend.clone().in_place().sort_with(&mut sorted, Options::descending()).unwrap();
            assert!(sorted.iter().zip(&descending).all(|(a, b)| a.to_bits() == b.to_bits()), "f64 in place, {what}");

            assert!(backend.argsort_with(&narrow, Options::descending()).unwrap() == order, "argsort, {what}");
            let (mut pair_keys, mut values) = (narrow.clone(), (0..len as u64).collect::<Vec<_>>());
            backend.sort_pairs_with(&mut pair_keys, &mut values, Options::descending()).unwrap();
            assert!(values.iter().zip(&order).all(|(&value, &i)| value == u64::from(i)), "values, {what}");
            assert!(pair_keys == permutation::gather(&narrow, &order), "keys, {what}");
        }
    }
}

#[test]
fn long_slices_that_are_in_order_already() {
    let backend = RayonBackend::with_threads(2).unwrap();
    let len = 2_000_003;
    for order in [Order::Ascending, Order::Descending] {
        // Pairs of equal keys, so that a reversal has to put them right.
        let keys: Vec<u32> = (0..len).map(|i| i / 2).collect();
        let (mut sorted, mut values) = (keys.clone(), (0..len).collect::<Vec<_>>());
        backend.sort_pairs_with(&mut sorted, &mut values, Options::ordered(order)).unwrap();
        let mut expected: Vec<u32> = (0..len).collect();
        if order == Order::Descending {
            expected.sort_by_key(|&i| std::cmp::Reverse(i / 2));
        }
        assert!(values == expected);
        assert!(sorted == permutation::gather(&keys, &expected));
        // One key out of place, at the very end.
        let mut keys: Vec<u32> = (1..len).chain([0]).collect();
        backend.sort_with(&mut keys, Options::ordered(order)).unwrap();
        assert!(keys.is_sorted_by(|a, b| if order == Order::Ascending { a <= b } else { a >= b }));
    }
}

#[test]
fn counting_sorts_of_long_slices_in_both_orders() {
    let backend = RayonBackend::with_threads(2).unwrap();
    for options in [Options::ascending(), Options::descending()] {
        let descending = options.order == Order::Descending;
        let mut bytes: Vec<i8> = random(2_000_001).map(|r| r as i8).collect();
        let mut expected = bytes.clone();
        expected.sort_unstable_by(|a, b| if descending { b.cmp(a) } else { a.cmp(b) });
        backend.sort_with(&mut bytes, options).unwrap();
        assert!(bytes == expected);

        let mut halves: Vec<half::f16> = random(1_500_001).map(|r| half::f16::from_bits(r as u16)).collect();
        let mut expected = halves.clone();
        expected.sort_unstable_by(|a, b| if descending { b.total_cmp(a) } else { a.total_cmp(b) });
        backend.sort_with(&mut halves, options).unwrap();
        assert!(halves.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}

#[test]
fn selection_from_long_slices() {
    for threads in [1, 2] {
        let backend = RayonBackend::with_threads(threads).unwrap();
        let few: Vec<u32> = random(1_000_003).map(|r| (r % 50) as u32).collect();
        let rising: Vec<u32> = (0..1_000_003).collect();
        for keys in [&few, &rising] {
            let mut order: Vec<u32> = (0..keys.len() as u32).collect();
            order.sort_by_key(|&i| std::cmp::Reverse(keys[i as usize]));
            for k in [1, 10, 1000, 100_000] {
                assert!(backend.top_k(keys, k).unwrap().indices == order[..k], "{k} of {threads} threads");
            }
        }
    }
}

#[test]
fn partial_sorts_of_many_segments_and_a_long_one() {
    let keys: Vec<i64> = random(1_300_000).map(|r| (r % 50_000) as i64 - 25_000).collect();
    let offsets: Vec<usize> = [0, 900_000].into_iter().chain((900_100..=1_290_000).step_by(777)).collect();
    for threads in [1, 2, 3] {
        let backend = RayonBackend::with_threads(threads).unwrap();
        for k in [1, 50, 5000] {
            let (mut first, mut nth) = (keys.clone(), keys.clone());
            backend.partial_sort_segments_with(&mut first, k, &offsets, Options::descending()).unwrap();
            backend.select_nth_segments(&mut nth, k, &offsets).unwrap();
            for segment in offsets.windows(2).map(|ends| ends[0]..ends[1]) {
                let mut sorted = keys[segment.clone()].to_vec();
                sorted.sort_unstable();
                if let Some(key) = sorted.get(k) {
                    assert_eq!(nth[segment.start + k], *key, "{k} of {segment:?}, {threads} threads");
                }
                sorted.reverse();
                let len = k.min(segment.len());
                assert!(first[segment.clone()][..len] == sorted[..len], "{k} of {segment:?}, {threads} threads");
            }
            // Keys outside of all segments stay.
            assert!(first[1_290_000..] == keys[1_290_000..] && nth[1_290_000..] == keys[1_290_000..]);
        }
    }
}

#[test]
fn selection_from_many_segments_and_a_long_one() {
    let keys: Vec<i32> = random(1_500_000).map(|r| (r % 5000) as i32 - 2500).collect();
    // One that all threads share, short ones, empty ones, and gaps.
    let (mut begins, mut ends) = (vec![3], vec![700_000]);
    while ends[ends.len() - 1] < 1_490_000 {
        let begin = ends[ends.len() - 1] + begins.len() % 3;
        begins.push(begin);
        ends.push(begin + begins.len() * 7 % 2000);
    }
    let segments = Segments::Ranges { begins: &begins, ends: &ends };
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    segments.ranges().for_each(|range| order[range].sort_by_key(|&i| std::cmp::Reverse(keys[i as usize])));
    for threads in [1, 2, 3] {
        let backend = RayonBackend::with_threads(threads).unwrap();
        for k in [0, 1, 10, 300, 90_000, usize::MAX] {
            let expected: Vec<u32> = segments.ranges().flat_map(|range| order[range].iter().copied().take(k)).collect();
            assert!(backend.top_k_segments(&keys, k, segments).unwrap().indices == expected, "{k} of {threads} threads");
        }
    }
    assert!(RayonBackend::default().top_k_segments(&keys, 3, &[]).unwrap().indices.is_empty());
}

#[test]
fn many_segments_and_a_few_long_ones() {
    let backend = RayonBackend::with_threads(2).unwrap();
    let keys: Vec<f32> = random(1_500_000).map(|r| f32::from_bits(r as u32)).collect();
    let mut offsets = vec![0, 600_000];
    while offsets[offsets.len() - 1] < 900_000 {
        let last = offsets[offsets.len() - 1];
        offsets.push(last + last % 9);
        offsets.push(last + 12);
    }
    offsets.extend([1_200_000, 1_200_000, 1_500_000]);
    offsets.sort_unstable();
    let mut sorted = keys.clone();
    backend.sort_segments(&mut sorted, &offsets).unwrap();
    let mut expected = keys;
    offsets.windows(2).for_each(|ends| expected[ends[0]..ends[1]].sort_by(f32::total_cmp));
    assert!(sorted.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()));
}

#[test]
fn it_works_in_the_pool_it_is_called_in_or_bound_to() {
    let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap());
    assert_eq!(pool.install(|| RayonBackend::global().unwrap().threads()), 3);
    assert_eq!(RayonBackend::in_pool(pool).threads(), 3);
    let one = RayonBackend::with_threads(1).unwrap();
    assert_eq!((one.threads(), one.name().as_str()), (1, "rayon, 1 thread"));
}

#[test]
fn misuse_is_refused_before_anything_moves() {
    let backend = RayonBackend::open().unwrap();
    let mut keys = [2_u32, 1];
    let refused = backend.sort_pairs(&mut keys, &mut [1_u8]);
    assert!(matches!(refused, Err(Error::LengthMismatch { left_len: 2, right_len: 1, .. })));
    assert_eq!(keys, [2, 1]);
}

/// Runs of all lengths, found by one thread and by several, whose shares begin within a run and between two.
#[test]
fn runs_are_found_by_any_number_of_threads() {
    let len = 1_500_007;
    for threads in [1, 2, 5] {
        let backend = RayonBackend::with_threads(threads).unwrap();
        for longest in [1, 2, 70, 1000, len] {
            let mut value = 0_u32;
            let mut keys: Vec<u32> = vec![];
            for key in random(len) {
                let length = if longest == len { len } else { 1 + key as usize % longest };
                keys.resize((keys.len() + length).min(len), value);
                value = value.wrapping_add(key as u32 | 1);
            }
            let expected: Vec<usize> = (0..len).filter(|&at| at == 0 || keys[at] != keys[at - 1]).chain([len]).collect();
            assert!(backend.runs(&keys).unwrap().offsets == expected, "{threads} threads, runs of up to {longest}");
            let by_bits = backend.runs_with(&keys, Options::descending().bits(3..9)).unwrap();
            let bits = |at: usize| keys[at] >> 3 & 63;
            let expected: Vec<usize> = (0..len).filter(|&at| at == 0 || bits(at) != bits(at - 1)).chain([len]).collect();
            assert!(by_bits.offsets == expected, "{threads} threads, bits of runs of up to {longest}");
        }
    }
}

/// No bit is above the last one, so the records stay where they are, at each length at which another algorithm sorts.
#[test]
fn a_window_of_no_bits_at_the_end_of_a_key() {
    fn stays<K: polysort_core::Sortable + From<u8>>() {
        let backend = RayonBackend::open().unwrap();
        let options = Options::ascending().bits(K::WIDTH..K::WIDTH);
        for len in [2, 64, 100, 512, 3000, 70_000] {
            let keys: Vec<K> = random(len).map(|key| K::from(key as u8)).collect();
            let identity = Vec::from_iter(0..len as u32);
            assert!(backend.argsort_with(&keys, options).unwrap() == identity, "{len} keys of {} bits", K::WIDTH);
            let (mut moved, mut values) = (keys.clone(), identity.clone());
            backend.sort_pairs_with(&mut moved, &mut values, options).unwrap();
            assert!(values == identity, "{len} pairs of {} bits", K::WIDTH);
            let halves = backend.argsort_segments_with(&keys, &[0, len / 3, len], options).unwrap();
            assert!(halves == identity, "segments of {len} keys of {} bits", K::WIDTH);
        }
    }
    stays::<u8>();
    stays::<u16>();
    stays::<u32>();
    stays::<u64>();
    stays::<u128>();
}
