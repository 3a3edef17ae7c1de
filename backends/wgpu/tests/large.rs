//! Long sorts on a real GPU, compared with the CPU backend: the longest that fit a binding, and many of random lengths.
//!
//! They run with `--full` on a real GPU. Otherwise each of them is reported as ignored.

mod support;

use libtest_mimic::{Arguments, Failed, Trial};
use polysort_core::{Backend, Options, Sort, Word};
use polysort_kit::Pattern;
use polysort_rayon::RayonBackend;
use polysort_wgpu::{SortBuffer, WgpuBackend};
use rayon::prelude::*;

/// The number of random lengths for each type of key.
const SEEDS: u64 = 200;

fn main() {
    let (full, rest): (Vec<String>, Vec<String>) = std::env::args().partition(|argument| argument == "--full");
    let Some(label) = support::label() else {
        libtest_mimic::run(&Arguments::from_iter(rest), vec![support::skipped("large")]).exit()
    };
    let runs = !full.is_empty() && WgpuBackend::open_with(support::config()).is_ok_and(|gpu| !support::is_software(&gpu));
    let trial = |what: &str, run: fn() -> Result<(), Failed>| support::trial(&label, what, run).with_ignored_flag(!runs);
    let trials: Vec<Trial> = vec![
        trial("2^29 - 1 keys of 32 bits are sorted", || longest::<u32>((1 << 29) - 1)),
        trial("600 million keys of 32 bits, in buffers of more than 2^31 bytes, are sorted", || longest::<u32>(600_000_000)),
        trial("2^28 - 1 keys of 64 bits are sorted", || longest::<u64>((1 << 28) - 1)),
        trial("2^31 keys of 32 bits that are on the device are sorted", resident),
        trial("200 inputs of keys of 32 bits are sorted", seeds::<u32>),
        trial("200 inputs of keys of 64 bits are sorted", seeds::<u64>),
        trial("200 inputs of keys of 16 bits are sorted", seeds::<u16>),
        trial("2^26 keys of each pattern are sorted", patterns),
        trial("30 to 70 million pairs of few bits are sorted stably", few_bits),
        trial("30 million pairs with keys below a million are sorted stably", below_a_million),
        trial("70 million pairs with shuffled numbers as keys are sorted", shuffled),
    ];
    libtest_mimic::run(&Arguments::from_iter(rest), trials).exit()
}

