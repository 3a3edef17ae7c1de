//! Finds handwritten digits that look alike: an index of lists over 1597 real images, searched for 200 others.
//!
//! `cargo run --release --example ivf_search`, on a GPU with `-- --backend wgpu`. Every answer is compared with brute force in
//! double precision on the host. The program fails if looking into an eighth of the lists finds fewer than 95 of 100 nearest
//! neighbors, or if looking into all of them differs.

use npyz::NpyFile;
use polysort::RayonBackend;
use polysort::vector::{IvfIndex, IvfOptions, Neighbor, VectorSearch};
use std::collections::HashSet;
use std::error::Error;
use std::time::{Duration, Instant};

/// Pixels of a digit.
const DIMENSION: usize = 64;
const LISTS: usize = 64;
/// Lists that a query looks into.
const PROBES: usize = LISTS / 8;
/// Neighbors that a query asks for.
const K: usize = 10;
/// One digit in this many is a query, the others are in the index.
const HELD_OUT: usize = 9;
const LEAST_RECALL: f64 = 0.95;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] | ["--backend", "rayon"] => run::<RayonBackend>(),
        #[cfg(feature = "wgpu")]
        ["--backend", "wgpu"] => run::<polysort::WgpuBackend>(),
        _ => Err(format!("{} is not [--backend rayon|wgpu]", arguments.join(" ")).into()),
    }
}

fn run<B: VectorSearch>() -> Result<(), Box<dyn Error>> {
    let backend = B::global()?;
    println!("on            {}", backend.name());
    let digits = Digits::read()?;
    let (queries, ids): (Vec<usize>, Vec<usize>) = (0..digits.labels.len()).partition(|digit| digit % HELD_OUT == 0);
    let images = |digits_of: &[usize]| digits_of.iter().flat_map(|&digit| digits.image(digit)).copied().collect::<Vec<f32>>();
    let (held_out, vectors) = (images(&queries), images(&ids));
    let ids: Vec<u64> = ids.into_iter().map(|digit| digit as u64).collect();

    let start = Instant::now();
    let mut index = IvfIndex::build(backend, IvfOptions::new(DIMENSION, LISTS), &ids, &vectors)?;
    let sizes = index.list_sizes();
    let (least, most) = (sizes.iter().min().unwrap_or(&0), sizes.iter().max().unwrap_or(&0));
    println!("index         {} digits in {LISTS} lists of {least} to {most}, built in {:.1?}", index.len(), start.elapsed());
    report(&index, &digits, &queries, &held_out, &ids)?;

    // Half of them go: their slots are gaps. They come back: the gaps are filled, and no memory is added.
    let (gone, kept): (Vec<u64>, Vec<u64>) = ids.iter().copied().partition(|id| id % 2 == 0);
    index.remove_all(&gone)?;
    println!("removed       {} digits, {} are left", gone.len(), index.len());
    report(&index, &digits, &queries, &held_out, &kept)?;
    let capacity = index.capacity();
    index.add_all(&gone, &images(&gone.iter().map(|&id| id as usize).collect::<Vec<_>>()))?;
    println!("added again   {} digits, {} slots as before", index.len(), index.capacity());
    if index.capacity() != capacity {
        return Err("slots that were free have not been used".into());
    }
    report(&index, &digits, &queries, &held_out, &ids)
}

/// Searches with some and with all probes and compares with brute force over `ids`, which are what the index holds.
fn report<B: VectorSearch>(
    index: &IvfIndex<B>,
    digits: &Digits,
    queries: &[usize],
    held_out: &[f32],
    ids: &[u64],
) -> Result<(), Box<dyn Error>> {
    let truth: Vec<Vec<f64>> = queries.iter().map(|&query| digits.nearest(query, ids)).collect();
    let there: HashSet<u64> = ids.iter().copied().collect();
    for probes in [PROBES, LISTS] {
        let found = index.search(held_out, K, probes)?;
        // Pixels are small whole numbers, so distances are exact. A neighbor is right if it is no farther than the last true one.
        let mut right = 0;
        for ((&query, found), truth) in queries.iter().zip(&found).zip(&truth) {
            for neighbor in found {
                if !there.contains(&neighbor.id) || digits.distance(query, neighbor.id as usize) != neighbor.distance.into() {
                    return Err(format!("digit {query}: {neighbor:?} is not there, or elsewhere").into());
                }
            }
            right += found.iter().filter(|neighbor| f64::from(neighbor.distance) <= truth[K - 1]).count();
            if probes == LISTS && !found.iter().map(|neighbor| f64::from(neighbor.distance)).eq(truth.iter().copied()) {
                return Err(format!("digit {query}: all lists give {found:?}, brute force {truth:?}").into());
            }
        }
        let recall = right as f64 / (K * queries.len()) as f64;
        let named = queries.iter().zip(&found).filter(|&(&query, found)| digits.named(found) == digits.labels[query]).count();
        let per_second = queries.len() as f64 / time(|| index.search(held_out, K, probes).map(drop))?.as_secs_f64();
        println!(
            "{probes:2} of {LISTS} lists: recall@{K} {recall:.4}, {named} of {} digits named rightly, {per_second:.0} queries/s",
            queries.len()
        );
        if recall < LEAST_RECALL {
            return Err(format!("recall@{K} of {recall} is below {LEAST_RECALL}").into());
        }
    }
    Ok(())
}

/// The time of one call: the shortest of some.
fn time<E>(call: impl Fn() -> Result<(), E>) -> Result<Duration, E> {
    let (first, mut best) = (Instant::now(), Duration::MAX);
    while best == Duration::MAX || first.elapsed() < Duration::from_millis(200) {
        let start = Instant::now();
        call()?;
        best = best.min(start.elapsed());
    }
    Ok(best)
}

/// Images of handwritten digits, and which digit each is: `examples/data/README.md` says where they come from.
struct Digits {
    pixels: Vec<f32>,
    labels: Vec<u8>,
}

impl Digits {
    fn read() -> Result<Self, Box<dyn Error>> {
        let pixels = NpyFile::new(&include_bytes!("data/digits.npy")[..])?;
        let labels = NpyFile::new(&include_bytes!("data/digit-labels.npy")[..])?.into_vec::<u8>()?;
        if pixels.shape() != [labels.len() as u64, DIMENSION as u64] {
            return Err(format!("{:?} is not {} x {DIMENSION}", pixels.shape(), labels.len()).into());
        }
        Ok(Self { pixels: pixels.into_vec::<u8>()?.into_iter().map(f32::from).collect(), labels })
    }

    fn image(&self, digit: usize) -> &[f32] {
        &self.pixels[digit * DIMENSION..][..DIMENSION]
    }

    fn distance(&self, a: usize, b: usize) -> f64 {
        self.image(a).iter().zip(self.image(b)).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum()
    }

    /// The distances of the nearest among `ids`, by brute force.
    fn nearest(&self, query: usize, ids: &[u64]) -> Vec<f64> {
        let mut distances: Vec<f64> = ids.iter().map(|&id| self.distance(query, id as usize)).collect();
        distances.sort_by(f64::total_cmp);
        distances.truncate(K);
        distances
    }

    /// The digit that most of the neighbors are.
    fn named(&self, neighbors: &[Neighbor]) -> u8 {
        let votes = |digit: &u8| neighbors.iter().filter(|neighbor| self.labels[neighbor.id as usize] == *digit).count();
        (0..10).max_by_key(votes).unwrap_or(0)
    }
}
