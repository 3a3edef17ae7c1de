//! Sorts, selections and partial sorts of segments by the CPU backend, beside std's stable sort of each segment.
#![no_main]

use arbitrary::Arbitrary;
use core::ops::Range;
use libfuzzer_sys::fuzz_target;
use polysort_core::{Error, Options, Segments, Sort, permutation};
use polysort_fuzz::{KeyType, Keys, Len, Lists, Orders, Threads, in_order, partly_sorted, same, same_keys, with_key};
use polysort_kit::TestKey;
use polysort_rayon::RayonBackend;

#[derive(Debug, Arbitrary)]
struct Input {
    key: KeyType,
    operation: Operation,
    orders: Orders,
    threads: Threads,
    lists: Lists,
    keys: Keys,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Operation {
    Sort,
    Pairs,
    WidePairs,
    Argsort,
    TopK(Len),
    AllOfThem,
    PartialSort(Len),
    SelectNth(Len),
}

fuzz_target!(|input: Input| with_key!(input.key, K => start::<K>(&input)));

fn start<K: TestKey>(input: &Input) {
    let keys: Vec<K> = input.keys.of();
    let (options, bits) = input.orders.of_width(K::WIDTH);
    let backend = input.threads.backend();
    input.lists.with(keys.len(), |segments, ranges| {
        run(&backend, input.operation, options, &keys, segments, ranges.filter(|_| bits.is_some()));
    });
}

/// Runs the operation. `ranges` are the positions of each segment, if it is to succeed.
fn run<K: TestKey>(
    backend: &RayonBackend,
    operation: Operation,
    options: Options,
    keys: &[K],
    segments: Segments<'_>,
    ranges: Option<&[Range<usize>]>,
) {
    let expected = ranges.map(|ranges| in_order(keys, options, ranges.iter().cloned()));
    let order = expected.clone().unwrap_or_else(|| (0..keys.len() as u32).collect());
    let mut moved = keys.to_vec();
    match operation {
        Operation::Sort => {
            check(backend.sort_segments_with(&mut moved, segments, options), ranges);
            same_keys("keys", &moved, permutation::gather(keys, &order));
        }
        Operation::Pairs => {
            let mut values: Vec<u32> = (0..keys.len() as u32).collect();
            check(backend.sort_pairs_segments_with(&mut moved, &mut values, segments, options), ranges);
            same_keys("keys", &moved, permutation::gather(keys, &order));
            same("values", values, order);
        }
        Operation::WidePairs => {
            let wide = |at: u32| [u64::from(at), !u64::from(at), 7];
            let mut values: Vec<[u64; 3]> = (0..keys.len() as u32).map(wide).collect();
            check(backend.sort_pairs_segments_with(&mut moved, &mut values, segments, options), ranges);
            same_keys("keys", &moved, permutation::gather(keys, &order));
            same("values", values, order.into_iter().map(wide));
        }
        Operation::Argsort => {
            let indices = backend.argsort_segments_with(keys, segments, options);
            check(indices.as_ref().map(drop).map_err(Clone::clone), ranges);
            same("indices", indices.unwrap_or_default(), expected.unwrap_or_default());
        }
        Operation::TopK(_) | Operation::AllOfThem => {
            let k = if let Operation::TopK(k) = operation { k.0 } else { usize::MAX };
            let best = backend.top_k_segments_with(keys, k, segments, options);
            check(best.as_ref().map(drop).map_err(Clone::clone), ranges);
            let (Ok(best), Some(ranges)) = (best, ranges) else { return };
            let first: Vec<u32> = ranges.iter().flat_map(|range| order[range.clone()].iter().copied().take(k)).collect();
            same_keys("keys", &best.keys, permutation::gather(keys, &first));
            same("indices", best.indices, first);
        }
        Operation::PartialSort(Len(k)) => {
            check(backend.partial_sort_segments_with(&mut moved, k, segments, options), ranges);
            partial(keys, &moved, options, ranges, 0..k);
        }
        Operation::SelectNth(Len(n)) => {
            check(backend.select_nth_segments_with(&mut moved, n, segments, options), ranges);
            partial(keys, &moved, options, ranges, n..n + 1);
        }
    }
}

/// Checks that an operation returns an error if, and only if, the window or the segments are wrong.
#[track_caller]
fn check(result: Result<(), Error>, ranges: Option<&[Range<usize>]>) {
    match (result, ranges) {
        (Ok(()), Some(_)) => {}
        (Err(Error::InvalidRange { .. } | Error::InvalidOffsets { .. } | Error::LengthMismatch { .. }), None) => {}
        (result, _) => panic!("{result:?} of {} arguments", if ranges.is_some() { "right" } else { "wrong" }),
    }
}

/// Checks the keys after a partial sort, or that an error has moved none.
fn partial<K: TestKey>(keys: &[K], moved: &[K], options: Options, ranges: Option<&[Range<usize>]>, positions: Range<usize>) {
    match ranges {
        Some(ranges) => partly_sorted(keys, moved, options, ranges, positions),
        None => same_keys("keys after an error", moved, keys.iter().copied()),
    }
}
