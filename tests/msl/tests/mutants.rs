//! Mistakes that are planted in the native kernels. The runner must report each, or a sort, selection or search must give a wrong result.
#![cfg(unix)]

mod mistakes;

use mistakes::{BARRIERS, By, Mistake, mistakes, no_barrier, unnoticed};
use polysort_core::{Backend, Masks, Operation, Options, Segments, Sort, Spec, ValuesMut, permutation};
use polysort_kit::{StdBackend, is_thorough, step};
use polysort_msl::{Buffer as Bytes, Config, FACTS, Memory, MslBackend, Source, Text};
use polysort_shaders::abi::NOTHING;
use polysort_shaders::plan::tuning::SELECT_SEGMENT;
use polysort_shaders::plan::{
    Algorithm, Blocked, Buffer, Facts, Gather, Kernel, Place, Request, Segmented, SortPlan, Top, Variant,
};
use polysort_vector::{Metric, Precision, Search, Shape, VectorError, VectorSearch, VectorStore};
use std::sync::Mutex;

/// The planted mistake. Only one test of this process plants mistakes.
static PLANTED: Mutex<Option<Mistake>> = Mutex::new(None);

/// The native kernels with the planted mistake, compiled with fast math, Metal's default.
const MUTANTS: Source =
    Source { name: "mutated", text: |variant| mutated(variant), options: Source::NATIVE.options.fast_math(true) };

fn mutated(variant: &Variant) -> Text {
    let Text { text, takes_sizes } = (Source::NATIVE.text)(variant);
    let text = match *PLANTED.lock().unwrap() {
        Some(Mistake { kernel, by, number, from, to, .. })
            if kernel == variant.kernel() && by.has_digits_of(variant.radix_bits) =>
        {
            let (at, _) = text.match_indices(from).nth(number).expect("what is mutated is there");
            format!("{}{to}{}", &text[..at], &text[at + from.len()..])
        }
        _ => text,
    };
    Text { text, takes_sizes }
}

/// The most keys of a small bucket.
const SMALL: u32 = 140;

/// The keys of a round: the bits of a number, and the first number.
type Bits = (u32, u32);

/// Keys in which all digits vary, or fewer and fewer digits.
const FEWER: [Bits; 4] = [(0, u32::MAX), (5, u32::MAX), (10, u32::MAX), (15, u32::MAX)];

/// Keys for the MSD hybrid. There are two buckets of several tiles; 64 buckets of [`SMALL`] keys or one more; 16 buckets of one tile, several
/// of them in a batch. The last two also have an odd number of digits. Digits between the highest and the lowest have few values.
const BUCKETS: [Bits; 4] = [(7, u32::MAX), (2, 0xff03_03ff), (2, 0xff00_ffff), (12, u32::MAX)];

/// Schedules of sorts in which all tiles are blocked: enough that some threads see the counts of another threadgroup, and some do not.
const TIMES: u32 = 40;

