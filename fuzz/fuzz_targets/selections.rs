//! Selections, partial sorts and runs of equal keys by the CPU backend, beside std's stable sort.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use polysort_core::{Error, Options, Sort, permutation};
use polysort_fuzz::{KeyType, Keys, Len, Orders, Threads, in_order, partly_sorted, same, same_keys, with_key};
use polysort_kit::{Case, Oracle, Pattern, TestKey};
use polysort_rayon::RayonBackend;

#[derive(Debug, Arbitrary)]
struct Input {
    key: KeyType,
    operation: Operation,
    count: Count,
    orders: Orders,
    threads: Threads,
    keys: Keys,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Operation {
    TopK,
    Largest,
    Smallest,
    PartialSort,
    SelectNth,
    Runs,
    RunsOfSorted,
}

/// A number of keys, or a position.
#[derive(Clone, Copy, Debug, Arbitrary)]
enum Count {
    Is(Len),
    /// This share of all keys.
    Share(u16),
    /// So many fewer than all keys.
    Less(u8),
    /// So many more than all keys.
    More(u8),
    Most,
}

impl Count {
    fn of(self, len: usize) -> usize {
        match self {
            Self::Is(Len(count)) => count,
            Self::Share(share) => (len * usize::from(share)) >> 16,
            Self::Less(less) => len.saturating_sub(less.into()),
            Self::More(more) => len + usize::from(more),
            Self::Most => usize::MAX,
        }
    }
}

fuzz_target!(|input: Input| with_key!(input.key, K => start::<K>(&input)));

fn start<K: TestKey>(input: &Input) {
    let keys: Vec<K> = input.keys.of();
    let (options, bits) = input.orders.of_width(K::WIDTH);
    let (backend, count) = (input.threads.backend(), input.count.of(keys.len()));
    match bits {
        Some(_) => run(&backend, input.operation, count, options, &keys),
        None => refuse(&backend, input.operation, count, options, &keys),
    }
}

fn run<K: TestKey>(backend: &RayonBackend, operation: Operation, count: usize, options: Options, keys: &[K]) {
    let (mut moved, len) = (keys.to_vec(), keys.len());
    match operation {
        Operation::TopK | Operation::Largest | Operation::Smallest => {
            let (best, options) = match operation {
                Operation::Largest => (backend.top_k(keys, count), Options::descending()),
                Operation::Smallest => (backend.bottom_k(keys, count), Options::ascending()),
                _ => (backend.top_k_with(keys, count, options), options),
            };
            let best = best.expect("the key has these bits");
            let mut order = in_order(keys, options, [0..len]);
            order.truncate(count);
            same_keys("keys", &best.keys, permutation::gather(keys, &order));
            same("indices", best.indices, order);
        }
        Operation::PartialSort => {
            backend.partial_sort_with(&mut moved, count, options).expect("the key has these bits");
            partly_sorted(keys, &moved, options, &[0..len], 0..count);
        }
        Operation::SelectNth => match backend.select_nth_with(&mut moved, count, options) {
            Err(Error::InvalidPosition { position, len: keys_len, .. }) if count >= len => {
                assert_eq!((position, keys_len), (count, len));
                same_keys("keys after an error", &moved, keys.iter().copied());
            }
            result => {
                result.expect("the key has these bits");
                assert!(count < len, "position {count} of {len} keys was found");
                partly_sorted(keys, &moved, options, &[0..len], count..count + 1);
            }
        },
        Operation::Runs => runs(backend, options, keys),
        Operation::RunsOfSorted => {
            let sorted = permutation::gather(keys, &in_order(keys, options, [0..len]));
            runs(backend, options, &sorted);
        }
    }
}

fn runs<K: TestKey>(backend: &RayonBackend, options: Options, keys: &[K]) {
    let found = backend.runs_with(keys, options).expect("the key has these bits");
    let oracle = Oracle::new(keys, Case { pattern: Pattern::Equal, len: keys.len(), options, seed: 0 });
    let begins = (0..keys.len()).filter(|&at| at == 0 || !oracle.are_equal(at - 1, at));
    same("offsets of runs", found.offsets.iter().copied(), begins.clone().chain([keys.len()]));
    same_keys("first keys of runs", &found.unique(keys), begins.map(|at| keys[at]));
}

/// Checks that a window that exceeds the key is an error, and that nothing has moved.
fn refuse<K: TestKey>(backend: &RayonBackend, operation: Operation, count: usize, options: Options, keys: &[K]) {
    let mut moved = keys.to_vec();
    let result = match operation {
        Operation::PartialSort => backend.partial_sort_with(&mut moved, count, options),
        Operation::SelectNth => backend.select_nth_with(&mut moved, count, options),
        Operation::Runs | Operation::RunsOfSorted => backend.runs_with(keys, options).map(drop),
        _ => backend.top_k_with(keys, count, options).map(drop),
    };
    assert!(matches!(result, Err(Error::InvalidRange { .. } | Error::InvalidPosition { .. })), "{result:?}");
    same_keys("keys after an error", &moved, keys.iter().copied());
}
