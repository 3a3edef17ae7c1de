//! A device without a pool of its own works in the pool that the call comes from. In a process of its own, as it looks at rayon's global pool.

use polysort_core::{DynBackend, Sort};
use polysort_multi::MultiBackend;
use polysort_rayon::RayonBackend;

#[test]
fn a_call_in_a_pool_starts_no_other_pool() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let devices = [DynBackend::new(RayonBackend::with_threads(1).unwrap()), DynBackend::new(RayonBackend::default())];
    let in_pool = MultiBackend::new(devices).unwrap().least_part(1000);
    let bound = in_pool.clone().merge_on(RayonBackend::default());
    let keys: Vec<u64> = (0..500_000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    for multi in [in_pool, bound] {
        pool.install(|| {
            let (mut sorted, mut values) = (keys.clone(), vec![7_u32; keys.len()]);
            multi.sort(&mut sorted).unwrap();
            assert!(sorted.is_sorted());
            multi.sort_pairs(&mut keys.clone(), &mut values).unwrap();
            multi.argsort(&keys).unwrap();
            multi.sort_segments(&mut keys.clone(), &[0, 200_000, 300_000, 500_000]).unwrap();
            multi.top_k(&keys, 1000).unwrap();
        });
    }
    assert!(rayon::ThreadPoolBuilder::new().num_threads(1).build_global().is_ok(), "a sort has started rayon's global pool");
}
