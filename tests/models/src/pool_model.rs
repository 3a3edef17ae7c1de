//! Calls that share a pool: no two calls have the same item, and each item is kept or dropped once.

use crate::pool::{Pool, Taken};
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use std::sync::Arc;

#[derive(Clone, Default)]
struct Item(Arc<AtomicBool>);

/// Takes an item or creates one, and puts it back. Returns the number of items that the pool did not keep.
fn call(pool: &Pool<Item>, bytes: u64) -> usize {
    let taken = pool.take(|_| Some(())).unwrap_or_else(|| Taken::new(Item::default()));
    assert!(!taken.item.0.swap(true, Ordering::SeqCst), "two calls have one item");
    taken.item.0.store(false, Ordering::SeqCst);
    pool.put(taken, bytes, bytes).len()
}

/// Takes an item, as a call does that finds no room for its memory, and puts it back unused.
fn looks(pool: &Pool<Item>) {
    if let Some(taken) = pool.take(|_| Some(())) {
        assert!(!taken.item.0.swap(true, Ordering::SeqCst), "two calls have one item");
        taken.item.0.store(false, Ordering::SeqCst);
        pool.put_back(taken);
    }
}

#[test]
fn an_item_that_a_call_only_looks_at_stays() {
    loom::model(|| {
        let pool = Arc::new(Pool::new(100));
        call(&pool, 60);
        let other = {
            let pool = pool.clone();
            thread::spawn(move || call(&pool, 60))
        };
        looks(&pool);
        let dropped = other.join().expect("no thread panics");
        // If the other call came while the item was taken, it has made a second one, and one of them is too many. Items that are put back
        // unused do not count against the limit of the pool.
        let kept = pool.clear().len();
        assert!(kept + dropped <= 2 && kept >= 1, "{kept} kept, {dropped} dropped");
    });
}

#[test]
fn no_two_calls_have_the_same_item() {
    loom::model(|| {
        let pool = Arc::new(Pool::new(100));
        let others = [(); 2].map(|()| {
            let pool = pool.clone();
            thread::spawn(move || call(&pool, 60))
        });
        let mut dropped = call(&pool, 60);
        for other in others {
            dropped += other.join().expect("no thread panics");
        }
        // Two items are more than the pool keeps.
        assert!(pool.find(|item| Some(item.0.load(Ordering::SeqCst))) == Some(false));
        let kept = pool.clear().len();
        assert_eq!(kept, 1);
        assert!(dropped <= 2, "{dropped} items were dropped");
        assert_eq!(pool.bytes(), 0);
    });
}

#[test]
fn the_items_of_a_pool_within_another_are_kept_or_dropped_once() {
    loom::model(|| {
        let outer = Arc::new(Pool::new(100));
        let other = {
            let outer = outer.clone();
            thread::spawn(move || call(&outer, 60))
        };
        let inner = Pool::within(outer.clone());
        assert_eq!(call(&inner, 60), 0);
        drop(inner);
        other.join().expect("no thread panics");
        assert_eq!(outer.clear().len(), 1, "two items are more than the outer pool keeps");
    });
}
