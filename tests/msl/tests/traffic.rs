//! How much of the device's memory a sort touches: what bounds its speed on a GPU.
#![cfg(unix)]

use polysort_core::{Error, Sort};
use polysort_msl::{Config, MslBackend, Source, Traffic};

/// Some tiles, so that what is counted for each key is much that of any longer sort.
const KEYS: u64 = 8 * 256 * 22;

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
