//! The checks of vector search on this machine's adapter: with all features, without subgroup operations, and with stores of many pages.

#[path = "support/mod.rs"]
mod support;

use libtest_mimic::{Failed, Trial};
use polysort_kit::vector_checks;
use polysort_vector::{Precision, Search, Shape, VectorSearch, VectorStore};
use polysort_wgpu::WgpuBackend;
use polysort_wgpu::plan::Blocked;
use polysort_wgpu::testing::{self, Knobs};

/// A largest binding so small that most stores have several pages.
const PAGED: Knobs = Knobs {
    blocked: Blocked::NONE,
    batch: None,
    small_bucket: None,
    max_binding: Some(1 << 16),
    max_buffer: None,
    portion: None,
};

fn main() {
    support::run("vectors", |label| {
        let mut trials: Vec<Trial> = vec![];
        for (name, config, knobs) in [
            ("", support::config(), Knobs::default()),
            (", no subgroups", support::config_without_subgroups(), Knobs::default()),
            (", paged", support::config(), PAGED),
        ] {
            // Only the selection of the nearest vectors uses subgroups.
            let is_alike = |name: &str| !config.subgroups && !name.contains("nearest");
            let (alike, checks): (Vec<_>, Vec<_>) =
                vector_checks::<WgpuBackend>().into_iter().partition(|check| is_alike(check.name));
            if !alike.is_empty() {
                eprintln!("not run on {label}{name}: {} vector checks without subgroup operations", alike.len());
            }
            for check in checks {
                let config = config.clone();
                let run = move || {
                    let backend = testing::open(config, knobs).map_err(support::failed)?;
                    (check.run)(&backend).map_err(Failed::from)
                };
                trials.push(support::trial(&format!("{label}{name}"), check.name, run));
            }
        }
        trials.push(support::trial(label, "a store of many pages gives the results of one page", pages_agree));
        trials.push(support::trial(label, "async variants give the right results", || pollster::block_on(async_variants())));
        trials
    })
}

/// Compares a store of many pages with a store of one page.
fn pages_agree() -> Result<(), Failed> {
    let mut random = support::random(5);
    let (dimension, capacity) = (70, 3000);
    let mut numbers = |count: usize| (0..count).map(|_| random() as i16 as f32).collect::<Vec<f32>>();
    let (vectors, queries) = (numbers(dimension * capacity), numbers(2 * dimension));
    let entries: Vec<u32> = (0..capacity as u32).rev().collect();
    let candidates: Vec<u32> = (0..capacity as u32).chain((0..capacity as u32).step_by(7)).collect();
    let offsets = [0, capacity as u32, candidates.len() as u32];
    let search = Search::new(&queries, &candidates, &offsets);
    for precision in [Precision::F32, Precision::F16] {
        let mut found = vec![];
        for knobs in [Knobs::default(), PAGED] {
            let backend = testing::open(support::config(), knobs).map_err(support::failed)?;
            let shape = Shape::new(dimension, capacity).precision(precision);
            let mut store = backend.vector_store(shape).map_err(support::failed)?;
            // Writes two parts, and no page ends where the first part ends.
            let (first, rest) = vectors.split_at(dimension * 1001);
            store.write(1001, rest).map_err(support::failed)?;
            store.write(0, first).map_err(support::failed)?;
            store.set_entries(&entries).map_err(support::failed)?;
            found.push((
                backend.distances(&store, &search).map_err(support::failed)?,
                backend.nearest(&store, &search, 20).map_err(support::failed)?,
            ));
        }
        support::ensure(found[0] == found[1], || format!("{precision:?} pages differ"))?;
        let slots = &found[0].0.slots;
        let right = candidates.iter().zip(slots).all(|(&entry, &slot)| slot == capacity as u32 - 1 - entry);
        support::ensure(right, || "slots are wrong".into())?;
    }
    Ok(())
}

async fn async_variants() -> Result<(), Failed> {
    let backend = WgpuBackend::open_with(support::config()).map_err(support::failed)?;
    let mut store = backend.vector_store(Shape::new(2, 4)).map_err(support::failed)?;
    store.write_async(1, &[0.0, 1.0, 2.0, 3.0]).await.map_err(support::failed)?;
    store.set_entries_async(&[2, 0, 1]).await.map_err(support::failed)?;
    let search = Search::new(&[0.0, 0.0], &[0, 1, 2], &[0, 3]);
    let found = backend.distances_async(&store, &search).await.map_err(support::failed)?;
    support::ensure(found.distances == [13.0, 0.0, 1.0] && found.slots == [2, 0, 1], || format!("{found:?}"))?;
    let nearest = backend.nearest_async(&store, &search, 2).await.map_err(support::failed)?;
    support::ensure(nearest.of(0) == (&[0, 1], &[0.0, 1.0]), || format!("{nearest:?}"))
}
