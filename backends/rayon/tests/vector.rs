//! What is particular to vector search on threads: one answer whatever their number, and searches that are more than one task.

use polysort_core::Error;
use polysort_rayon::RayonBackend;
use polysort_vector::{Check, Distances, Metric, Precision, Search, Shape, VectorError, VectorSearch, VectorStore};

fn number(index: usize) -> f32 {
    (index as u32).wrapping_mul(2_654_435_761) as f32 / u32::MAX as f32 - 0.5
}

/// A few queries with many candidates, many with few, and one that has nearly all.
#[test]
fn threads_do_not_change_the_answer() {
    let (dimension, slots) = (70, 3000);
    let vectors: Vec<f32> = (0..dimension * slots).map(number).collect();
    let entries: Vec<u32> = (0..slots as u32).rev().collect();
    for counts in [vec![40_000, 3, 0, 35_000], vec![10; 9000], vec![100_000]] {
        let queries: Vec<f32> = (0..dimension * counts.len()).map(|index| number(index + 7)).collect();
        let offsets: Vec<u32> = [0]
            .into_iter()
            .chain(counts.iter().scan(0, |sum, count| {
                *sum += count;
                Some(*sum)
            }))
            .collect();
        let candidates: Vec<u32> = (0..counts.iter().sum()).map(|index: u32| index.wrapping_mul(7919) % slots as u32).collect();
        for (metric, precision) in [(Metric::L2, Precision::F32), (Metric::Cosine, Precision::F16)] {
            let search = Search::new(&queries, &candidates, &offsets).metric(metric);
            let mut first: Option<Distances> = None;
            for threads in [1, 2, 5] {
                let backend = RayonBackend::with_threads(threads).unwrap();
                let mut store = backend.vector_store(Shape::new(dimension, slots).precision(precision)).unwrap();
                store.write(0, &vectors).unwrap();
                store.set_entries(&entries).unwrap();
                let found = backend.distances(&store, &search).unwrap();
                assert!(first.get_or_insert_with(|| found.clone()) == &found, "{threads} threads, {metric:?}");
                assert!(found.slots.iter().zip(&candidates).all(|(&slot, &candidate)| slot == slots as u32 - 1 - candidate));
                for k in [1, 10, 2000] {
                    let nearest = backend.nearest(&store, &search, k).unwrap();
                    for (query, ends) in offsets.windows(2).enumerate().step_by(counts.len().div_ceil(50)) {
                        let mut order: Vec<usize> = (ends[0] as usize..ends[1] as usize).collect();
                        order.sort_by(|&a, &b| found.distances[a].total_cmp(&found.distances[b]));
                        order.truncate(k);
                        let (near, far) = nearest.of(query);
                        assert!(
                            near.iter().eq(order.iter().map(|&at| &found.slots[at])),
                            "{k} of query {query}, {threads} threads"
                        );
                        assert!(far.iter().eq(order.iter().map(|&at| &found.distances[at])));
                    }
                }
            }
        }
    }
}

#[test]
fn wrong_candidates_are_counted_over_all_tasks() {
    let backend = RayonBackend::with_threads(2).unwrap();
    let mut store = backend.vector_store(Shape::new(64, 10)).unwrap();
    store.set_entries(&[0, 9]).unwrap();
    let candidates: Vec<u32> = (0..50_000).map(|index| if index % 1000 == 999 { 2 } else { index % 2 }).collect();
    let (queries, offsets) = (vec![0.0; 2 * 64], [0, 20_000, 50_000]);
    let search = Search::new(&queries, &candidates, &offsets).check(Check::Device);
    assert!(matches!(backend.distances(&store, &search), Err(VectorError::BadCandidates { count: 50 })));
    for k in [0, 1, 30_000] {
        assert!(matches!(backend.nearest(&store, &search, k), Err(VectorError::BadCandidates { count: 50 })));
    }
}

#[test]
fn a_store_that_no_memory_holds_is_refused() {
    for (precision, bytes) in [(Precision::F32, 1_u64 << 63), (Precision::F16, 1 << 62)] {
        let refused = RayonBackend::default().vector_store(Shape::new(1 << 31, 1 << 30).precision(precision)).err();
        assert!(matches!(refused, Some(VectorError::General(Error::OutOfMemory { asked, .. })) if asked == bytes), "{refused:?}");
        let shape = Shape::new(u32::MAX as usize - 1, u32::MAX as usize - 1).precision(precision);
        let refused = RayonBackend::default().vector_store(shape).err();
        assert!(matches!(refused, Some(VectorError::General(Error::OutOfMemory { .. }))), "{refused:?}");
    }
    for dimension in [u32::MAX as usize, 1 << 32, usize::MAX / 2, usize::MAX] {
        let refused = RayonBackend::default().vector_store(Shape::new(dimension, 1)).err();
        assert!(matches!(refused, Some(VectorError::General(Error::TooLong { limit: 0xffff_fffe, .. }))), "{refused:?}");
    }
}

/// Scaling a vector does not change its cosines, whether single precision holds its squares or not; and the selection gives the same
/// bits as the distances.
#[test]
fn cosines_do_not_depend_on_the_norm() {
    let (dimension, slots) = (37, 200);
    let numbers: Vec<f32> = (0..dimension * slots).map(number).collect();
    let entries: Vec<u32> = (0..slots as u32).collect();
    let backend = RayonBackend::with_threads(2).unwrap();
    let found = |of_vectors: f32, of_query: f32| {
        let mut store = backend.vector_store(Shape::new(dimension, slots)).unwrap();
        store.write(0, &numbers.iter().map(|number| number * of_vectors).collect::<Vec<_>>()).unwrap();
        store.set_entries(&entries).unwrap();
        let query: Vec<f32> = (0..dimension).map(|at| number(at + 7) * of_query).collect();
        let search = Search::new(&query, &entries, &[0, 200]).metric(Metric::Cosine);
        let found = backend.distances(&store, &search).unwrap();
        let nearest = backend.nearest(&store, &search, 200).unwrap();
        for (&slot, &distance) in nearest.of(0).0.iter().zip(nearest.of(0).1) {
            assert_eq!(distance.to_bits(), found.distances[slot as usize].to_bits());
        }
        found.distances
    };
    let plain = found(1.0, 1.0);
    let large = 2.0_f32.powi(127);
    for (of_vectors, of_query) in
        [(large, 1.0), (1.0, large), (large, large), (1.0 / large, 1.0), (1.0 / large, large), (1e-20, 1e-22)]
    {
        let scaled = found(of_vectors, of_query);
        let error = plain.iter().zip(&scaled).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(error < 1e-5, "{error} off with vectors times {of_vectors} and queries times {of_query}");
    }
}
