//! Vector search by the CPU backend, beside distances in double precision and std's stable sort.
#![no_main]

use arbitrary::Arbitrary;
use core::ops::Range;
use half::f16;
use libfuzzer_sys::fuzz_target;
use polysort_fuzz::{Choice, Len, Threads, same};
use polysort_kit::Exact;
use polysort_vector::{Check, Metric, Precision, Search, Shape, VectorSearch, VectorStore};

#[derive(Debug, Arbitrary)]
struct Input {
    threads: Threads,
    dimension: u16,
    capacity: u8,
    is_half: bool,
    metric: Choice,
    is_checked_by_device: bool,
    writes: Vec<Write>,
    entries: Vec<u8>,
    queries: Numbers,
    /// Numbers that the queries have more than the offsets are for.
    more_numbers: Choice,
    candidates: Candidates,
    /// The candidates of each query.
    lengths: Vec<Len>,
    damage: Option<(Choice, u8, u32)>,
    k: Option<Len>,
}

/// Vectors that are written to a store.
#[derive(Debug, Arbitrary)]
struct Write {
    slot: u8,
    vectors: u8,
    more_numbers: Choice,
    numbers: Numbers,
}

/// Numbers, which repeat.
#[derive(Debug, Arbitrary)]
enum Numbers {
    /// Small whole numbers: many distances are equal.
    Whole(Vec<i8>),
    Any(Vec<u32>),
    /// Numbers between -1 and 1.
    Random(u32),
    /// Powers of two, from the smallest number to the largest.
    Powers(Vec<u8>),
}

impl Numbers {
    fn of(&self, count: usize) -> Vec<f32> {
        let repeat = |numbers: &mut dyn Iterator<Item = f32>| {
            let numbers: Vec<f32> = numbers.collect();
            (0..count).map(|at| numbers.get(at % numbers.len().max(1)).copied().unwrap_or(0.5)).collect()
        };
        match self {
            Self::Whole(numbers) => repeat(&mut numbers.iter().map(|&number| (number / 16).into())),
            Self::Any(bits) => repeat(&mut bits.iter().map(|&bits| f32::from_bits(bits))),
            Self::Random(seed) => {
                let random = |at: u64| (u64::from(*seed) + at).wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64;
                (0..count as u64).map(|at| (random(at) >> 40) as f32 / (1 << 23) as f32).collect()
            }
            Self::Powers(bits) => {
                let power = |bits: u8| f32::from_bits(u32::from(bits) << 23 | u32::from(bits & 1) << 31);
                repeat(&mut bits.iter().map(|&bits| power(bits)))
            }
        }
    }
}

/// Entries that are candidates.
#[derive(Debug, Arbitrary)]
enum Candidates {
    InOrder,
    Scattered(u32),
    Repeated(Vec<u8>),
}

impl Candidates {
    fn of(&self, count: usize, entries: usize) -> Vec<u32> {
        let entry = |at: usize| match self {
            Self::InOrder => at,
            Self::Scattered(seed) => (at ^ *seed as usize).wrapping_mul(0x9e37_79b9) >> 7,
            Self::Repeated(all) => all.get(at % all.len().max(1)).map_or(0, |&entry| entry.into()),
        };
        (0..count).map(|at| (entry(at) % entries.max(1)) as u32).collect()
    }
}

/// The most numbers of all vectors, and the most candidates times their numbers.
const MOST_NUMBERS: usize = 1 << 17;
const MOST_TERMS: usize = 1 << 20;

