//! Sorts fit on the stack of a thread of the pool, 2 MiB, also if the compiler does not optimize. `scripts/test.sh --full` runs this test without
//! optimization, as programs in development are built: then a function has room for each value of all code that is inlined into it.

use polysort_core::{Options, Sort, Sortable};
use polysort_rayon::RayonBackend;
use std::thread;

/// The stack of the threads that sort: three quarters of the default, as the caller's own functions take some.
const STACK: usize = 3 << 19;

fn sort_all<K: Sortable>(key: fn(u64) -> K) {
    let backend = RayonBackend::with_threads(1).unwrap(); // in the calling thread
    // Lengths for the networks, the passes, the quicksort and the partition.
    for len in [3, 30, 100, 200, 400, 900, 3000, 20_000, 100_000] {
        let keys: Vec<K> = (0..len).map(|i: u64| key(i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29))).collect();
        let mut sorted = keys.clone();
        backend.sort(&mut sorted).unwrap();
        assert!(sorted.is_sorted_by_key(|key| key.to_bits()));
        let mut sorted = keys.clone();
        backend.clone().in_place().sort_with(&mut sorted, Options::descending()).unwrap();
        assert!(sorted.iter().rev().is_sorted_by_key(|key| key.to_bits()));
        let (mut sorted, mut values) = (keys.clone(), (0..len as u32).collect::<Vec<_>>());
        backend.sort_pairs(&mut sorted, &mut values).unwrap();
        assert!(values.iter().zip(&sorted).all(|(&index, key)| keys[index as usize].to_bits() == key.to_bits()));
        let order = backend.argsort(&keys).unwrap();
        assert_eq!(order, values);
        let mut selected = keys.clone();
        backend.select_nth(&mut selected, len as usize / 2).unwrap();
        assert!(selected[len as usize / 2].to_bits() == sorted[len as usize / 2].to_bits());
    }
}

#[test]
fn sorts_fit_on_a_small_stack() {
    let sorts = [
        || sort_all(|bits| bits as u8),
        || sort_all(|bits| bits as u16),
        || sort_all(|bits| bits as u32),
        || sort_all(|bits| bits),
        || sort_all(|bits| u128::from(bits) << 40 | u128::from(bits)),
        || sort_all(|bits| f32::from_bits(bits as u32)),
    ];
    for sort in sorts {
        thread::Builder::new().stack_size(STACK).spawn(sort).unwrap().join().unwrap();
    }
}