/// Returns an error if keys with values are sorted wrongly.
fn sorts(by: By) -> Result<(), String> {
    // Some tiles are blocked, or all. If all are, threads see the most changes by other threadgroups.
    let some = |algorithm| Config { algorithm: Some(algorithm), blocked: Blocked::one_of(3), ..Config::of(MUTANTS) };
    let all = |algorithm| Config { blocked: Blocked::run(0, u32::MAX), ..some(algorithm) };
    match by {
        // One launch sorts, or several.
        By::Plans => {
            each_sorts(Config::of(MUTANTS), 3000, &FEWER, 1)?;
            each_sorts(Config { planned_for: 1 << 22, ..some(Algorithm::OneSweep) }, 40_000, &FEWER, 1)?;
            each_sorts(all(Algorithm::OneSweep), 9000, &FEWER[..1], TIMES)
        }
        By::WideDigits => {
            each_sorts(some(Algorithm::WideDigits), 9000, &FEWER, 1)?;
            each_sorts(all(Algorithm::WideDigits), 9000, &FEWER[..1], TIMES)
        }
        By::Hybrid => {
            let config = Config { batch: Some(3000), small_bucket: Some(SMALL), ..some(Algorithm::MsdHybrid) };
            each_sorts(config, 64 * SMALL + 40, &BUCKETS, 1)?;
            // Each thread has several keys of a small bucket.
            each_sorts(Config { small_bucket: None, ..config }, 5000, &BUCKETS[..1], 1)?;
            each_sorts(Config { small_bucket: Some(SMALL), ..all(Algorithm::MsdHybrid) }, 20_000, &BUCKETS[..1], TIMES)
        }
        By::Counting => {
            counts(some(Algorithm::Counting), 40_001, 3)?;
            // One team gets more equal keys than a count of 16 bits can hold.
            counts(Config { most_groups: 1, ..some(Algorithm::Counting) }, 90_001, 100)
        }
        By::Segments | By::SegmentsOfKeys => {
            let config = Config { small_bucket: Some(LONGEST_SMALL), blocked: Blocked::one_of(3), ..Config::of(MUTANTS) };
            sorts_segments(by, config, &lengths(), 1)?;
            sorts_segments(by, Config { blocked: Blocked::run(0, u32::MAX), ..config }, &[9000, 3, 4500], TIMES)?;
            overlaps(Config { races: true, ..config })
        }
    }
}
/// Returns an error if keys with these bits are sorted wrongly, on several schedules of each launch.
fn each_sorts(config: Config, len: u32, bits: &[Bits], times: u32) -> Result<(), String> {
    let backend = MslBackend::open_with(config).map_err(|error| error.to_string())?;
    for time in 0..times {
        for (round, &(shift, mask)) in (0..).zip(bits) {
            let key = |i: u32| ((i + round + time).wrapping_mul(0x9e37_79b9) >> shift) & mask;
            let input: Vec<u32> = (0..len).map(key).collect();
            let mut order: Vec<u32> = (0..len).collect();
            let (mut keys, mut values) = (input.clone(), order.clone());
            order.sort_by_key(|&i| input[i as usize]);
            backend.sort_pairs_with(&mut keys, &mut values, Options::ascending()).map_err(|error| error.to_string())?;
            if !keys.is_sorted() || values != order {
                return Err("sorted wrongly".into());
            }
        }
    }
    Ok(())
}

/// Returns an error if keys of 16 bits are sorted wrongly. Nearly all keys have one of three values, most of them the same.
fn counts(config: Config, len: u32, others: u32) -> Result<(), String> {
    let backend = MslBackend::open_with(config).map_err(|error| error.to_string())?;
    let usual = |i: u32| -300 + i16::from(i % 8 == 1) + 3 * i16::from(i % 16 == 2);
    let key = |i: u32| if i.is_multiple_of(others) { (i.wrapping_mul(0x9e37_79b9) >> 16) as i16 } else { usual(i) };
    let input: Vec<i16> = (0..len).map(key).collect();
    let (mut keys, mut expected) = (input.clone(), input);
    expected.sort_unstable();
    backend.sort(&mut keys).map_err(|error| error.to_string())?;
    if keys == expected { Ok(()) } else { Err("sorted wrongly".into()) }
}

/// The most keys of a segment that one threadgroup sorts in these tests.
const LONGEST_SMALL: u32 = 1400;

/// Returns lengths of segments: around the ends of all classes of the network, more than a threadgroup lists at a time, and then longer ones.
fn lengths() -> Vec<usize> {
    let classes = (3..11).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 1]);
    let some = (0..300).map(|i| i * 7 % 11);
    let long = [1400, 1401, 4099, 2, 1402, 7000];
    [1400, 1401, 5000].into_iter().chain(classes).chain(some).chain(long).collect()
}

/// Returns an error if segments of these lengths are sorted wrongly, on several schedules of each launch. Many keys are equal in the bits that
/// are compared. There are gaps between the segments.
fn sorts_segments(by: By, config: Config, lengths: &[usize], times: u32) -> Result<(), String> {
    let backend = MslBackend::open_with(config).map_err(|error| error.to_string())?;
    let ends: Vec<usize> =
        lengths.iter().scan(3, |end, length| Some(std::mem::replace(end, *end + length + 1) + length)).collect();
    let begins: Vec<usize> = ends.iter().zip(lengths).map(|(end, length)| end - length).collect();
    let segments = Segments::Ranges { begins: &begins, ends: &ends };
    let len = ends.last().map_or(0, |end| end + 5);
    let (masks, begin) = if by == By::Segments { (Masks::signed(32), 8) } else { (Masks::float(32), 0) };
    let spec = Spec::new::<u32>(masks, begin, 32).map_err(|error| error.to_string())?;
    for time in 0..times {
        // The last eight bits, by which pairs are not sorted, differ.
        let few = |i: u32| (i.wrapping_mul(0x9e37_79b9) >> 7) % 61 + time;
        let key = |i: u32| few(i).wrapping_mul(0x9e37_79b9) / 256 * 256 + i * 37 % 256;
        let input: Vec<u32> = (0..len as u32).map(key).collect();
        let mut order: Vec<u32> = (0..len as u32).collect();
        segments.ranges().for_each(|range| order[range].sort_by_key(|&i| spec.rank(input[i as usize])));
        let (mut keys, mut values): (_, Vec<u32>) = (input.clone(), (0..len as u32).collect());
        let (keys_to, segments) = (&mut keys, Some(segments));
        let operation = match by {
            By::Segments => Operation::SortPairs { keys: keys_to, values: ValuesMut::of(&mut values), segments },
            _ => Operation::Sort { keys: keys_to, segments },
        };
        backend.run(operation.into(), spec).map_err(|error| error.to_string())?;
        if keys != permutation::gather(&input, &order) || by == By::Segments && values != order {
            return Err("sorted wrongly".into());
        }
    }
    Ok(())
}

