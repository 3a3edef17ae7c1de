//! Memory that the system refuses: each large allocation of a call in turn. The call is an error that changes nothing, and the next one is right. In a process of
//! its own, with an allocator that refuses.
#![allow(unsafe_code, reason = "an allocator")]

use polysort_core::{Error, Options, Sort};
use polysort_rayon::RayonBackend;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes from which on an allocation is large. A call allocates few such blocks, before it changes anything.
const LARGE: usize = 1 << 20;

/// The large allocations that succeed before one is refused; `NONE` if none is.
static LEFT: AtomicUsize = AtomicUsize::new(NONE);
const NONE: usize = usize::MAX;

/// The system's allocator, which refuses one large allocation.
struct Refusing;

/// Whether this allocation is the one that is refused.
fn is_refused(layout: Layout) -> bool {
    let next = |left: usize| (left != NONE).then(|| left.checked_sub(1).unwrap_or(NONE));
    layout.size() >= LARGE && LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) == Ok(0)
}

// SAFETY: every call is passed on to the system's allocator as it is, or returns null, which means that there is no memory.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_refused(layout) {
            return core::ptr::null_mut();
        }
        // SAFETY: the caller keeps the contract of `alloc`, which is the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_refused(layout) {
            return core::ptr::null_mut();
        }
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is the system's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, and `alloc` or `alloc_zeroed` got the pointer from the system.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

const LEN: u32 = 400_000;

fn number(i: u32) -> u64 {
    u64::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 3
}

/// Runs `call` on a copy of `input`, with each of its large allocations refused in turn, until none is. `is_right` checks the result of a call that sorts.
fn check<T: Clone + PartialEq>(what: &str, input: &T, call: impl Fn(&mut T) -> Result<(), Error>, is_right: impl Fn(&T) -> bool) {
    for refused in 0.. {
        RayonBackend::release_scratch();
        let mut own = input.clone();
        LEFT.store(refused, Ordering::Relaxed);
        let result = call(&mut own);
        let is_over = LEFT.swap(NONE, Ordering::Relaxed) != NONE;
        if is_over {
            result.unwrap();
            assert!(is_right(&own), "{what}");
            println!("{what}: {refused} large allocations");
            assert!(refused > 0, "{what} allocates nothing");
            return;
        }
        assert!(matches!(result, Err(Error::OutOfMemory { asked, .. }) if asked >= LARGE as u64 / 2), "{what}: {result:?}");
        assert!(own == *input, "{what}: allocation {refused} changed something");
        call(&mut own).unwrap();
        assert!(is_right(&own), "{what}: the call after refused allocation {refused}");
    }
}

#[test]
fn each_large_allocation_that_is_refused_is_an_error_that_loses_nothing() {
    let words: Vec<u64> = (0..LEN).map(number).collect();
    // Keys that are rebuilt from their bits, and keys that a permutation moves.
    let pairs: Vec<(u32, u16)> = words.iter().map(|&word| ((word >> 20) as u32, word as u16)).collect();
    let values = Vec::from_iter(0..LEN);
    let sorted = |keys: &Vec<u64>| keys.is_sorted();
    let follow =
        |(keys, values): &(Vec<u64>, Vec<u32>)| values.iter().zip(keys).all(|(&at, &key)| number(at) == key) && keys.is_sorted();
    for threads in [1, 2] {
        let backend = RayonBackend::with_threads(threads).unwrap();
        backend.sort(&mut words.clone()).unwrap();
        check("sort", &words, |keys| backend.sort(keys), sorted);
        check("sort_segments", &words, |keys| backend.sort_segments(keys, &[0, 7, LEN as usize]), |keys| keys[7..].is_sorted());
        let both = (words.clone(), values.clone());
        check("sort_pairs", &both, |(keys, values)| backend.sort_pairs(keys, values), follow);
        let into = (vec![0; words.len()], vec![0; words.len()]);
        check("sort_pairs_into", &into, |(keys, moved)| backend.sort_pairs_into(&words, &values, keys, moved), follow);
        let argsort = |order: &mut Vec<u32>| {
            *order = backend.argsort_with(&words, Options::descending())?;
            Ok(())
        };
        let descends = |order: &Vec<u32>| order.is_sorted_by(|&a, &b| words[a as usize] >= words[b as usize]);
        check("argsort", &vec![], argsort, descends);
        check("sort of tuples", &pairs, |keys| backend.sort(keys), |keys| keys.is_sorted());
        let both = (pairs.clone(), values.clone());
        check(
            "sort_pairs of tuples",
            &both,
            |(keys, values)| backend.sort_pairs(keys, values),
            |(keys, values)| keys.is_sorted() && values.iter().zip(keys).all(|(&at, &key)| pairs[at as usize] == key),
        );
        check("sort_by_key", &words, |items| backend.sort_by_key(items, |&item| item), sorted);
    }
}
