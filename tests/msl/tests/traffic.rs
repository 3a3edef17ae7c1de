//! How much of the device's memory a sort touches: what bounds its speed on a GPU.
#![cfg(unix)]

use polysort_core::plan::{Algorithm, RADIX};
use polysort_core::{Error, Sort};
use polysort_msl::{Config, MslBackend, Source, Traffic};

/// Some tiles, so that what is counted for each key is much that of any longer sort.
const KEYS: u64 = 8 * 256 * 22;

/// About a tile of the hybrid here.
const TILE: usize = 2048;

/// What one sort takes, as bytes and atomic operations for each key, and its launches.
fn of(sort: impl FnOnce(&MslBackend) -> Result<(), Error>) -> (f64, f64, u64) {
    let backend = MslBackend::open_with(Config { planned_for: 1 << 24, ..Config::of(Source::NATIVE) }).unwrap();
    sort(&backend).unwrap();
    let Traffic { launches, bytes, atomics } = backend.traffic();
    (bytes as f64 / KEYS as f64, atomics as f64 / KEYS as f64, launches)
}

fn keys() -> Vec<u64> {
    (0..KEYS).map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
}

#[test]
fn bytes_of_a_key() {
    let narrow = || keys().iter().map(|&key| (key >> 32) as u32).collect::<Vec<_>>();
    let mut values = vec![0_u32; KEYS as usize];
    let measured = [
        // Each pass reads and writes a key; before them all keys are read once. Whether they are in order is soon seen.
        ("u32", of(|backend| backend.sort(&mut narrow())), 4.0 * 8.0 + 4.0),
        ("u32 with u32", of(|backend| backend.sort_pairs(&mut narrow(), &mut values)), 4.0 * 16.0 + 4.0),
        ("u64", of(|backend| backend.sort(&mut keys())), 8.0 * 16.0 + 8.0),
        ("u64 with u32", of(|backend| backend.sort_pairs(&mut keys(), &mut values)), 8.0 * 24.0 + 8.0),
    ];
    println!("for each key: bytes, atomic operations; launches; GB for 2^24 keys");
    for (what, (bytes, atomics, launches), expected) in measured {
        println!("{what:<13}{bytes:>8.1}{atomics:>8.2}{launches:>4}{:>8.2}", bytes * f64::from(1 << 24) / 1e9);
        // What is not the keys' own: status words, and the sort's small table.
        assert!(bytes >= expected && bytes < 1.1 * expected + 2.0, "{what}: {bytes} bytes a key, not about {expected}");
        assert!(atomics < 16.0, "{what}: {atomics} atomic operations a key");
    }
}

/// What is added for each further key of four buckets that are not small, as the table of all buckets is the same for any number. What of it leaves a cache is
/// less by far: `backends/core/tests/cache.rs` tells.
#[test]
fn bytes_of_a_key_of_the_hybrid() {
    let algorithm = Some(Algorithm::MsdHybrid);
    let config = Config { algorithm, small_bucket: Some(0), ..Config::of(Source::NAGA_ROLLED) };
    let added = |sort: &dyn Fn(&MslBackend, usize) -> Result<(), Error>| {
        let [fewer, more] = [1, 2].map(|tiles| {
            let backend = MslBackend::open_with(config).unwrap();
            sort(&backend, 4 * tiles * TILE).unwrap();
            backend.traffic().bytes as f64
        });
        (more - fewer) / (4 * TILE) as f64
    };
    let wide = |count: usize| (1..=count as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 6).collect::<Vec<u64>>();
    let narrow = |count| wide(count).into_iter().map(|key| (key >> 32) as u32).collect::<Vec<_>>();
    let measured = [
        // All keys are read once before the partition; then bucket by bucket, to count their other digits, and for a pass for each.
        ("u32", added(&|backend, count| backend.sort(&mut narrow(count))), 4.0 + 8.0 + 4.0 + 3.0 * 8.0),
        (
            "u32 with u32",
            added(&|backend, count| backend.sort_pairs(&mut narrow(count), &mut vec![0_u32; count])),
            4.0 + 16.0 + 4.0 + 3.0 * 16.0,
        ),
        ("u64", added(&|backend, count| backend.sort(&mut wide(count))), 8.0 + 16.0 + 8.0 + 7.0 * 16.0),
    ];
    println!("for each key: bytes");
    for (what, bytes, expected) in measured {
        println!("{what:<13}{bytes:>8.1}");
        // For each digit, and before the partition and the passes, the status words of each tile are cleared.
        let status = if what == "u64" { 10.0 } else { 6.0 } * 4.0 * f64::from(RADIX) / TILE as f64;
        // Where a last tile is not whole, its last key is read for those that are absent.
        let (least, most) = (0.95 * expected, 1.1 * (expected + status) + 2.0);
        assert!(bytes >= least && bytes < most, "{what}: {bytes} bytes a key, not {least} to {most}");
    }
}
