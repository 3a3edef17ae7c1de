//! The CPU backend and what a Rust user would take instead: `cargo bench -p polysort-benches --bench cpu -- u32`.
//!
//! A benchmark's name is `<operation>/<system>-<key>-<pattern>-<len>`. The systems are those of `cpu_grid`: each run sorts fresh copies of different slices,
//! and is verified; the time is that of one slice.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use polysort_benches::input::Input;
use polysort_benches::key::BenchKey;
use polysort_benches::peers::{self, Field};
use polysort_benches::system::System;
use polysort_kit::Pattern;
use polysort_rayon::RayonBackend;
use std::time::Duration;

const LENGTHS: [usize; 5] = [1 << 6, 1 << 10, 1 << 14, 1 << 18, 1 << 22];
const PATTERNS: [Pattern; 4] = [Pattern::Uniform, Pattern::NearlySorted, Pattern::FewUnique, Pattern::PowerLaw];
const SEED: u64 = 7;

fn group<K>(criterion: &mut Criterion, op: &str, case: &str, input: &Input<K>, systems: Vec<System<'_>>) {
    let mut group = criterion.benchmark_group(op);
    group.throughput(Throughput::Elements(input.len as u64)).sample_size(20);
    let slices = (input.keys.len() / input.len) as u32;
    for mut system in systems {
        let name = format!("{}_{}-{case}", system.system, system.backend);
        group.bench_function(BenchmarkId::from_parameter(&name), |bencher| {
            let mut once = || {
                let run = system.run();
                assert!(run.is_right, "{name}: the answer is wrong");
                run.time
            };
            bencher.iter_custom(|iterations| (0..iterations).map(|_| once()).sum::<Duration>() / slices);
        });
    }
}

fn cases<K: BenchKey>(criterion: &mut Criterion) {
    let field = Field { threads: rayon::current_num_threads(), only: vec![] };
    for len in LENGTHS {
        for pattern in PATTERNS {
            let (input, case) = (Input::<K>::new(pattern, len, SEED), format!("{}-{pattern:?}-{len}", K::NAME));
            group(criterion, "sort", &case, &input, peers::keys(&input, &field));
            if K::NAME == "u32" {
                group(criterion, "sort_pairs", &format!("u32+{case}"), &input, peers::pairs::<K, u32>(&input, &field));
            }
            if (K::NAME, pattern) == ("f32", Pattern::Uniform) {
                group(criterion, "argsort", &case, &input, peers::argsort(&input, &field));
                let first = peers::own("first100", &input, &[RayonBackend::default()]);
                group(criterion, "top_k", &format!("{case}-k100"), &input, first);
            }
        }
    }
}

criterion_group!(cpu, cases::<u32>, cases::<u64>, cases::<f32>);
criterion_main!(cpu);
