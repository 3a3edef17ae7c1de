//! 10 000 sorts leave the memory of the process as it was. In a process of its own, with an allocator that counts.

#[path = "support/counting.rs"]
mod counting;

use polysort_core::Sort;
use polysort_rayon::RayonBackend;

/// Sorts in several ways, `times` each.
fn sorts(backend: &RayonBackend, times: u32) {
    for turn in 0..times {
        let len = [10, 300, 3000][turn as usize % 3] + turn % 7;
        let keys: Vec<u32> = (0..len).map(|i| (i + turn).wrapping_mul(0x9e37_79b9)).collect();
        let (mut sorted, mut paired, mut values) = (keys.clone(), keys.clone(), Vec::from_iter(0..len));
        backend.sort(&mut sorted).unwrap();
        backend.sort_pairs(&mut paired, &mut values).unwrap();
        assert!(sorted.is_sorted() && paired == sorted);
        let order = backend.argsort(&keys).unwrap();
        assert_eq!(order, values);
        assert_eq!(backend.bottom_k(&keys, 5).unwrap().indices, order[..5]);
        backend.sort_segments(&mut paired, &[0, 3, len as usize]).unwrap();
    }
}

#[test]
fn ten_thousand_sorts_leave_the_memory_as_it_was() {
    let backend = RayonBackend::with_threads(2).unwrap();
    // Threads start, and scratch is kept from then on.
    sorts(&backend, 200);
    let held = |scratch: usize| counting::now() - scratch;
    let before = held(RayonBackend::scratch_bytes());
    sorts(&backend, 2000);
    let after = held(RayonBackend::scratch_bytes());
    // What threads keep for themselves may come later than the first sorts.
    assert!(after <= before + 4096, "{before} bytes before, {after} after");
    RayonBackend::release_scratch();
    assert_eq!(RayonBackend::scratch_bytes(), 0);
}
