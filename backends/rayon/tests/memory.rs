//! The peak of the memory that a call allocates. In a process of its own, with an allocator that counts.

#[path = "support/counting.rs"]
mod counting;

use polysort_core::{Options, Sort};
use polysort_kit::step;
use polysort_rayon::RayonBackend;

/// The bytes that `call` allocates at most at once, from no scratch.
fn peak(call: impl FnOnce()) -> usize {
    RayonBackend::release_scratch();
    let before = counting::now();
    counting::take_peak();
    call();
    counting::take_peak() - before
}

const LEN: u64 = 4 << 20;

type Pattern = fn(u64, u64) -> u64;

/// Even keys, and such as crowd a few buckets on every level.
const PATTERNS: [(&str, Pattern); 7] = [
    ("even", |_, r| r),
    ("descending", |i, _| LEN - i),
    ("half of them equal", |i, r| if i % 2 == 0 { 1 << 40 } else { r }),
    ("a power law", |_, r| r >> (r & 63)),
    ("low bits, but for one key", |i, r| if i == 1000 { r | 1 << 63 } else { r & 0xff_ffff }),
    ("two heaps", |_, r| if r & 1 == 0 { r >> 30 } else { !(r >> 30) }),
    ("a run behind a run", |i, _| i % (LEN / 2)),
];

/// What does not depend on the length, for each thread: blocks, counters, room for a bucket that came out large.
const FIXED: usize = 12 << 20;

/// What `RayonBackend::in_place` promises for each thread.
const IN_PLACE: usize = 2 << 20;

#[test]
fn at_most_a_record_for_each_key() {
    let random = |i: u64| {
        let z = (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ i >> 7).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (z ^ z >> 31).wrapping_mul(0x94d0_49bb_1331_11eb)
    };
    for threads in [1, 2] {
        let backend = RayonBackend::with_threads(threads).unwrap();
        // A pool allocates when it starts.
        backend.sort(&mut (0..LEN).map(random).collect::<Vec<_>>()).unwrap();
        // Every second pattern, unless the test is thorough: another half of them for each number of threads.
        for (name, pattern) in PATTERNS.into_iter().skip(threads % step(2)).step_by(step(2)) {
            let keys: Vec<u64> = (0..LEN).map(|i| pattern(i, random(i))).collect();
            // Buffers are up to an eighth longer than asked for.
            let most = |record: usize, result: usize| keys.len() * (record + record / 8 + result) + threads * FIXED;
            let check = |what: &str, peak: usize, most: usize| {
                assert!(
                    peak <= most,
                    "{what}, {name}, {threads} threads: {:.2} bytes a key of {:.2}",
                    peak as f64 / LEN as f64,
                    most as f64 / LEN as f64
                );
            };
            let (mut own, mut values) = (keys.clone(), Vec::from_iter(0..LEN));
            check("keys", peak(|| backend.sort(&mut own).unwrap()), most(8, 0));
            own.copy_from_slice(&keys);
            let in_place = backend.clone().in_place();
            check("keys in place", peak(|| in_place.sort(&mut own).unwrap()), threads * IN_PLACE);
            assert!(own.is_sorted());
            let mut short: Vec<u16> = keys.iter().map(|&key| key as u16).collect();
            check("keys of 16 bits in place", peak(|| in_place.sort(&mut short).unwrap()), threads * IN_PLACE);
            assert!(short.is_sorted());
            own.copy_from_slice(&keys);
            check(
                "keys by a window",
                peak(|| backend.sort_with(&mut own, Options::ascending().bits(3..60)).unwrap()),
                most(8, 0),
            );
            own.copy_from_slice(&keys);
            check("pairs", peak(|| backend.sort_pairs(&mut own, &mut values).unwrap()), most(16, 0));
            check("argsort", peak(|| drop(backend.argsort(&keys).unwrap())), most(12, 4));
        }
    }
}
