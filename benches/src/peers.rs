//! The systems that take turns in a cell: ours, and what a user would pick instead.
//!
//! A system runs on the threads that it was given: where there are several, peers run in rayon's global pool, which has as many. Peers
//! that know one thread only are there for short slices, where they are the best choice on any machine.

use crate::input::Input;
use crate::key::BenchKey;
use crate::system::{FLOOR, System, WITNESS};
use crate::task::{ArgsortTask, CopyTask, KeysTask, PairsTask, PartlyTask, Payload, Task, TuplesTask};
use polysort_core::Sort;
use polysort_rayon::RayonBackend;
use rayon::prelude::*;
use std::ops::Range;
use std::time::Duration;
use voracious_radix_sort::RadixSort as _;

/// From this length on, serial peers stay out of runs on several threads.
const SERIAL_LEN: usize = 1 << 20;

/// From this length on, x86-simd-sort uses OpenMP's threads if there are several.
const OPENMP_LEN: usize = 100_000;

/// Time in which OpenMP's threads fall asleep. After a parallel region they spin for 300 000 instructions of `pause`, which takes some 15 ms
/// where a `pause` takes 140 cycles. Until then they keep all cores busy, and the system that runs next would be measured beside them.
const OPENMP_REST: Duration = Duration::from_millis(40);

/// Which systems may take part.
#[derive(Clone, Debug)]
pub struct Field {
    /// Threads of this run.
    pub threads: usize,
    /// Names of systems, or nothing for all but [`FLOOR`].
    pub only: Vec<String>,
}

struct Entries<'a, 'f> {
    field: &'f Field,
    len: usize,
    systems: Vec<System<'a>>,
}

impl<'a> Entries<'a, '_> {
    fn enter(&mut self, system: &'static str, backend: &'static str, task: impl Task + 'a) {
        if self.field.only.is_empty() || self.field.only.iter().any(|name| name == system) {
            self.systems.push(System { system, backend, task: Box::new(task), rest: Duration::ZERO });
        }
    }

    /// Enters a copy of records of so many bytes, if it was asked for by name.
    fn enter_floor<K: BenchKey>(&mut self, input: &'a Input<K>, record_bytes: usize) {
        if self.field.only.iter().any(|name| name == FLOOR) {
            self.enter(FLOOR, "copy", CopyTask::new(input, record_bytes));
        }
    }

    /// Whether systems of one thread take part.
    fn serial(&self) -> bool {
        self.field.threads == 1 || self.len < SERIAL_LEN
    }

    fn parallel(&self) -> bool {
        self.field.threads > 1
    }
}

/// The systems that sort keys alone.
pub fn keys<'a, K: BenchKey>(input: &'a Input<K>, field: &Field) -> Vec<System<'a>> {
    let mut entries = Entries { field, len: input.len, systems: vec![] };
    let (backend, threads) = (RayonBackend::default(), field.threads);
    entries.enter("polysort", "rayon", KeysTask::new(input, move |keys: &mut [K]| backend.sort(keys).expect("a sort")));
    entries.enter("rdst", "radix_sort_unstable", KeysTask::new(input, rdst::RadixSort::radix_sort_unstable));
    if entries.serial() {
        entries.enter("std", "sort_unstable", KeysTask::new(input, |keys: &mut [K]| keys.sort_unstable_by(K::compare)));
        entries.enter("radsort", "sort", KeysTask::new(input, |keys: &mut [K]| radsort::sort(keys)));
        entries.enter("voracious", "voracious_sort", KeysTask::new(input, |keys: &mut [K]| keys.voracious_sort()));
        if let Some([sort, _]) = K::TURBOSORT {
            entries.enter("turbosort", "sort", KeysTask::new(input, sort));
        }
    }
    if entries.parallel() {
        entries.enter("rayon", "par_sort_unstable", KeysTask::new(input, |keys: &mut [K]| keys.par_sort_unstable_by(K::compare)));
        let sort = move |keys: &mut [K]| keys.voracious_mt_sort(threads);
        entries.enter("voracious", "voracious_mt_sort", KeysTask::new(input, sort));
        if let Some([_, sort]) = K::TURBOSORT {
            entries.enter("turbosort", "sort_parallel", KeysTask::new(input, sort));
        }
    }
    entries.enter_floor(input, size_of::<K>());
    if let Some(sort) = K::SIMD_SORT {
        entries.enter(WITNESS, "qsort", KeysTask::new(input, sort));
        if entries.parallel() && input.len >= OPENMP_LEN {
            entries.systems.iter_mut().filter(|system| system.system == WITNESS).for_each(|system| system.rest = OPENMP_REST);
        }
    }
    entries.systems
}

