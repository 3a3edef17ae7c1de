//! Times searches for the nearest vectors: `measure_search DIMENSIONS VECTORS QUERIES CANDIDATES K TRIALS [METRIC] [PRECISION]`.
//!
//! DIMENSIONS: as 64,768; VECTORS: the slots of the store; CANDIDATES of each query, anywhere in the store; METRIC: l2, inner, cosine;
//! PRECISION: f32, f16. Prints the rows of a benchmark record, system to verified: of the whole call, from the host and back to it, and of the
//! distances alone, on the device, with 10^9 bytes of vectors a second. Results are verified against the CPU's.

mod device;

use device::times;
use polysort_core::Backend;
use polysort_measure::{Effort, Line, Series, Times, Trial, take_turns, timed, warm_up, words};
use polysort_rayon::RayonBackend;
use polysort_vector::{Check, Metric, Precision, Search, Shape, VectorSearch, VectorStore};
use polysort_wgpu::{Config, WgpuBackend};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments[index].parse::<usize>();
    let (vectors, queries, candidates, k, trials) = (number(1)?, number(2)?, number(3)?, number(4)?, number(5)?);
    let metric = match arguments.get(6).map(String::as_str) {
        Some("l2") | None => Metric::L2,
        Some("inner") => Metric::InnerProduct,
        Some("cosine") => Metric::Cosine,
        Some(other) => return Err(format!("no metric {other}").into()),
    };
    let precision = match arguments.get(7).map(String::as_str) {
        Some("f32") | None => Precision::F32,
        Some("f16") => Precision::F16,
        Some(other) => return Err(format!("no precision {other}").into()),
    };
    let backend = WgpuBackend::open_with(Config::from_env())?;
    eprintln!("{}", backend.name());
    for dimension in arguments[0].split(',') {
        let shape = Shape::new(dimension.parse()?, vectors).precision(precision);
        let mut words = words(0x1234_5678_9abc_def0);
        let mut random = || words.next().expect("words have no end") >> 32;
        let (mut store, mut reference) = (backend.vector_store(shape)?, RayonBackend::default().vector_store(shape)?);
        // In parts, so that the host does not hold all of it twice.
        for first in (0..vectors).step_by(1 << 14) {
            let count = (vectors - first).min(1 << 14);
            let part: Vec<f32> = (0..count * shape.dimension).map(|_| random() as u32 as f32 / 4e9 - 0.5).collect();
            store.write(first as u32, &part)?;
            reference.write(first as u32, &part)?;
        }
        let entries: Vec<u32> = (0..vectors as u32).collect();
        store.set_entries(&entries)?;
        reference.set_entries(&entries)?;
        let asked: Vec<f32> = (0..queries * shape.dimension).map(|_| random() as u32 as f32 / 4e9 - 0.5).collect();
        let listed: Vec<u32> = (0..queries * candidates).map(|_| (random() % vectors as u64) as u32).collect();
        let offsets: Vec<u32> = (0..=queries).map(|query| (query * candidates) as u32).collect();
        let search = Search::new(&asked, &listed, &offsets).metric(metric).check(Check::Device);
        let expected = RayonBackend::default().nearest(&reference, &search, k)?;
        warm_up(|| backend.nearest(&store, &search, k).map(drop))?;
        // Sums of other orders, so that close ones may change places.
        let close = |a: f32, b: f32| (a - b).abs() <= 1e-5 * shape.dimension as f32;
        let mut whole = [Series::default()];
        take_turns(&mut whole, Effort::rounds(0, trials), |_| {
            let (time, found) = timed(|| backend.nearest(&store, &search, k));
            let found = found?;
            let same = |query: usize| found.of(query).1.iter().zip(expected.of(query).1).all(|(&a, &b)| close(a, b));
            Ok::<_, polysort_vector::VectorError>(Trial::new(time, (0..queries).all(same)))
        });
        let whole = whole[0].completed()?;
        let all = queries * candidates;
        let row = |scope: &str, times: &Times| {
            let line = Line {
                system: "polysort",
                backend: "wgpu",
                algorithm: &format!("ivf {metric:?} {dimension} x {queries} x {candidates} {scope}"),
                key: &format!("{precision:?}"),
                payload: &format!("top {k}"),
                n: all,
            };
            print!("{}", line.text_of(times, (all * shape.vector_bytes()) as f64, whole.is_verified()));
        };
        row("whole", &whole.ranked());
        let profile = backend.profile_search(&store, &search, k as u32, trials)?;
        row("device", &times(&profile.device));
        for (name, launch) in &profile.launches {
            row(name, &times(launch));
        }
    }
    Ok(())
}
