//! Measures the memory traffic and the operations per key of a sort. Both limit its speed on a GPU.
#![cfg(unix)]

use polysort_core::{Error, Sort, Spec};
use polysort_kit::step;
use polysort_msl::{Config, FACTS, MslBackend, Source, Traffic};
use polysort_shaders::plan::{Algorithm, RADIX, Request, SortPlan};

/// The keys of each sort: several tiles, most of them whole, so that the numbers per key are close to those of longer sorts.
const KEYS: u64 = 12 * 4096;

/// Returns the bytes per key, the atomic operations per key, and the launches of a sort.
fn of(algorithm: Option<Algorithm>, sort: impl FnOnce(&MslBackend) -> Result<(), Error>) -> (f64, f64, u64) {
    let config = Config { algorithm, planned_for: 1 << 24, ..Config::of(Source::NATIVE) };
    let backend = MslBackend::open_with(config).unwrap();
    sort(&backend).unwrap();
    let Traffic { launches, bytes, atomics, .. } = backend.traffic();
    (bytes as f64 / KEYS as f64, atomics as f64 / KEYS as f64, launches)
}

fn keys() -> Vec<u64> {
    (0..KEYS).map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
}

/// Returns all cases if the test is thorough, else the first one.
fn some<T: Copy>(cases: &[T]) -> impl Iterator<Item = T> {
    cases.iter().copied().step_by(step(cases.len()))
}

/// Checks the traffic of sorts. A word of a key takes `passes` passes, and a tile has at least `tile` keys.
fn bytes_of_a_key_by(algorithm: Option<Algorithm>, passes: u32, radix: u32, tile: u32) {
    let narrow = || keys().iter().map(|&key| (key >> 32) as u32).collect::<Vec<_>>();
    let mut values = vec![0_u32; KEYS as usize];
    println!("{algorithm:?}, for each key: bytes, atomic operations; launches; GB for 2^24 keys");
    for (what, key_words, value_words) in some(&[("u32 with u32", 1, 1), ("u32", 1, 0), ("u64", 2, 0), ("u64 with u32", 2, 1)]) {
        let (bytes, atomics, launches) = match (key_words, value_words) {
            (1, 0) => of(algorithm, |backend| backend.sort(&mut narrow())),
            (1, _) => of(algorithm, |backend| backend.sort_pairs(&mut narrow(), &mut values)),
            (_, 0) => of(algorithm, |backend| backend.sort(&mut keys())),
            _ => of(algorithm, |backend| backend.sort_pairs(&mut keys(), &mut values)),
        };
        println!("{what:<13}{bytes:>8.1}{atomics:>8.2}{launches:>4}{:>8.2}", bytes * f64::from(1 << 24) / 1e9);
        // The histogram reads each key. Each pass reads and writes a key and its value. After an odd number of passes, a copy follows.
        let moves = (passes * key_words).next_multiple_of(2);
        let expected = f64::from(4 * (2 * moves * (key_words + value_words) + key_words));
        // Besides keys and values, a sort writes status words, which are cleared before each pass and after the last, and a small table.
        let tiles = KEYS.div_ceil(tile.into()) as f64;
        let status = f64::from(4 * radix * (passes * key_words + 1)) * tiles / KEYS as f64;
        assert!(
            bytes >= expected && bytes < 1.1 * expected + status + 2.0,
            "{what}: {bytes} bytes a key, not {expected} + {status}"
        );
        // Each tile publishes its counts twice, and reads some status words.
        assert!(atomics < 2.0 + 2.0 * status, "{what}: {atomics} atomic operations a key");
    }
}

#[test]
fn a_sort_touches_few_more_bytes_than_its_passes_need() {
    bytes_of_a_key_by(None, 4, RADIX, 1536);
}

#[test]
fn a_sort_with_wide_digits_touches_few_more_bytes_than_its_passes_need() {
    bytes_of_a_key_by(Some(Algorithm::WideDigits), 3, 1 << 11, 4096);
}