/// The systems that put the keys at `positions` where a sort does. Peers know one thread only, and take part in every run.
pub fn partly<'a, K: BenchKey>(input: &'a Input<K>, positions: Range<usize>, field: &Field) -> Vec<System<'a>> {
    let mut entries = Entries { field, len: input.len, systems: vec![] };
    let backend = RayonBackend::default();
    let sort = move |keys: &mut [K], positions: Range<usize>| match positions.start {
        0 => backend.partial_sort(keys, positions.end).expect("a sort"),
        nth => backend.select_nth(keys, nth).expect("a selection"),
    };
    entries.enter("polysort", "rayon", PartlyTask::new(input, positions.clone(), sort));
    let sort = |keys: &mut [K], positions: Range<usize>| {
        let (before, ..) = keys.select_nth_unstable_by(positions.end - 1, K::compare);
        before[positions.start..].sort_unstable_by(K::compare);
    };
    entries.enter("std", "select_nth_unstable", PartlyTask::new(input, positions, sort));
    entries.enter_floor(input, size_of::<K>());
    entries.systems
}

/// Indices of a selection.
const FIRST: usize = 100;

/// Our own sorts by `op`, as the command line names it, on each of `backends`.
pub fn own<'a, K: BenchKey>(op: &str, input: &'a Input<K>, backends: &[RayonBackend]) -> Vec<System<'a>> {
    let task = |backend: RayonBackend| -> Box<dyn Task + 'a> {
        match op {
            "sort" => Box::new(KeysTask::new(input, move |keys: &mut [K]| backend.sort(keys).expect("a sort"))),
            "pairs32" => Box::new(PairsTask::<K, u32, _>::new(input, sorts_pairs(backend))),
            "pairs64" => Box::new(PairsTask::<K, u64, _>::new(input, sorts_pairs(backend))),
            "in-place" => {
                let backend = backend.in_place();
                Box::new(KeysTask::new(input, move |keys: &mut [K]| backend.sort(keys).expect("a sort")))
            }
            "first100" => Box::new(ArgsortTask::first(input, FIRST, move |keys: &[K]| {
                backend.bottom_k(keys, FIRST).expect("a selection").indices
            })),
            _ => Box::new(ArgsortTask::new(input, move |keys: &[K]| backend.argsort(keys).expect("a sort"))),
        }
    };
    let system = |backend: &RayonBackend| System {
        system: "polysort",
        backend: "rayon",
        task: task(backend.clone()),
        rest: Duration::ZERO,
    };
    backends.iter().map(system).collect()
}

fn sorts_pairs<K: BenchKey, V: Payload>(backend: RayonBackend) -> impl Fn(&mut [K], &mut [V]) {
    move |keys, values| backend.sort_pairs(keys, values).expect("a sort")
}

/// The stable systems that sort keys with values: peers sort tuples.
pub fn pairs<'a, K: BenchKey, V: Payload>(input: &'a Input<K>, field: &Field) -> Vec<System<'a>> {
    let mut entries = Entries { field, len: input.len, systems: vec![] };
    entries.enter("polysort", "rayon", PairsTask::<K, V, _>::new(input, sorts_pairs(RayonBackend::default())));
    entries.enter_floor(input, size_of::<K>() + size_of::<V>());
    if entries.serial() {
        let sort = |tuples: &mut [(K, V)]| tuples.sort_by(|a, b| a.0.compare(&b.0));
        entries.enter("std", "sort_by_key", TuplesTask::new(input, true, sort));
        let sort = |tuples: &mut [(K, V)]| radsort::sort_by_key(tuples, |tuple| tuple.0);
        entries.enter("radsort", "sort_by_key", TuplesTask::new(input, true, sort));
        if K::TURBOSORT.is_some() {
            let sort = |tuples: &mut [(K, V)]| assert!(K::turbosort_by_key(tuples, |tuple| tuple.0));
            entries.enter("turbosort", "sort_by_key", TuplesTask::new(input, true, sort));
        }
    }
    if entries.parallel() {
        let sort = |tuples: &mut [(K, V)]| tuples.par_sort_by(|a, b| a.0.compare(&b.0));
        entries.enter("rayon", "par_sort_by_key", TuplesTask::new(input, true, sort));
    }
    entries.systems
}