fuzz_target!(|input: Input| {
    let backend = input.threads.backend();
    let (dimension, capacity) = (usize::from(input.dimension), usize::from(input.capacity));
    let precision = if input.is_half { Precision::F16 } else { Precision::F32 };
    let shape = Shape::new(dimension, capacity).precision(precision);
    if dimension * capacity > MOST_NUMBERS {
        return;
    }
    let made = backend.vector_store(shape);
    assert_eq!(made.is_ok(), dimension > 0, "{made:?}");
    let Ok(mut store) = made else { return };

    let is_kept = |number: f32| number.is_finite() && (precision == Precision::F32 || f16::from_f32(number).is_finite());
    let mut kept = vec![0_f32; dimension * capacity];
    for write in &input.writes {
        let more = write.more_numbers.of(&[0, 0, 0, 0, 1, 5]);
        let numbers = write.numbers.of((dimension * usize::from(write.vectors)).min(MOST_NUMBERS) + more);
        let start = dimension * usize::from(write.slot);
        let is_whole = numbers.len().is_multiple_of(dimension);
        // Vectors that are none may be written to any slot.
        let is_right =
            is_whole && (numbers.is_empty() || start + numbers.len() <= kept.len()) && numbers.iter().all(|&n| is_kept(n));
        let written = store.write(write.slot.into(), &numbers);
        assert_eq!(written.is_ok(), is_right, "{written:?} for {} numbers in slot {}", numbers.len(), write.slot);
        if is_right && !numbers.is_empty() {
            kept[start..start + numbers.len()].copy_from_slice(&numbers);
        }
    }
    if precision == Precision::F16 {
        kept.iter_mut().for_each(|number| *number = f16::from_f32(*number).to_f32());
    }
    let entries: Vec<u32> = input.entries.iter().map(|&slot| slot.into()).collect();
    let set = store.set_entries(&entries);
    assert_eq!(set.is_ok(), entries.iter().all(|&slot| slot < capacity as u32), "{set:?}");
    let entries = if set.is_ok() { entries } else { vec![] };
    assert_eq!(store.entries(), entries.len());

    let mut offsets = vec![0_u32];
    for &Len(len) in &input.lengths {
        let last = offsets[offsets.len() - 1];
        let room = MOST_TERMS / dimension - (last as usize).min(MOST_TERMS / dimension);
        offsets.push(last + if entries.is_empty() { 0 } else { len.min(room) as u32 });
    }
    let mut candidates = input.candidates.of(offsets[offsets.len() - 1] as usize, entries.len());
    if let Some((what, at, value)) = input.damage {
        let list = if what.of(&[true, false]) { &mut offsets } else { &mut candidates };
        let at = usize::from(at) % list.len().max(1);
        list.get_mut(at).into_iter().for_each(|number| *number = value);
    }
    let count = offsets.len() - 1;
    let queries = input.queries.of(dimension * count + input.more_numbers.of(&[0, 0, 0, 0, 0, 1]));
    let metric = input.metric.of(&[Metric::L2, Metric::InnerProduct, Metric::Cosine]);
    let check = if input.is_checked_by_device { Check::Device } else { Check::Host };
    let search = Search::new(&queries, &candidates, &offsets).metric(metric).check(check);
    let ascend = offsets[0] == 0 && offsets.is_sorted() && offsets[count] as usize == candidates.len();
    let is_right = ascend
        && queries.len() == dimension * count
        && queries.iter().all(|number| number.is_finite())
        && candidates.iter().all(|&candidate| (candidate as usize) < entries.len());
    let k = input.k.map_or(usize::MAX, |k| k.0);
    let (found, nearest) = (backend.distances(&store, &search), backend.nearest(&store, &search, k));
    assert!(found.is_ok() == is_right && nearest.is_ok() == is_right, "{found:?}, {nearest:?}");
    let (Ok(found), Ok(nearest)) = (found, nearest) else { return };

    let slots: Vec<u32> = candidates.iter().map(|&candidate| entries[candidate as usize]).collect();
    same("slots", found.slots.iter().copied(), slots.iter().copied());
    assert_eq!(found.distances.len(), slots.len());
    let range = |query: usize| -> Range<usize> { offsets[query] as usize..offsets[query + 1] as usize };
    for query in 0..count {
        let numbers = &queries[dimension * query..][..dimension];
        for at in range(query) {
            let vector = &kept[dimension * slots[at] as usize..][..dimension];
            let (exact, distance) = (Exact::new(metric, numbers, vector), found.distances[at]);
            assert!(exact.allows(distance), "distance {at}, of query {query}, is {distance}, expected {exact:?}");
            assert!(!(distance.is_nan() && distance.is_sign_negative()), "distance {at} is a NaN with its sign set");
        }
        let mut order: Vec<usize> = range(query).collect();
        order.sort_by(|&a, &b| found.distances[a].total_cmp(&found.distances[b]));
        order.truncate(k);
        let (near_slots, near) = nearest.of(query);
        same("nearest slots", near_slots.iter().copied(), order.iter().map(|&at| slots[at]));
        let bits = |at: &usize| found.distances[*at].to_bits();
        same("nearest distances", near.iter().map(|near| near.to_bits()), order.iter().map(bits));
    }
});
