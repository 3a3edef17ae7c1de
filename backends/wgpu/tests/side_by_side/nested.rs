//! Tests of calls from rayon tasks. A rayon thread that waits may run another task, which may call the backend too.

use crate::support::{ensure, failed};
use crate::{LONG, is_sorted, keys, open, rounds, sorts, sorts_async, warm};
use libtest_mimic::Failed;
use polysort_core::{Sort, Sortable};
use polysort_wgpu::{SortBuffer, WgpuBackend};
use std::sync::{Mutex, OnceLock};

/// Enough keys that several threads copy them.
const COPIED: usize = 1 << 21;

/// Tasks of one pool: a long copy, long sorts, two short sorts at the same time, and one that does not call the backend.
pub(crate) fn tasks(threads: usize) -> Result<(), Failed> {
    let backend = warm()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let input = keys(COPIED, 1);
    let mut buffer = SortBuffer::from_slice(&backend, &input).map_err(failed)?;
    for round in rounds() {
        let failures = Mutex::new(vec![]);
        let note = |result: Result<(), Failed>| {
            if let Err(failure) = result {
                failures.lock().expect("nothing panics while it is locked").push(failure);
            }
        };
        pool.scope(|scope| {
            scope.spawn(|_| {
                let mut copied = vec![0; COPIED];
                note(buffer.copy_to_slice(&mut copied).map_err(failed));
                note(ensure(copied == input, || "the copy has other elements".into()));
            });
            scope.spawn(|_| note(sorts(&backend, LONG, round)));
            scope.spawn(|_| {
                let (one, two) = rayon::join(|| sorts(&backend, 700, round), || sorts(&backend, 300, !round));
                note(one);
                note(two);
            });
            scope.spawn(|_| {
                let sum: u64 = (0..1_000_000_u64).map(std::hint::black_box).sum();
                note(ensure(sum == 499_999_500_000, || "the sum is wrong".into()));
            });
            scope.spawn(|scope| scope.spawn(|_| note(sorts(&backend, LONG / 2, round))));
        });
        if let Some(failure) = failures.into_inner().expect("nothing panics while it is locked").pop() {
            return Err(failure);
        }
        pool.install(|| buffer.copy_from_slice(&input)).map_err(failed)?;
    }
    Ok(())
}

/// Tasks that run futures to their end, and tasks that block.
pub(crate) fn futures() -> Result<(), Failed> {
    let backend = warm()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
    for round in rounds() {
        let results = Mutex::new(vec![]);
        let note = &|result| results.lock().expect("nothing panics while it is locked").push(result);
        let backend = &backend;
        pool.scope(|scope| {
            for task in 0..4 {
                scope.spawn(move |_| note(pollster::block_on(sorts_async(backend, LONG, round ^ task))));
                scope.spawn(move |_| note(sorts(backend, 700, round ^ task)));
            }
        });
        results.into_inner().expect("nothing panics while it is locked").into_iter().collect::<Result<Vec<()>, _>>()?;
    }
    Ok(())
}

static BACKEND: OnceLock<WgpuBackend> = OnceLock::new();

/// A key whose `to_bits` sorts.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sorter(u32);

impl Sortable for Sorter {
    type Bits = u32;

    fn to_bits(self) -> u32 {
        let backend = BACKEND.get().expect("it was opened");
        let mut two = [self.0, 0];
        backend.sort(&mut two).expect("a sort within a sort");
        two[1]
    }

    fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

pub(crate) fn a_key_that_sorts() -> Result<(), Failed> {
    let backend = BACKEND.get_or_init(|| open().expect("there is an adapter"));
    let mut sorters: Vec<Sorter> = keys(20, 4).into_iter().map(Sorter).collect();
    backend.sort(&mut sorters).map_err(failed)?;
    let sorted: Vec<u32> = sorters.iter().map(|sorter| sorter.0).collect();
    is_sorted(&sorted, 20, 4)
}
