//! Merges of sorted runs by the CPU backend, beside std's stable sort of all runs together.
#![no_main]

use arbitrary::Arbitrary;
use bytemuck::Zeroable;
use core::cmp::Ordering;
use libfuzzer_sys::fuzz_target;
use polysort_core::{Error, MaskKey, Options, Sortable, Spec, Word, permutation};
use polysort_fuzz::{Choice, KeyType, Keys, Len, Orders, Threads, in_order, multiset, same, same_keys, with_key};
use polysort_kit::TestKey;

#[derive(Debug, Arbitrary)]
struct Input {
    key: KeyType,
    operation: Operation,
    orders: Orders,
    threads: Threads,
    /// The lengths of the runs, which repeat until all keys are in a run.
    runs: Vec<Len>,
    output: Output,
    keys: Keys,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Operation {
    Keys,
    Pairs,
    /// Merges of words, for authors of backends.
    Words(Choice),
    /// Runs that are not sorted: the result has some of their keys, in any order.
    Unsorted,
}

/// How long the output is.
#[derive(Clone, Copy, Debug, Arbitrary)]
enum Output {
    All,
    Share(u16),
    Less(u8),
    More(u8),
}

/// The most runs.
const MOST_RUNS: usize = 2000;

impl Output {
    fn of(self, total: usize) -> usize {
        match self {
            Self::All => total,
            Self::Share(share) => (total * usize::from(share)) >> 16,
            Self::Less(less) => total.saturating_sub(less.into()),
            Self::More(more) => total + usize::from(more),
        }
    }
}

fuzz_target!(|input: Input| match input.operation {
    Operation::Words(word) => match word.of(&[0, 1, 2]) {
        0 => words::<f32>(&input),
        1 => words::<i64>(&input),
        _ => words::<u8>(&input),
    },
    _ => with_key!(input.key, K => merge::<K>(&input)),
});

/// The options of a merge, and the bits to sort by, if not by all.
type Order = (Options, Option<(u32, u32)>);

/// The keys, the begin and the end of each run, and the order.
fn parts<K: TestKey>(input: &Input) -> (Vec<K>, Vec<[usize; 2]>, Order) {
    let keys: Vec<K> = input.keys.of();
    let (mut runs, mut at) = (vec![], 0);
    for &Len(len) in input.runs.iter().cycle().take(MOST_RUNS) {
        let end = keys.len().min(at + len);
        runs.push([at, end]);
        at = end;
        if at == keys.len() && len > 0 {
            break;
        }
    }
    // A run has the rest of the keys.
    runs.push([at, keys.len()]);
    (keys, runs, input.orders.of_width(K::WIDTH))
}

fn merge<K: TestKey>(input: &Input) {
    let (mut keys, runs, (options, bits)) = parts::<K>(input);
    let backend = input.threads.backend();
    let len = input.output.of(keys.len());
    let is_sorted = !matches!(input.operation, Operation::Unsorted);
    if is_sorted && bits.is_some() {
        let order = in_order(&keys, options, runs.iter().map(|&[begin, end]| begin..end));
        keys = permutation::gather(&keys, &order);
    }
    let values: Vec<u32> = (0..keys.len() as u32).collect();
    let (mut merged, mut moved) = (vec![K::from_raw(u128::MAX); len], vec![u32::MAX; len]);
    let taken = match input.operation {
        Operation::Pairs => {
            let runs: Vec<(&[K], &[u32])> = runs.iter().map(|&[begin, end]| (&keys[begin..end], &values[begin..end])).collect();
            backend.merge_pairs_into_with(&runs, &mut merged, &mut moved, options)
        }
        _ => {
            let runs: Vec<&[K]> = runs.iter().map(|&[begin, end]| &keys[begin..end]).collect();
            backend.merge_into_with(&runs, &mut merged, options)
        }
    };
    let Some(taken) = judged(taken, bits.is_some(), len, keys.len()) else { return };
    if !is_sorted {
        return some_of_them(&keys, &runs, &merged, &taken);
    }
    let mut order = in_order(&keys, options, [0..keys.len()]);
    order.truncate(len);
    same_keys("keys", &merged, permutation::gather(&keys, &order));
    if matches!(input.operation, Operation::Pairs) {
        same("values", moved, order.iter().copied());
    }
    same("keys of each run", taken, counts(&runs, &order));
}

/// Merges words, pairs of words and values, and the indices of words.
fn words<K: TestKey + MaskKey + Sortable<Bits: Word>>(input: &Input) {
    let (keys, runs, (options, bits)) = parts::<K>(input);
    let Some((begin, end)) = bits else { return };
    let spec = Spec::of_masks::<K>(options).expect("the key has these bits");
    let backend = input.threads.backend();
    // The words are the memory of the keys. A stable sort by the bits of the ordered words gives the order, without the code that extracts them.
    let words: Vec<K::Bits> = keys.iter().map(|key| K::Bits::truncate(key.raw())).collect();
    let field = |at: u32| keys[at as usize].to_bits().widen().checked_shr(begin).unwrap_or(0) & ones(end - begin);
    let compare = |&a: &u32, &b: &u32| match options.order {
        polysort_core::Order::Ascending => field(a).cmp(&field(b)),
        polysort_core::Order::Descending => field(b).cmp(&field(a)),
    };
    let compare: &dyn Fn(&u32, &u32) -> Ordering = &compare;
    let mut indices: Vec<u32> = (0..keys.len() as u32).collect();
    runs.iter().for_each(|&[begin, end]| indices[begin..end].sort_by(compare));
    let sorted: Vec<K::Bits> = permutation::gather(&words, &indices);
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    order.sort_by(|&a, &b| compare(&indices[a as usize], &indices[b as usize]));
    let len = input.output.of(keys.len());
    order.truncate(len);

    let run_words: Vec<&[K::Bits]> = runs.iter().map(|&[begin, end]| &sorted[begin..end]).collect();
    let run_indices: Vec<&[u32]> = runs.iter().map(|&[begin, end]| &indices[begin..end]).collect();
    let (mut merged, mut moved, mut alone) = (vec![K::Bits::zeroed(); len], vec![0; len], vec![0; len]);
    let taken = [
        backend.merge_bits(&run_words, &mut merged, spec),
        backend.merge_pairs_bits((&run_words, &run_indices), (&mut merged, &mut moved), spec),
        backend.merge_indices_bits((&run_words, &run_indices), &mut alone, spec),
    ];
    for taken in taken {
        let Some(taken) = judged(taken, true, len, keys.len()) else { return };
        same("words of each run", taken, counts(&runs, &order));
    }
    same("words", merged, permutation::gather(&sorted, &order));
    let expected = permutation::gather(&indices, &order);
    same("indices with words", moved, expected.iter().copied());
    same("indices", alone, expected);
}

fn ones(bits: u32) -> u128 {
    u128::MAX.checked_shr(128 - bits).unwrap_or(0)
}

/// Returns the result of a merge that is to succeed, and checks the error of one that is not.
#[track_caller]
fn judged(taken: Result<Vec<usize>, Error>, has_bits: bool, len: usize, total: usize) -> Option<Vec<usize>> {
    match taken {
        Err(Error::InvalidRange { .. }) if !has_bits => None,
        Err(Error::LengthMismatch { .. }) if len > total => None,
        Ok(taken) if has_bits && len <= total => Some(taken),
        other => panic!("{other:?} of {len} of {total} keys, and bits that the key {}", if has_bits { "has" } else { "has not" }),
    }
}

/// Returns how many of the indices lie in each run.
fn counts(runs: &[[usize; 2]], indices: &[u32]) -> Vec<usize> {
    let mut counts = vec![0; runs.len()];
    for &at in indices {
        // Empty runs begin where the next one does.
        let run = runs.partition_point(|&[_, end]| end <= at as usize);
        counts[run] += 1;
    }
    counts
}

/// Checks that the output has the keys that were taken from the start of each run, in any order.
fn some_of_them<K: TestKey>(keys: &[K], runs: &[[usize; 2]], merged: &[K], taken: &[usize]) {
    assert_eq!((taken.len(), taken.iter().sum()), (runs.len(), merged.len()));
    let firsts = runs.iter().zip(taken).flat_map(|(&[begin, _], &taken)| &keys[begin..begin + taken]);
    let firsts: Vec<K> = firsts.copied().collect();
    same("keys", multiset(merged), multiset(&firsts));
}
