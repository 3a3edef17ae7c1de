//! Tests of `Budget` and `Pool`: the limits that `Memory` documents. `tests/models` runs the same two files with a model
//! checker.

use crate::budget::{Budget, Refused};
use crate::pool::{Pool, Taken};
use std::sync::Arc;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_call_that_is_alone_may_take_more_than_the_cap() {
    let budget = Arc::new(Budget::new(100));
    let permit = budget.try_take(1000).expect("it is alone");
    assert_eq!(permit.bytes(), 1000);
    assert!(budget.try_take(1).is_none());
    drop(permit);
    assert!(budget.try_take(1).is_some());
}

#[test]
fn a_call_that_finds_no_room_is_refused_and_leaves_no_trace() {
    let budget = Arc::new(Budget::new(100));
    let permit = budget.try_take(60).expect("it is alone");
    let started = Instant::now();
    let refused = budget.take(60, Duration::from_millis(50), || true).expect_err("there is no room");
    assert_eq!(refused, Refused { in_flight: 60 });
    assert!(started.elapsed() >= Duration::from_millis(50), "it did not wait");
    // The refused call has left the queue, and the rest of the cap is free.
    assert!(budget.try_take(40).is_some());
    drop(permit);
    assert!(budget.take(100, LONG, || true).is_ok());
}

#[test]
fn a_call_that_waits_is_served_before_later_ones() {
    let budget = Arc::new(Budget::new(100));
    let permit = budget.try_take(60).expect("it is alone");
    let waiting = {
        let budget = budget.clone();
        std::thread::spawn(move || budget.take(100, LONG, || true).map(|permit| permit.bytes()))
    };
    // Once the other call waits in the queue, a small call that would fit gets no permit either.
    let started = Instant::now();
    while budget.try_take(10).is_some() {
        assert!(started.elapsed() < LONG, "the small call overtakes the large one");
        std::thread::yield_now();
    }
    drop(permit);
    assert_eq!(waiting.join().expect("it does not panic"), Ok(100));
}

/// Simulates a call that needs `used` bytes: its item grows to that size. Returns the bytes that the pool keeps
/// afterwards.
fn call(pool: &Pool<u64>, used: u64) -> u64 {
    let mut taken = pool.take(|&bytes| Some(core::cmp::Reverse(bytes.max(used)))).unwrap_or_else(|| Taken::new(0));
    taken.item = taken.item.max(used);
    let bytes = taken.item;
    drop(pool.put(taken, bytes, used));
    pool.bytes()
}

#[test]
fn memory_of_a_large_call_is_kept_for_the_next_large_call() {
    let pool = Pool::new(100);
    assert_eq!(call(&pool, 1000), 1000, "one item may be larger than the cap");
    for _ in 0..100 {
        for _ in 0..20 {
            assert_eq!(call(&pool, 10), 1000);
        }
        assert_eq!(call(&pool, 600), 1000);
    }
}

#[test]
fn memory_that_32_calls_do_not_need_is_freed() {
    let pool = Pool::new(100);
    call(&pool, 1000);
    let calls = (1..).find(|_| call(&pool, 10) < 1000);
    assert_eq!(calls, Some(32));
    assert_eq!(call(&pool, 10), 10);
}

#[test]
fn a_call_that_waits_for_room_does_not_age_the_pool() {
    let pool = Pool::new(100);
    call(&pool, 1000);
    for _ in 0..100 {
        let taken = pool.take(|_| Some(())).expect("it is idle");
        pool.put_back(taken);
    }
    assert_eq!(call(&pool, 10), 1000, "the item is kept for 32 calls, not for 32 looks");
    // A new item that no call has used is not kept.
    pool.put_back(Taken::new(7));
    assert_eq!(pool.bytes(), 1000);
}

#[test]
fn an_item_that_does_not_suit_is_not_taken() {
    let pool = Pool::new(2000);
    for bytes in [1000, 500] {
        drop(pool.put(Taken::new(bytes), bytes, bytes));
    }
    let at_most = |most: u64| pool.take(|&bytes| (bytes <= most).then_some(bytes)).map(|taken| taken.item);
    assert_eq!(at_most(499), None);
    assert_eq!(at_most(999), Some(500));
}

#[test]
fn items_of_concurrent_calls_are_dropped_beyond_the_cap() {
    let pool = Pool::new(100);
    let taken: Vec<_> = (0..8).map(|_| Taken::new(40_u64)).collect();
    let mut dropped = 0;
    for taken in taken {
        let bytes = taken.item;
        dropped += pool.put(taken, bytes, bytes).len();
    }
    assert_eq!((pool.bytes(), dropped), (80, 6));
    assert_eq!(pool.clear().len(), 2);
    assert_eq!(pool.bytes(), 0);
}

#[test]
fn a_pool_within_another_keeps_all_items_until_it_ends() {
    let outer = Arc::new(Pool::new(100));
    for _ in 0..50 {
        call(&outer, 70);
    }
    let inner = Pool::within(outer.clone());
    assert_eq!(inner.find(|&bytes| Some(bytes)), Some(70), "the outer pool provides an item");
    let taken: Vec<_> = (0..3).map(|_| inner.take(|_| Some(())).unwrap_or_else(|| Taken::new(70_u64))).collect();
    assert_eq!(inner.bytes(), 0);
    for taken in taken {
        assert!(inner.put(taken, 70, 70).is_empty());
    }
    assert_eq!((inner.bytes(), outer.bytes()), (210, 0));
    drop(inner);
    assert_eq!(outer.bytes(), 70, "the outer pool keeps what it may keep");
    assert_eq!(Pool::within(outer.clone()).clear().len(), 1);
    assert_eq!(outer.bytes(), 0);
}
