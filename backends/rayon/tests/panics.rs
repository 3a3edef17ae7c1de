//! Keys that panic while a sort runs on threads of a pool: the panic reaches the caller, the slices are as they were, and the pool and the scratch serve the
//! next call.

use polysort_core::{Backend, Options, Sort, Sortable};
use polysort_rayon::RayonBackend;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

/// A key whose bits are asked for `CALLS_LEFT` more times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fragile(u32);

static CALLS_LEFT: AtomicU64 = AtomicU64::new(u64::MAX);

/// What a panic carries.
struct OnPurpose;

impl Sortable for Fragile {
    type Bits = u32;
    const WIDTH: u32 = 32;

    fn to_bits(self) -> u32 {
        if CALLS_LEFT.fetch_sub(1, Ordering::Relaxed) == 0 {
            // Unlike `panic!`, it prints nothing.
            resume_unwind(Box::new(OnPurpose));
        }
        self.0
    }

    fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

/// Runs `call`, in which a key panics.
fn panics<R>(after: u64, call: impl FnOnce() -> R) {
    CALLS_LEFT.store(after, Ordering::Relaxed);
    let panic = catch_unwind(AssertUnwindSafe(call)).err().expect("a key panics");
    CALLS_LEFT.store(u64::MAX, Ordering::Relaxed);
    assert!(panic.is::<OnPurpose>(), "another panic");
}

fn keys() -> Vec<Fragile> {
    (0..100_000_u32).map(|i| Fragile(i.wrapping_mul(0x9e37_79b9) >> 4)).collect()
}

/// Sorts pairs and items, and checks the results.
fn next_calls_are_right(backend: &RayonBackend) {
    let input = keys();
    let (mut sorted, mut values) = (input.clone(), Vec::from_iter(0..100_000_u32));
    backend.sort_pairs(&mut sorted, &mut values).unwrap();
    assert!(sorted.is_sorted_by_key(|key| key.0));
    assert!(values.iter().zip(&sorted).all(|(&at, key)| input[at as usize] == *key));
    let mut items = input;
    backend.sort_by_key(&mut items, |item| item.0).unwrap();
    assert_eq!(items, sorted);
}

/// Calls each operation, with a key that panics early, in the middle, and at the last call of `to_bits` that each sort makes.
fn each_operation(backend: &RayonBackend) {
    for after in [0, 50_000, 99_999] {
        let (mut paired, mut values, mut alone) = (keys(), Vec::from_iter(0..100_000_u32), keys());
        panics(after, || backend.sort(&mut alone));
        panics(after, || backend.sort_pairs_with(&mut paired, &mut values, Options::descending()));
        panics(after, || backend.argsort(&alone));
        panics(after, || backend.top_k(&alone, 60_000));
        let mut items = keys();
        panics(after, || backend.sort_by_key(&mut items, |&item| item));
        let mut calls = 0;
        panics(0, || {
            backend.sort_by_key(&mut items, |item| {
                calls += 1;
                if calls > after {
                    resume_unwind(Box::new(OnPurpose));
                }
                item.0
            })
        });
        assert!([&paired, &alone, &items].into_iter().all(|slice| *slice == keys()), "a panic changed a slice");
        assert!(values.into_iter().eq(0..100_000), "a panic changed values");
        next_calls_are_right(backend);
    }
}

#[test]
fn a_panic_of_a_key_inside_a_job_of_the_pool_reaches_the_caller_and_loses_nothing() {
    let backend = RayonBackend::with_threads(2).unwrap();
    each_operation(&backend);
    // In a job of another pool, in a job of the global pool beside another one, and in a scope.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| each_operation(&backend));
    pool.install(|| each_operation(&RayonBackend::global().unwrap()));
    rayon::join(|| each_operation(&backend), || (0..1000).map(std::hint::black_box).sum::<u32>());
    rayon::scope(|scope| scope.spawn(|_| each_operation(&backend)));
}