/// Measures the traffic per additional key, since the table of buckets has the same size for any number of keys. The keys are in four buckets of
/// whole tiles. `shaders/tests/cache.rs` models how much of this traffic leaves a cache: much less.
#[test]
fn the_msd_hybrid_touches_few_more_bytes_than_its_passes_need() {
    // The smallest number of keys with the tiles of long sorts.
    const PLANNED_FOR: u64 = 0x2_0001;
    type Sorts<'a> = &'a dyn Fn(&MslBackend, usize) -> Result<(), Error>;
    let algorithm = Some(Algorithm::MsdHybrid);
    let config = Config { algorithm, small_bucket: Some(0), planned_for: PLANNED_FOR, ..Config::of(Source::NATIVE) };
    let added = |tile: usize, sort: Sorts<'_>| {
        let [fewer, more] = [1, 2].map(|tiles| {
            let backend = MslBackend::open_with(config).unwrap();
            sort(&backend, 4 * tiles * tile).unwrap();
            backend.traffic().bytes as f64
        });
        (more - fewer) / (4 * tile) as f64
    };
    let wide = |count: usize| {
        let key = |i: u64| (i % 4) << 62 | i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 8;
        (1..=count as u64).map(key).collect::<Vec<u64>>()
    };
    let narrow = |count| wide(count).into_iter().map(|key| (key >> 32) as u32).collect::<Vec<_>>();
    let values = |count| vec![0_u32; count];
    let request = |bits, spec| Request { algorithm, ..Request::keys(bits, spec, 0) };
    let (u32s, u64s) = (request(32, Spec::unsigned::<u32>()), request(64, Spec::unsigned::<u64>()));
    let sorts: [(_, Request, Sorts<'_>); 4] = [
        ("u32", u32s, &|backend, count| backend.sort(&mut narrow(count))),
        ("u32 with u32", u32s.with_values(1), &|backend, count| backend.sort_pairs(&mut narrow(count), &mut values(count))),
        ("u64", u64s, &|backend, count| backend.sort(&mut wide(count))),
        ("u64 with u32", u64s.with_values(1), &|backend, count| backend.sort_pairs(&mut wide(count), &mut values(count))),
    ];
    println!("{algorithm:?}, for each key: bytes; for 2^24 keys: launches, GB");
    for (what, request, sort) in sorts {
        let plan = |max| SortPlan::new(Request { max, ..request }, &FACTS).unwrap();
        let tile = plan(PLANNED_FOR).tile;
        let (bytes, launches) = (added(tile as usize, sort), plan(1 << 24).long_commands().len());
        println!("{what:<13}{bytes:>8.1}{launches:>5}{:>8.2}", bytes * f64::from(1 << 24) / 1e9);
        // The histogram and the partition read each key; the histograms of the buckets and the passes read it again.
        let (key_words, value_words) = (request.key_words(), request.payload.words());
        let digits = 4 * key_words;
        let expected = f64::from(4 * (2 * key_words + digits * 2 * (key_words + value_words)));
        // The status words of a tile are cleared before the partition and before each pass.
        let status = f64::from((digits + 2) * 4 * RADIX) / f64::from(tile);
        // Such short sorts read a good part of the keys again: to find descents, and in incomplete batches of loads.
        let most = 1.1 * expected + status;
        assert!(bytes >= expected && bytes < most, "{what}: {bytes} bytes a key, not {expected} to {most}");
    }
}

/// A subgroup counts the keys of a usual digit with ballots, without an atomic operation for each key.
#[test]
fn keys_of_a_usual_digit_take_no_atomic_operations() {
    let config = Config { algorithm: Some(Algorithm::OneSweep), planned_for: 1 << 24, ..Config::of(Source::NAGA_ROLLED) };
    // Each sort has one pass: all keys share the other digits.
    let atomics = |digit: &dyn Fn(u32) -> u32| {
        let backend = MslBackend::open_with(config).unwrap();
        let keys = keys().iter().map(|&key| digit((key >> 32) as u32)).collect::<Vec<_>>();
        let (mut sorted, mut expected) = (keys.clone(), keys);
        backend.sort(&mut sorted).unwrap();
        expected.sort_unstable();
        assert_eq!(sorted, expected);
        backend.traffic().threadgroup_atomics as f64 / KEYS as f64
    };
    let uniform = atomics(&|key| key & 0xff);
    for (what, usual) in [("most, the least", 0), ("most, the greatest", 0xff)] {
        // Three of four keys have the usual digit.
        let contended = atomics(&|key| if key >> 30 < 3 { usual } else { key & 0xff });
        println!("{what}: {contended:.2} atomic accesses a key, uniform {uniform:.2}");
        assert!(contended < uniform - 0.5, "{what}: {contended} atomic accesses a key, uniform {uniform}");
    }
}

/// Up to three lanes with one digit that arrive in order need no further operation. The sum of their arrival codes shows the order. This holds for
/// adjacent lanes, whose arrival codes differ least, and for keys beside a usual digit.
#[test]
fn lanes_that_arrive_in_order_take_no_further_operations() {
    let algorithm = Some(Algorithm::OneSweep);
    let config = Config { algorithm, planned_for: 1 << 24, ..Config::of(Source::NAGA_ROLLED) };
    // Each sort has one pass, which must be stable because of the values.
    let operations = |in_order, digit: &dyn Fn(u32) -> u32| {
        let backend = MslBackend::open_with(Config { in_order, ..config }).unwrap();
        let keys: Vec<u32> = (0..KEYS as u32).map(|i| digit(i) % 256).collect();
        let (mut sorted, mut values) = (keys.clone(), (0..KEYS as u32).collect::<Vec<_>>());
        backend.sort_pairs(&mut sorted, &mut values).unwrap();
        let mut order: Vec<u32> = (0..KEYS as u32).collect();
        order.sort_by_key(|&i| keys[i as usize]);
        assert!(sorted.is_sorted() && values == order);
        backend.traffic().simd_operations
    };
    let alone = operations(true, &|i| i);
    // Each key takes a ballot and two barriers, and a share of the operations of a tile.
    assert!(alone < 4 * KEYS, "{alone} operations of simdgroups for {KEYS} keys, each of a digit of its own");
    // One more ballot finds the keys of the usual digit.
    let beside_usual = operations(true, &|i| if i % 2 == 0 { 7 } else { i });
    assert!(
        beside_usual < alone + 2 * KEYS,
        "{beside_usual} operations of simdgroups for {KEYS} keys, half of them of one digit"
    );
    let placed: [(&str, &dyn Fn(u32) -> u32); 4] = [
        ("of two neighbours", &|i| i / 2),
        ("of three neighbours", &|i| i / 3),
        ("of two lanes a half apart", &|i| i % 16),
        ("of up to three lanes 13 apart", &|i| i % 32 % 13),
    ];
    for (what, digit) in some(&placed) {
        let found = operations(true, digit);
        let turns = operations(false, digit);
        println!("{what}: {found} operations of simdgroups, {turns} out of order, {alone} where each has a digit of its own");
        assert!(found == alone && turns > alone, "{what}: {found}, {turns} out of order, not {alone}");
    }
}
