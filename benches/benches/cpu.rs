//! The CPU backend and what a Rust user would take instead: `cargo bench -p polysort-benches --bench cpu -- u32`.
//!
//! A benchmark's name is `<operation>/<system>-<key>-<pattern>-<len>`. Data is hot for short lengths; each measurement sorts fresh copies.

use criterion::measurement::WallTime;
use criterion::{BatchSize, BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use polysort_core::Sort;
use polysort_kit::{Pattern, TestKey};
use polysort_rayon::RayonBackend;
use rayon::prelude::*;
use rdst::RadixKey;
use voracious_radix_sort::Radixable;

const LENGTHS: [usize; 5] = [1 << 6, 1 << 10, 1 << 14, 1 << 18, 1 << 22];
const PATTERNS: [Pattern; 4] = [Pattern::Uniform, Pattern::NearlySorted, Pattern::FewUnique, Pattern::PowerLaw];
const SEED: u64 = 7;

/// A key that all the peers sort.
trait PeerKey: TestKey + RadixKey + radsort::Key + Radixable<Self> + voracious_radix_sort::RadixKey {}
impl PeerKey for u32 {}
impl PeerKey for u64 {}
impl PeerKey for f32 {}

fn system<T: Clone>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    system: &str,
    case: &str,
    input: &[T],
    mut sort: impl FnMut(&mut [T]),
) {
    group.bench_function(BenchmarkId::from_parameter(format!("{system}-{case}")), |bencher| {
        bencher.iter_batched_ref(|| input.to_vec(), |keys| sort(keys), BatchSize::LargeInput);
    });
}

fn keys<K: PeerKey>(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sort");
    let backend = RayonBackend::default();
    for len in LENGTHS {
        group.throughput(Throughput::Elements(len as u64)).sample_size(20);
        for pattern in PATTERNS {
            let (input, case) = (pattern.keys::<K>(len, SEED), format!("{}-{pattern:?}-{len}", K::NAME));
            system(&mut group, "polysort_rayon", &case, &input, |keys| backend.sort(keys).expect("a sort"));
            system(&mut group, "std_unstable", &case, &input, |keys| keys.sort_unstable_by(K::compare));
            system(&mut group, "rayon_unstable", &case, &input, |keys| keys.par_sort_unstable_by(K::compare));
            system(&mut group, "rdst", &case, &input, rdst::RadixSort::radix_sort_unstable);
            system(&mut group, "radsort", &case, &input, radsort::sort);
            system(&mut group, "voracious", &case, &input, voracious_radix_sort::RadixSort::voracious_sort);
        }
    }
}

fn pairs(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sort_pairs");
    let backend = RayonBackend::default();
    for len in LENGTHS {
        group.throughput(Throughput::Elements(len as u64)).sample_size(20);
        for pattern in PATTERNS {
            let (input, case) = (pattern.keys::<u32>(len, SEED), format!("u32+u32-{pattern:?}-{len}"));
            let values: Vec<u32> = (0..len as u32).collect();
            let tuples: Vec<(u32, u32)> = input.iter().copied().zip(0..).collect();
            group.bench_function(BenchmarkId::from_parameter(format!("polysort_rayon-{case}")), |bencher| {
                let copies = || (input.clone(), values.clone());
                let sort = |(keys, values): &mut (Vec<u32>, Vec<u32>)| backend.sort_pairs(keys, values).expect("a sort");
                bencher.iter_batched_ref(copies, sort, BatchSize::LargeInput);
            });
            system(&mut group, "std_stable", &case, &tuples, |pairs| pairs.sort_by_key(|pair| pair.0));
            system(&mut group, "rayon_stable", &case, &tuples, |pairs| pairs.par_sort_by_key(|pair| pair.0));
            system(&mut group, "radsort", &case, &tuples, |pairs| radsort::sort_by_key(pairs, |pair| pair.0));
        }
    }
}

fn argsort_and_selection(criterion: &mut Criterion) {
    let backend = RayonBackend::default();
    for len in LENGTHS {
        let input = Pattern::Uniform.keys::<f32>(len, SEED);
        let mut group = criterion.benchmark_group("argsort");
        group.throughput(Throughput::Elements(len as u64)).sample_size(20);
        let case = format!("f32-Uniform-{len}");
        group.bench_function(BenchmarkId::from_parameter(format!("polysort_rayon-{case}")), |bencher| {
            bencher.iter(|| backend.argsort(&input).expect("a sort"));
        });
        group.bench_function(BenchmarkId::from_parameter(format!("std_stable-{case}")), |bencher| {
            bencher.iter(|| {
                let mut order: Vec<u32> = (0..len as u32).collect();
                order.sort_by(|&a, &b| input[a as usize].total_cmp(&input[b as usize]));
                order
            });
        });
        group.finish();
        let mut group = criterion.benchmark_group("top_k");
        group.throughput(Throughput::Elements(len as u64)).sample_size(20);
        group.bench_function(BenchmarkId::from_parameter(format!("polysort_rayon-{case}-k50")), |bencher| {
            bencher.iter(|| backend.top_k(&input, 50).expect("a selection"));
        });
    }
}

criterion_group!(cpu, keys::<u32>, keys::<u64>, keys::<f32>, pairs, argsort_and_selection);
criterion_main!(cpu);
