//! The scratch of the process, in a process of its own: other tests would be using it.

use polysort_core::Sort;
use polysort_rayon::RayonBackend;

#[test]
fn scratch_is_kept_and_released() {
    let backend = RayonBackend::with_threads(1).unwrap();
    let mut keys: Vec<u64> = (0..1_000_000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    backend.sort(&mut keys).unwrap();
    assert!(keys.is_sorted());
    assert!(RayonBackend::scratch_bytes() >= 8_000_000, "{}", RayonBackend::scratch_bytes());
    RayonBackend::release_scratch();
    assert_eq!(RayonBackend::scratch_bytes(), 0);
}
