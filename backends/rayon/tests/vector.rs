//! What is particular to vector search on threads: one answer whatever their number, and searches that are more than one task.

use polysort_core::Error;
use polysort_core::vector::{Check, Distances, Metric, Precision, Search, Shape, VectorSearch, VectorStore};
use polysort_rayon::RayonBackend;

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
    assert!(matches!(backend.distances(&store, &search), Err(Error::BadCandidates { count: 50 })));
    for k in [0, 1, 30_000] {
        assert!(matches!(backend.nearest(&store, &search, k), Err(Error::BadCandidates { count: 50 })));
    }
}

#[test]
fn a_store_that_no_memory_holds_is_refused() {
    for precision in [Precision::F32, Precision::F16] {
        let shape = Shape::new(usize::MAX / 2, (1 << 31) - 1).precision(precision);
        let refused = RayonBackend::default().vector_store(shape).err();
        assert!(matches!(refused, Some(Error::OutOfMemory { asked: u64::MAX, limit: None })), "{refused:?}");
    }
}