/// Returns an error if a kernel accesses words outside of its buffers, or does not end, because segments overlap.
fn overlaps(config: Config) -> Result<(), String> {
    const KEYS: u32 = 14_000;
    let backend = MslBackend::open_with(config).map_err(|error| error.to_string())?;
    let spec = Spec::new::<u32>(Masks::signed(32), 8, 32).map_err(|error| error.to_string())?;
    let long = |begin: u32, length: u32| [begin, begin + length];
    // Segments of the last keys; more long segments than there can be; segments whose tiles do not fit the table.
    let last = vec![long(9000, 5000), long(11_000, 3000), long(10_900, 1600), long(12_400, 1600)];
    let many = (0..12).map(|i| long(1000 * i, 1450)).collect();
    let tiles = (0..6).map(|i| long(i, KEYS - 6)).collect();
    for bounds in [last, many, tiles] as [Vec<[u32; 2]>; 3] {
        let of = Segmented { max: bounds.len() as u32, begins: Place::default(), ends: Place::default() };
        let request = Request::keys(32, spec, KEYS.into()).with_values(1).in_segments(of);
        let request = Request { small_bucket: config.small_bucket, blocked: config.blocked, ..request };
        let plan = SortPlan::new(request, &FACTS).map_err(|error| error.to_string())?;
        let bound = |end: usize| Bytes::of(&bounds.iter().map(|bound| bound[end]).collect::<Vec<_>>());
        let keys: Vec<u32> = (0..KEYS).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
        let mut memory = Memory::from([
            (Buffer::Keys, Bytes::of(&keys)),
            (Buffer::Values, Bytes::of(&keys)),
            (Buffer::Begins, bound(0)),
            (Buffer::Ends, bound(1)),
        ]);
        backend.launch_each(&plan, bounds.len() as u64, &mut memory, |_, _| {}).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Returns the indices of the first `k` of `keys[begin..end]`; missing ones are NOTHING.
fn first_keys(keys: &[u32], [begin, end]: [u32; 2], k: usize, spec: Spec) -> Vec<u32> {
    let mut order: Vec<u32> = (begin..end).collect();
    order.sort_by_key(|&i| spec.rank(keys[i as usize]));
    order.resize(order.len().max(k), NOTHING);
    order.truncate(k);
    order
}

/// Returns an error if a selection of more keys than one threadgroup selects is wrong: of different keys, of keys with few values, among them the
/// last keys of tiles, from fewer keys than `k`, of keys that are all equal in the bits that are compared.
fn picks() -> Result<(), String> {
    let backend = MslBackend::open_with(Config::of(MUTANTS)).map_err(|error| error.to_string())?;
    let k = FACTS.most_selected() + 1;
    let mixed = |i: u32| i.wrapping_mul(0x9e37_79b9);
    let few = |i: u32| u32::from(i % 4 != 3);
    for (len, key, end) in [(20_003, mixed as fn(u32) -> u32, 32), (20_003, few, 32), (k - 9, mixed, 32), (20_003, mixed, 0)] {
        let keys: Vec<u32> = (0..len).map(key).collect();
        let spec = Spec::new::<u32>(Masks::UNSIGNED, 0, end).map_err(|error| error.to_string())?;
        let request = Request::keys(32, spec, len.into()).select(Top { k, segmented: false });
        let plan = SortPlan::new(request, &FACTS).map_err(|error| error.to_string())?;
        let (from, to) = (Bytes::of(&keys), Bytes::of(&vec![0_u32; k as usize]));
        let mut memory = Memory::from([(Buffer::Keys, from), (Buffer::Values, to)]);
        backend.launch_each(&plan, len.into(), &mut memory, |_, _| {}).map_err(|error| error.to_string())?;
        let (found, count) = (memory[&Buffer::Values].values::<u32>(), memory[&Buffer::PickedCount].values::<u32>()[0]);
        if found != first_keys(&keys, [0, len], k as usize, spec) || count != k.min(len) {
            return Err("selected wrongly".into());
        }
    }
    Ok(())
}

/// Returns an error if elements are gathered wrongly, or if a selection from segments whose bounds lie in buffers is wrong. Its indices have 64 bits.
fn moves_elements() -> Result<(), String> {
    const KEYS: u32 = 9001;
    let backend = MslBackend::open_with(Config { most_groups: 1, ..Config::of(MUTANTS) }).map_err(|error| error.to_string())?;
    let launched = |request: Request, count: usize, mut memory: Memory, result: Buffer| {
        let plan = SortPlan::new(request, &FACTS).map_err(|error| error.to_string())?;
        backend.launch_each(&plan, count as u64, &mut memory, |_, _| {}).map_err(|error| error.to_string())?;
        Ok::<Vec<u32>, String>(memory[&result].values())
    };
    let keys: Vec<u32> = (0..KEYS).map(|i| i.wrapping_mul(0x9e37_79b9) % 901).collect();
    let all = Request::keys(32, Spec::unsigned::<u32>(), KEYS.into());
    let gather = Gather { element_bytes: 12, elements: 900, from: Place::default(), to: Place::default() };
    let from: Vec<[u32; 3]> = (0..901).map(|i| [i, !i, 7 * i]).collect();
    let gathered = |&key: &u32| if key < 900 { from[key as usize] } else { [0; 3] };
    let memory = Memory::from([
        (Buffer::Keys, Bytes::of(&keys)),
        (Buffer::GatherFrom, Bytes::of(&from)),
        (Buffer::GatherTo, Bytes::of(&vec![1_u32; 3 * keys.len()])),
    ]);
    if launched(all.gather(gather), keys.len(), memory, Buffer::GatherTo)? != keys.iter().flat_map(gathered).collect::<Vec<_>>() {
        return Err("gathered wrongly".into());
    }

    let bounds = [[0, 40], [50, 50], [60, 20], [8990, 9005], [9010, 9020], [7000, 8000]];
    let of = Segmented { max: bounds.len() as u32, begins: Place::default(), ends: Place::default() };
    let request = all.select(Top { k: 20, segmented: true }).in_segments(of).with_wide_indices(Place::default());
    let bound = |end: usize| Bytes::of(&bounds.map(|bound| bound[end]));
    let memory = Memory::from([
        (Buffer::Keys, Bytes::of(&keys)),
        (Buffer::Begins, bound(0)),
        (Buffer::Ends, bound(1)),
        (Buffer::WideIndices, Bytes::of(&[1_u32; 2 * 20 * 6])),
    ]);
    let found = launched(request, bounds.len(), memory, Buffer::WideIndices)?;
    let limited = bounds.map(|[begin, end]| [begin.min(KEYS), end.min(KEYS).max(begin.min(KEYS))]);
    let expected =
        limited.into_iter().flat_map(|bounds| first_keys(&keys, bounds, 20, request.spec)).flat_map(|index| [index, 0]);
    if found == expected.collect::<Vec<_>>() { Ok(()) } else { Err("selected wrongly".into()) }
}

/// Returns an error if a selection is wrong: from one segment, from several, from fewer keys than `k`, from given segments.
fn selects() -> Result<(), String> {
    let backend = MslBackend::open_with(Config::of(MUTANTS)).map_err(|error| error.to_string())?;
    let keys: Vec<u32> = (0..SELECT_SEGMENT + 9).map(|i| i.wrapping_mul(0x9e37_79b9) >> 20 << 13).collect();
    let spec = Spec::unsigned::<u32>();
    let bounds = [[0, 40], [50, 50], [50, 12_000]];
    let all = keys.len();
    // A selection with one key per thread, and one with sixteen.
    for (k, len, bounds) in [(100, 5, None), (100, 3000, None), (100, all, None), (100, all, Some(&bounds[..])), (300, 290, None)]
    {
        let found = backend.select(&keys[..len], k, bounds, spec).map_err(|error| error.to_string())?;
        let whole = [[0, len as u32]];
        let expected = bounds.unwrap_or(&whole).iter().flat_map(|&bounds| first_keys(&keys, bounds, k as usize, spec));
        if found != expected.collect::<Vec<_>>() {
            return Err("selected wrongly".into());
        }
    }
    Ok(())
}

/// Returns an error if distances or nearest vectors differ from those of the reference backend. Numbers are halves, stores have several pages,
/// and some distances are NaN.
fn searches() -> Result<(), String> {
    fn found<B: VectorSearch>(backend: &B) -> Result<[Vec<u32>; 4], VectorError> {
        let shape = Shape::new(33, 40).precision(Precision::F16);
        // The numbers are small integers, whose sums are exact in any order.
        let number = |at: usize| ((at * 7 + at / 33 * 3) % 5) as f32 - 2.0;
        let vectors: Vec<f32> = (0..33 * 40).map(number).collect();
        let mut queries: Vec<f32> = (0..33 * 4).map(|at| number(3 * at + 1)).collect();
        // The products of the last query with numbers of both signs are infinite, and their sum is NaN.
        queries[33 * 3..].fill(f32::MAX);
        let candidates: Vec<u32> = (0..90).map(|at| at * 7 % 30).collect();
        let mut store = backend.vector_store(shape)?;
        store.write(0, &vectors)?;
        store.set_entries(&(0..30).map(|entry| entry * 3 % 40).collect::<Vec<_>>())?;
        let search = Search::new(&queries, &candidates, &[0, 20, 20, 23, 90]).metric(Metric::InnerProduct);
        let (all, near) = (backend.distances(&store, &search)?, backend.nearest(&store, &search, 5)?);
        let (near_slots, near): (Vec<_>, Vec<_>) = (0..4).map(|query| near.of(query)).unzip();
        let bits = |distances: &[f32]| distances.iter().map(|distance| distance.to_bits()).collect();
        Ok([bits(&all.distances), all.slots, bits(&near.concat()), near_slots.concat()])
    }
    let config = Config { facts: Facts { max_binding: 1 << 10, ..FACTS }, ..Config::of(MUTANTS) };
    let backend = MslBackend::open_with(config).map_err(|error| error.to_string())?;
    let expected = found(&StdBackend::open().map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;
    let found = found(&backend).map_err(|error| error.to_string())?;
    if found == expected { Ok(()) } else { Err("searched wrongly".into()) }
}

/// Returns an error if any operation that uses a kernel gives a wrong result.
fn works(kernel: Kernel, by: By) -> Result<(), String> {
    match kernel {
        Kernel::TopK => selects(),
        Kernel::PickCount | Kernel::PickDigit | Kernel::PickTally | Kernel::PickSpine | Kernel::Pick => picks(),
        Kernel::Gather | Kernel::WidenIndices | Kernel::SegmentBounds => moves_elements(),
        Kernel::IvfDistance | Kernel::Nearest => searches(),
        Kernel::Begin
        | Kernel::Histogram
        | Kernel::Scan
        | Kernel::CountValues
        | Kernel::ScanValues
        | Kernel::Onesweep
        | Kernel::Buckets
        | Kernel::BucketTile
        | Kernel::BucketHistogram
        | Kernel::BucketSweep
        | Kernel::SingleTile
        | Kernel::Segments
        | Kernel::SegmentNetwork
        | Kernel::SegmentTile
        | Kernel::LongSegments
        | Kernel::Copy
        | Kernel::Identity
        | Kernel::Widen
        | Kernel::Narrow
        | Kernel::Fill => sorts(by),
        Kernel::Upsweep
        | Kernel::Spine
        | Kernel::Downsweep
        | Kernel::MergePath
        | Kernel::MergeTile
        | Kernel::BeginRuns
        | Kernel::Runs => unreachable!("{} is not native", kernel.name()),
    }
}

/// Returns a mistake for each barrier of these kernels: it removes the barrier.
fn barriers<'a>(by: By, kernels: &'a [Kernel], plans: &'a [SortPlan]) -> impl Iterator<Item = Mistake> + 'a {
    kernels.iter().flat_map(move |&kernel| {
        let mut variants = plans.iter().flat_map(SortPlan::all_commands).map(|command| command.variant);
        let variant = variants.find(|variant| variant.kernel() == kernel).unwrap();
        let text = (Source::NATIVE.text)(&variant).text;
        BARRIERS.into_iter().flat_map(move |from| {
            let count = text.matches(from).count();
            (0..count).map(move |number| no_barrier(kernel, by, from, number))
        })
    })
}

/// Returns the mistakes that no test shows.
fn missed(mistakes: &[Mistake]) -> Vec<Mistake> {
    let mut missed = vec![];
    for &mistake in mistakes {
        *PLANTED.lock().unwrap() = Some(mistake);
        match works(mistake.kernel, mistake.by) {
            Ok(()) => missed.push(mistake),
            Err(why) => println!("{mistake:?}: {}", why.lines().next().unwrap_or_default()),
        }
    }
    *PLANTED.lock().unwrap() = None;
    missed
}

/// Every native kernel has a planted mistake, except those that only copy or clear words.
#[test]
fn every_native_kernel_has_a_mistake() {
    let plain = [Kernel::Begin, Kernel::Copy, Kernel::Identity, Kernel::Widen, Kernel::Narrow];
    let mistakes = mistakes();
    let without = Kernel::ALL.into_iter().filter(|&kernel| !mistakes.iter().any(|mistake| mistake.kernel == kernel));
    let without: Vec<Kernel> = without.filter(|kernel| kernel.entry().msl.is_some()).collect();
    assert_eq!(without, plain);
}

#[test]
fn mistakes_are_found() {
    // Without a mistake the kernels sort, which other tests show too.
    if is_thorough() {
        let all = [By::Plans, By::WideDigits, By::Hybrid, By::Counting, By::Segments, By::SegmentsOfKeys];
        assert_eq!(all.map(sorts), [const { Ok(()) }; 6]);
        assert_eq!([selects(), picks(), moves_elements(), searches()], [const { Ok(()) }; 4]);
    }
    let keys = Request::keys(32, Spec::of::<u32>(Options::ascending()).unwrap(), 40_000);
    let by = |algorithm| Request { algorithm: Some(algorithm), ..keys.with_values(1) };
    let plan = |request| SortPlan::new(request, &FACTS).unwrap();
    let plans = [keys.with_values(1), keys.select(Top { k: 100, segmented: false })].map(plan);
    let many = plan(keys.select(Top { k: FACTS.most_selected() + 1, segmented: false }));
    let in_segments = |mut request: Request, begin| {
        request.spec.begin = begin;
        plan(request.in_segments(Segmented { max: 1000, begins: Place::default(), ends: Place::default() }))
    };
    let (pairs, alone) = (in_segments(keys.with_values(1), 8), in_segments(keys, 0));
    let (wide, hybrid) = (plan(by(Algorithm::WideDigits)), plan(by(Algorithm::MsdHybrid)));
    let one_digit = [Kernel::SingleTile, Kernel::Histogram, Kernel::Scan, Kernel::Onesweep, Kernel::TopK];
    let wide_digits = [Kernel::Histogram, Kernel::Scan, Kernel::Onesweep];
    let buckets = [Kernel::Buckets, Kernel::BucketTile, Kernel::BucketHistogram, Kernel::BucketSweep];
    let halves = Request::keys(16, Spec::of::<i16>(Options::ascending()).unwrap(), 40_000);
    let counting = plan(Request { algorithm: Some(Algorithm::Counting), ..halves });
    let values = [Kernel::CountValues, Kernel::ScanValues, Kernel::Fill];
    let picks = [Kernel::PickCount, Kernel::PickDigit, Kernel::PickTally, Kernel::PickSpine, Kernel::Pick];
    let segments = [Kernel::Segments, Kernel::SegmentNetwork, Kernel::SegmentTile, Kernel::BucketHistogram, Kernel::BucketSweep];
    let missing = barriers(By::Plans, &one_digit, &plans)
        .chain(barriers(By::WideDigits, &wide_digits, core::slice::from_ref(&wide)))
        .chain(barriers(By::Hybrid, &buckets, core::slice::from_ref(&hybrid)))
        .chain(barriers(By::Counting, &values, core::slice::from_ref(&counting)))
        .chain(barriers(By::Plans, &picks, core::slice::from_ref(&many)))
        .chain(barriers(By::Segments, &segments, core::slice::from_ref(&pairs)))
        .chain(barriers(By::SegmentsOfKeys, &segments[1..2], core::slice::from_ref(&alone)));
    // A mistake takes about a second. A thorough test plants all of them, else every twentieth one.
    let tried: Vec<Mistake> = mistakes().into_iter().chain(missing).step_by(step(20)).collect();
    println!("{} mistakes", tried.len());
    let known: Vec<Mistake> = unnoticed().into_iter().filter(|known| tried.contains(known)).collect();
    assert_eq!(missed(&tried), known);
}
