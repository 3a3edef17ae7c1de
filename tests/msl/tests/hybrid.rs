#![cfg(unix)]
use polysort_core::plan::{Algorithm, Blocked};
use polysort_core::Sort;
use polysort_msl::{Config, MslBackend, Source};
#[test]
fn quick() {
    for blocked in [Blocked::NONE, Blocked::one_of(3)] {
    let b = MslBackend::open_with(Config { algorithm: Some(Algorithm::MsdHybrid), batch: Some(3000), blocked, ..Config::of(Source::NAGA_ROLLED) }).unwrap();
    for n in [2usize, 100, 5000, 20000] {
        for bits in [32, 24, 20, 12, 9, 3] {
        let keys: Vec<u32> = (0..n as u64).map(|i| (((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32) >> (32 - bits)).collect();
        let mut found = keys.clone();
        let mut expected = keys.clone();
        expected.sort();
        b.sort(&mut found).unwrap();
        assert!(found == expected, "{n} {bits} {blocked:?}");
        let found = b.argsort(&keys).unwrap();
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_by_key(|&i| keys[i as usize]);
        assert!(found == order, "argsort {n} {bits} {blocked:?}");
        }
    }
    println!("{:?}", b.traffic());
    }
}
