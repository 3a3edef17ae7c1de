//! Thousands of short sorts on one device: they must leave the memory of the process and of the device as it was after the first two hundred.
//!
//! The sorts run in a process of their own, as other tests of the program would change its memory meanwhile.

use crate::{open_alone, support};
use libtest_mimic::Failed;
use polysort_core::{Options, Sort};
use polysort_wgpu::wgpu::{CommandEncoderDescriptor, PollType};
use polysort_wgpu::{Ask, Count, DeviceSorter, Prepared, SortBuffer, WgpuBackend, testing};
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;
use support::{ensure, failed};

/// The environment variable that makes this program run [`alone`].
pub(crate) const ALONE: &str = "POLYSORT_TEST_REPEATED";

/// The sorts before the first measurement. Each kind and each length is among them several times.
const FIRST: usize = 200;

/// The sorts of a quick run: they take about 5 s on SwiftShader, and 10,000 take 17 s.
const QUICK: usize = 2000;

/// The sorts of a thorough run.
const THOROUGH: usize = 10_000;

/// The most bytes by which the memory of the process may grow: in quick runs 290 for each sort.
const GROWTH: u64 = 1 << 19;

/// The keys of a sort: one workgroup sorts them.
const LENGTHS: [usize; 3] = [2, 300, 700];

pub(crate) fn memory_stays() -> Result<(), Failed> {
    // All threads allocate from one heap.
    let output = Command::new(std::env::current_exe()?).env(ALONE, "1").env("MALLOC_ARENA_MAX", "1").output()?;
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{out}");
    ensure(output.status.success() && out.ends_with("memory stays\n"), || format!("it printed {out:?} and {errors:?}"))
}

/// Repeats sorts in this process, and prints the result.
pub(crate) fn alone() {
    match repeat() {
        Ok(()) => println!("memory stays"),
        Err(failed) => println!("{}", failed.message().unwrap_or("failed")),
    }
}

fn repeat() -> Result<(), Failed> {
    let (sorts, last) = (Sorts::new()?, if polysort_kit::is_thorough() { THOROUGH } else { QUICK });
    let started = Instant::now();
    (0..FIRST / 2).try_for_each(|i| sorts.run(i))?;
    let filled = fill_free_heap()?;
    (FIRST / 2..FIRST).try_for_each(|i| sorts.run(i))?;
    let before = sorts.memory()?;
    (FIRST..last).try_for_each(|i| sorts.run(i))?;
    let after = sorts.memory()?;
    println!("{last} sorts in {:.1} s\nafter {FIRST}: {before:?}\nafter {last}: {after:?}", started.elapsed().as_secs_f32());
    drop(filled);
    ensure(after.scratch <= before.scratch, || "the backend keeps more scratch".into())?;
    ensure(after.objects == before.objects, || "wgpu has other objects".into())?;
    ensure(after.process <= before.process.map(|bytes| bytes + GROWTH), || "the process has more memory".into())
}

/// Allocates memory until the process has to ask the system for more, in blocks of several sizes. The compilation of kernels leaves megabytes of
/// free blocks in the heap, in which a leak of the sorts would not show.
fn fill_free_heap() -> Result<Vec<Vec<u8>>, Failed> {
    const STEP: usize = 1 << 16;
    let mut blocks = vec![];
    for size in [1 << 14, 1 << 10, 1 << 6] {
        let Some(before) = process_bytes()? else { return Ok(blocks) };
        while process_bytes()? <= Some(before + GROWTH) {
            blocks.extend((0..STEP / size).map(|_| black_box(vec![1; size])));
        }
    }
    println!("{} blocks fill the free heap", blocks.len());
    Ok(blocks)
}

/// Returns the bytes of the process in physical memory; `None` if the system does not report them.
fn process_bytes() -> Result<Option<u64>, Failed> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    Ok(line.map(|line| line.trim().trim_end_matches(" kB").parse::<u64>()).transpose()?.map(|kilobytes| 1024 * kilobytes))
}

/// What all sorts share.
struct Sorts {
    backend: WgpuBackend,
    sorter: DeviceSorter,
    keys: SortBuffer<u32>,
    prepared: Prepared,
}

/// The memory in use.
#[derive(Debug)]
struct Memory {
    /// The bytes of the process in physical memory; `None` if the system does not report them.
    process: Option<u64>,
    /// The bytes of scratch that the backend keeps.
    scratch: u64,
    /// wgpu's counters of objects and of their bytes.
    objects: String,
}

impl Sorts {
    fn new() -> Result<Self, Failed> {
        let backend = open_alone()?;
        let sorter = testing::sorter(&backend);
        let keys = SortBuffer::from_slice(&backend, &crate::keys(700)).map_err(failed)?;
        let prepared = sorter.prepare_sort::<u32>(keys.raw(), Ask::up_to(700)).map_err(failed)?;
        Ok(Self { backend, sorter, keys, prepared })
    }

    /// Runs a sort. Its number determines its kind and its length.
    fn run(&self, i: usize) -> Result<(), Failed> {
        let backend = &self.backend;
        let len = LENGTHS[i / 6 % LENGTHS.len()];
        let mut keys = crate::keys(len);
        match i % 6 {
            0 => backend.sort(&mut keys).map_err(failed)?,
            1 => {
                let mut values = keys.clone();
                backend.sort_pairs(&mut keys, &mut values).map_err(failed)?;
                ensure(values == keys, || format!("the values of sort {i}"))?;
            }
            2 => {
                let mut buffer = SortBuffer::from_slice(backend, &keys).map_err(failed)?;
                backend.sort_buffer(&mut buffer, Options::ascending()).map_err(failed)?;
                keys = buffer.read().map_err(failed)?.to_vec();
            }
            3 => {
                self.record(&self.prepared, len)?;
                keys = self.keys.read().map_err(failed)?[..len].to_vec();
            }
            4 => {
                let buffer = SortBuffer::from_slice(backend, &keys).map_err(failed)?;
                let prepared = self.sorter.prepare_sort::<u32>(buffer.raw(), Ask::up_to(len as u32)).map_err(failed)?;
                self.record(&prepared, len)?;
                keys = buffer.read().map_err(failed)?.to_vec();
            }
            _ => {
                keys = backend.top_k_with(&keys, 2, Options::ascending()).map_err(failed)?.keys;
            }
        }
        ensure(keys.is_sorted(), || format!("sort {i} of {len} keys is wrong"))
    }

    fn record(&self, prepared: &Prepared, len: usize) -> Result<(), Failed> {
        let mut encoder = self.backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
        prepared.record_in(&mut encoder, Count::Fixed(len as u32)).map_err(failed)?;
        self.backend.queue().submit([encoder.finish()]);
        Ok(())
    }

    /// Returns the memory that is in use when the device is idle.
    fn memory(&self) -> Result<Memory, Failed> {
        let device = self.backend.device();
        self.backend.queue().submit([]);
        device.poll(PollType::wait_indefinitely())?;
        let scratch = self.backend.scratch_bytes().map_err(failed)?;
        Ok(Memory { process: process_bytes()?, scratch, objects: format!("{:?}", device.get_internal_counters().hal) })
    }
}