fn keys<W: Word>(len: usize, seed: u64) -> Vec<W> {
    let key = |i: usize| {
        let z = (i as u64 ^ seed << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        W::truncate(u128::from(z ^ z >> 27))
    };
    (0..len).into_par_iter().map(key).collect()
}

fn longest<W: Word + polysort_core::MaskKey>(len: usize) -> Result<(), Failed> {
    let gpu = WgpuBackend::open_with(support::config()).map_err(support::failed)?;
    let mut found = keys::<W>(len, 1);
    let mut expected = found.clone();
    gpu.sort(&mut found).map_err(support::failed)?;
    RayonBackend::default().sort(&mut expected).map_err(support::failed)?;
    support::ensure(found == expected, || "the answer is wrong".into())
}

/// On most devices, the keys lie in several buffers.
fn resident() -> Result<(), Failed> {
    let gpu = WgpuBackend::open_with(support::config()).map_err(support::failed)?;
    let mut keys = keys::<u32>(1 << 31, 1);
    let mut buffer = SortBuffer::from_slice(&gpu, &keys).map_err(support::failed)?;
    gpu.sort_buffer(&mut buffer, Options::ascending()).map_err(support::failed)?;
    RayonBackend::default().sort(&mut keys).map_err(support::failed)?;
    support::ensure(*buffer.read().map_err(support::failed)? == keys, || "the answer is wrong".into())
}

/// Sorts keys, pairs and indices. The keys have few bits, so that an unstable sort gives another result.
fn seeds<W: Word + polysort_core::MaskKey>() -> Result<(), Failed> {
    let gpu = WgpuBackend::open_with(support::config()).map_err(support::failed)?;
    let cpu = RayonBackend::default();
    for seed in 0..SEEDS {
        let len = (26.0 * (seed as f64 + 0.5) / SEEDS as f64).exp2() as usize;
        let mut all = keys::<W>(len, seed);
        if seed % 3 == 1 {
            all.par_iter_mut().for_each(|key| *key = *key & W::truncate(0x3_0007_000f_001f));
        }
        let wrong = |what: &str| Failed::from(format!("{what} of {len} keys, seed {seed}"));
        let (mut found, mut expected) = (all.clone(), all.clone());
        gpu.sort(&mut found).map_err(support::failed)?;
        cpu.sort(&mut expected).map_err(support::failed)?;
        if found != expected {
            return Err(wrong("a sort"));
        }
        let order = cpu.argsort(&all).map_err(support::failed)?;
        if gpu.argsort(&all).map_err(support::failed)? != order {
            return Err(wrong("an argsort"));
        }
        let mut values: Vec<u64> = (0..len as u64).collect();
        gpu.sort_pairs(&mut all, &mut values).map_err(support::failed)?;
        if all != expected || !values.iter().zip(&order).all(|(&value, &index)| value == u64::from(index)) {
            return Err(wrong("a sort of pairs"));
        }
    }
    println!("{SEEDS} seeds on {}", gpu.name());
    Ok(())
}

fn patterns() -> Result<(), Failed> {
    let gpu = WgpuBackend::open_with(support::config()).map_err(support::failed)?;
    for pattern in Pattern::ALL {
        let all: Vec<f32> = pattern.keys(1 << 26, 7);
        let order = RayonBackend::default().argsort(&all).map_err(support::failed)?;
        support::ensure(gpu.argsort(&all).map_err(support::failed)? == order, || format!("an argsort, {pattern:?}"))?;
    }
    Ok(())
}

/// Pairs with the numbers of tiles of a picture as keys, as a renderer sorts them; around 2^26, a sort of another project went wrong.
fn few_bits() -> Result<(), Failed> {
    let gpu = WgpuBackend::open_with(support::config()).map_err(support::failed)?;
    let cpu = RayonBackend::default();
    for len in [30_000_000, (1 << 26) - 1, 1 << 26, (1 << 26) + 1, 70_000_000] {
        let mut found: Vec<u32> = keys(len, 3);
        found.par_iter_mut().for_each(|key| *key &= 0x3fff);
        let mut expected = found.clone();
        let mut indices = Vec::from_iter(0..len as u32);
        let mut order = indices.clone();
        gpu.sort_pairs(&mut found, &mut indices).map_err(support::failed)?;
        cpu.sort_pairs(&mut expected, &mut order).map_err(support::failed)?;
        support::ensure(found == expected && indices == order, || format!("the answer for {len} pairs is wrong"))?;
    }
    Ok(())
}

/// As brush tests its sort: more pairs than workgroups of one dimension of a dispatch take.
fn below_a_million() -> Result<(), Failed> {
    let random: Vec<u32> = keys(30_000_000, 4);
    with_indices(&random.into_par_iter().map(|key| key % 1_000_000).collect::<Vec<_>>())
}

/// As brush tests its sort, which went wrong from about 67 million keys on: each number below the number of keys is one of them.
fn shuffled() -> Result<(), Failed> {
    // All random numbers are different, so the permutation that sorts them is a random one.
    let random: Vec<u64> = keys(70_000_000, 5);
    with_indices(&RayonBackend::default().argsort(&random).map_err(support::failed)?)
}

/// Sorts pairs of keys and their indices, and checks the result without another sort.
fn with_indices(keys: &[u32]) -> Result<(), Failed> {
    let gpu = WgpuBackend::open_with(support::config()).map_err(support::failed)?;
    let (mut sorted, mut indices) = (keys.to_vec(), Vec::from_iter(0..keys.len() as u32));
    gpu.sort_pairs(&mut sorted, &mut indices).map_err(support::failed)?;
    // If each key is the one at its index, and the pairs ascend without a repetition, then each index occurs once, and equal keys keep their order.
    let is_paired = sorted.par_iter().zip(&indices).all(|(key, &index)| keys.get(index as usize) == Some(key));
    let pair = |at: usize| (sorted[at], indices[at]);
    let is_sorted = (1..keys.len()).into_par_iter().all(|at| pair(at - 1) < pair(at));
    support::ensure(is_paired, || format!("of {} pairs, one has lost its key", keys.len()))?;
    support::ensure(is_sorted, || format!("{} pairs are not sorted stably", keys.len()))
}