/// The stable systems that make a sorting permutation. `packed` are unstable sorts of words that hold the key above the index.
pub fn argsort<'a, K: BenchKey>(input: &'a Input<K>, field: &Field) -> Vec<System<'a>> {
    let mut entries = Entries { field, len: input.len, systems: vec![] };
    let backend = RayonBackend::default();
    entries.enter("polysort", "rayon", ArgsortTask::new(input, move |keys: &[K]| backend.argsort(keys).expect("a sort")));
    entries.enter_floor(input, size_of::<u32>());
    let identity = |keys: &[K]| -> Vec<u32> { (0..keys.len() as u32).collect() };
    if entries.serial() {
        let lookup = move |keys: &[K]| {
            let mut order = identity(keys);
            order.sort_by(|&a, &b| keys[a as usize].compare(&keys[b as usize]));
            order
        };
        entries.enter("std", "sort_by_key", ArgsortTask::new(input, lookup));
        entries.enter(
            "std",
            "packed",
            ArgsortTask::new(input, |keys: &[K]| packed(keys, <[u64]>::sort_unstable, <[u128]>::sort_unstable)),
        );
        let lookup = move |keys: &[K]| {
            let mut order = identity(keys);
            radsort::sort_by_key(&mut order, |&at| keys[at as usize]);
            order
        };
        entries.enter("radsort", "sort_by_key", ArgsortTask::new(input, lookup));
        if K::TURBOSORT.is_some() {
            let lookup = move |keys: &[K]| {
                let mut order = identity(keys);
                assert!(K::turbosort_by_key(&mut order, |&at| keys[at as usize]));
                order
            };
            entries.enter("turbosort", "sort_by_key", ArgsortTask::new(input, lookup));
        }
    }
    if entries.parallel() {
        let lookup = move |keys: &[K]| {
            let mut order = identity(keys);
            order.par_sort_by(|&a, &b| keys[a as usize].compare(&keys[b as usize]));
            order
        };
        entries.enter("rayon", "par_sort_by_key", ArgsortTask::new(input, lookup));
        let parallel = |keys: &[K]| packed(keys, ParallelSliceMut::par_sort_unstable, ParallelSliceMut::par_sort_unstable);
        entries.enter("rayon", "packed", ArgsortTask::new(input, parallel));
    }
    let parallel = |keys: &[K]| packed(keys, rdst::RadixSort::radix_sort_unstable, rdst::RadixSort::radix_sort_unstable);
    entries.enter("rdst", "packed", ArgsortTask::new(input, parallel));
    entries.systems
}

/// Sorts words with the ordered key above the index, and takes the indices out again.
fn packed<K: BenchKey>(keys: &[K], sort_64: impl Fn(&mut [u64]), sort_128: impl Fn(&mut [u128])) -> Vec<u32> {
    if K::WIDTH <= 32 {
        let mut words: Vec<u64> = keys.iter().zip(0_u64..).map(|(key, at)| (key.ordered() as u64) << 32 | at).collect();
        sort_64(&mut words);
        words.into_iter().map(|word| word as u32).collect()
    } else {
        // Of a key of 128 bits the lowest 32 are left out, which random keys do not need.
        let above = |key: &K| key.ordered() >> K::WIDTH.saturating_sub(96) << 32;
        let mut words: Vec<u128> = keys.iter().zip(0_u128..).map(|(key, at)| above(key) | at).collect();
        sort_128(&mut words);
        words.into_iter().map(|word| word as u32).collect()
    }
}
